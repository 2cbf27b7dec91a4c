"""Build the model that a run's `model` section describes, for any kind of task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.declaration import load

if TYPE_CHECKING:
    from attnlab.attention.base import Attention


def build_model(
    classes: Mapping[str, str],
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[..., Attention],
    input_shape: tuple[int | None, ...],
    /,
    *,
    source: Any = None,
    **sizes: Any,
) -> Any:
    """Build a model of one architecture, with its weights drawn.

    Args:
        classes: architecture -> path of its class, `KindModels.classes`.
        name: of the architecture. An `rnn` gets one mechanism, a `transformer` one per layer. A
            `pretrained` model gets `source` in place of both and no `vocabulary`: its encoder has
            one.
        settings: of the architecture, as in its YAML.
        attention: makes one mechanism, with further arguments of its constructor.
        input_shape: of the model's input, the batch included.
        source: a pretrained encoder; None: the one at the setting `path`.
        **sizes: further arguments, the same for every architecture.
    """
    if name not in classes:
        *others, last = classes
        raise RequestError(f"model.name: expected {', '.join(others)} or {last}, got {name}.")
    given = {**settings, **sizes}
    if name == "rnn":
        given["attention"] = attention()
    elif name == "transformer":
        from attnlab.layers.transformer import self_attention

        given["attention"] = self_attention(attention, given)
    elif name == "pretrained":
        from attnlab.encoders.opening import open_source

        path = given.pop("path", None)
        given.pop("vocabulary", None)
        given["source"] = source or open_source(path)  # refuses a missing path
    model = load(classes[name])(**given)
    model.build(input_shape)
    return model
