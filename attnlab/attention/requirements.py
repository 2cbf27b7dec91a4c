"""What mechanisms require of settings, masks and results, with messages that say it."""

from __future__ import annotations

from typing import Any

from attnlab.attention.functional import dtype_of
from attnlab.errors import RequestError


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return a setting; raise `RequestError` if it isn't one of the choices."""
    if value not in choices:
        raise RequestError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def require_equal_widths(kind: str, query_shape, memory_shape) -> None:
    """Raise `RequestError` unless queries (B, T, Q) and memory (B, S, M) have Q = M.

    `kind` is the setting that needs equal widths, for the message.
    """
    if query_shape[-1] != memory_shape[-1]:
        raise RequestError(
            f"{kind} needs a query and a memory of equal width, got {query_shape[-1]} and "
            f"{memory_shape[-1]}; choose a mechanism or score with a learned projection"
        )


def require_mask(mask, query, values):
    """Return a mask; raise `ValueError` unless it is boolean and broadcastable to (B, T, S)."""
    if mask is None:
        return None
    full = (query.shape[0], query.shape[1], values.shape[-2])
    pairs = zip(reversed(mask.shape), reversed(full), strict=False)
    fits = all(size in (1, None, wanted) or wanted is None for size, wanted in pairs)
    if dtype_of(mask) != "bool" or len(mask.shape) > 3 or not fits:
        raise ValueError(
            f"mask must be bool (True = attend) and broadcastable to (batch, query steps, memory "
            f"steps) = {full}, got {dtype_of(mask)} of shape {tuple(mask.shape)}; "
            "functional.padding_mask makes one of a (batch, memory steps) mask"
        )
    return mask


def require_result(method: str, result: Any, letters: str, wanted: tuple[int | None, ...]) -> Any:
    """Return the result of a method such as `Mine.score`; `RequestError` if it isn't a tensor.

    Static shape and dtype are checked while the step is traced, so the compiled step isn't slower.
    `letters` are those of the shape, such as `(B, T, S)`; `wanted` has None for free sizes.
    """
    expected = f"{method} must return {letters} = {_shape_text(wanted)}"
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise RequestError(f"{expected}, got {_kind(result)}")
    if getattr(result.shape, "rank", 0) is None:
        return result
    shape = tuple(result.shape)
    pairs = zip(shape, wanted, strict=False)
    if len(shape) != len(wanted) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise RequestError(f"{expected}, got {_shape_text(shape)}")
    if "float" not in dtype_of(result):
        raise RequestError(f"{expected} of floating-point numbers, got {dtype_of(result)}")
    return result


def _shape_text(sizes: tuple[int | None, ...]) -> str:
    """Write a shape, with `?` for unknown sizes."""
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"


def _kind(result: Any) -> str:
    return "None: is a return missing?" if result is None else f"a {type(result).__name__}"
