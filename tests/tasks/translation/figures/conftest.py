"""What tests of figures share."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


@pytest.fixture
def drawn_texts(monkeypatch):
    """A function from a figure to all that is written in it, and the box that each text takes.

    Ticks beyond an axis' ends are not drawn, so they are not among them.
    """

    def drawn(figure):
        found = {}
        draw = Text.draw

        def note(self, renderer):
            draw(self, renderer)
            if self.get_visible() and self.get_text().strip():
                found[id(self)] = (self.get_text(), self.get_window_extent().padded(-1))

        monkeypatch.setattr(Text, "draw", note)
        FigureCanvasAgg(figure).draw()
        return list(found.values())

    return drawn
