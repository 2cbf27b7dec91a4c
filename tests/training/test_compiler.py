"""The choice of the compiler by the size of the model and the processor."""

from __future__ import annotations

import pytest

from attnlab.training import steps
from attnlab.training.steps import Border, is_faster_with_xla, trains_with_xla

WIDE, NARROW = "flags\t\t: fpu avx2 avx512f avx512_vnni", "flags\t\t: fpu avx avx2 fma"


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """Replace the processor's description; None: it has none."""

    def say(flags):
        path = tmp_path / "cpuinfo"
        if flags is not None:
            path.write_text(f"processor\t: 0\n{flags}\nbugs\t\t: avx512f\n")
        monkeypatch.setattr(steps, "_CPUINFO", path)
        steps.has_avx512.cache_clear()

    yield say
    steps.has_avx512.cache_clear()


@pytest.mark.parametrize(("flags", "wide"), [(WIDE, True), (NARROW, False), (None, False)])
def test_the_vectors_of_the_processor_decide(processor, flags, wide):
    processor(flags)
    assert steps.has_avx512() is wide
    assert is_faster_with_xla(256, Border.RECURRENT_TRANSLATOR) is wide
    assert not is_faster_with_xla(257, Border.RECURRENT_TRANSLATOR)


@pytest.mark.parametrize("faster", [True, False])
def test_the_setting_decides_and_auto_takes_the_faster_one(monkeypatch, faster):
    monkeypatch.setattr(steps, "has_gpu", lambda: False)
    assert trains_with_xla(True, faster) and not trains_with_xla(False, faster)
    assert trains_with_xla("auto", faster) is faster
    monkeypatch.setattr(steps, "has_gpu", lambda: True)
    assert trains_with_xla("auto", faster) and not trains_with_xla(False, faster)
