"""Private interfaces of Keras; seen in 3.12 to 3.15."""

from __future__ import annotations

from attnlab.errors import RequestError, plain_text


def keras_mask(tensor):
    """Return the mask (B, T) that Keras has attached to a tensor; None if there is none.

    `compute_mask` gets the argument named `mask` instead, so its own argument can't be used.
    """
    return getattr(tensor, "_keras_mask", None)


def all_layers(model) -> list:
    """Return a model and all layers below it, in the order in which Keras finds them."""
    return model._flatten_layers()


def without_call_info(error: RequestError) -> RequestError:
    """Return a layer's error without the call's arguments, which Keras has added."""
    plain = RequestError(plain_text(error))
    plain._keras_call_info_injected = True  # otherwise the outer layers add theirs
    return plain.with_traceback(error.__traceback__)
