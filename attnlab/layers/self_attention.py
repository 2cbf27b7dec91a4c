"""Make the self-attention mechanisms that the settings of a Transformer ask for."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError

if TYPE_CHECKING:
    from attnlab.attention.base import Attention


_OTHERS = {"positions": ", such as sinusoidal,", "short_convolution": ", such as 0,"}


def self_attention(
    make: Callable[..., Attention], settings: MutableMapping[str, Any]
) -> list[Attention]:
    """Return a mechanism for each layer; takes `layers` and `short_convolution` out of `settings`.

    Args:
        make: makes one mechanism, with further arguments of its constructor.
        settings: of the model: `layers`, and maybe `positions` and `short_convolution`.

    Raises:
        RequestError: the mechanism can't have such positions or a short convolution.
    """
    layers, width = settings.pop("layers"), settings.pop("short_convolution", 0)
    parts = of_model(make, settings.get("positions", ""), width)
    return [make(**parts) for _ in range(layers)]


def of_model(
    make: Callable[..., Attention], positions: str, short_convolution: int
) -> dict[str, Any]:
    """Return the constructor's arguments that two settings of the model decide.

    Raises:
        RequestError: the mechanism can't have one of them.
    """
    asked = {
        "positions": ("rope", positions == "rope", positions),
        "short_convolution": ("short_convolution", short_convolution, short_convolution),
    }
    parts = {}
    for key, (argument, value, written) in asked.items():
        if not value:
            continue
        make()  # its own errors have nothing to do with the setting
        try:
            make(**{argument: value})
        except RequestError as error:
            advice = f"Choose another model.{key}{_OTHERS[key]} or another attention."
            raise RequestError(f"model.{key}={written}: {error}. {advice}") from None
        parts[argument] = value
    return parts
