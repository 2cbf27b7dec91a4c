"""What Keras doesn't promise to keep as it is; seen in 3.12 to 3.15."""

from __future__ import annotations

from attnlab.errors import RequestError, plain_text


def keras_mask(tensor):
    """The mask that Keras let a tensor carry, (B, T) bool; None where it carries none.

    What Keras hands to `compute_mask` won't do: an argument named `mask` takes its place there.
    """
    return getattr(tensor, "_keras_mask", None)


def without_call_info(error: RequestError) -> RequestError:
    """The error as it was raised in a layer: Keras has added the arguments of the layer's call."""
    plain = RequestError(plain_text(error))
    plain._keras_call_info_injected = True  # or the layers around it would add theirs
    return plain.with_traceback(error.__traceback__)
