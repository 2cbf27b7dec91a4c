"""What the methods of a mechanism must return, checked by static shapes while it is traced."""

from __future__ import annotations

from typing import Any

from attnlab.attention.functional import dtype_of
from attnlab.errors import RequestError


def require_result(method: str, result: Any, letters: str, wanted: tuple[int | None, ...]) -> Any:
    """Pass on what a method returned; a compiled step isn't slowed.

    Args:
        method: for the message, such as `Mine.score`.
        result: what it returned.
        letters: of the shape, such as `(B, T, S)`.
        wanted: the sizes, None for those that are unknown or free.

    Raises:
        RequestError: it is no tensor of floating-point numbers in this shape.
    """
    expected = f"{method} must return {letters} = {_written(wanted)}"
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise RequestError(f"{expected}, got {_kind(result)}")
    if getattr(result.shape, "rank", 0) is None:
        return result
    shape = tuple(result.shape)
    pairs = zip(shape, wanted, strict=False)
    if len(shape) != len(wanted) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise RequestError(f"{expected}, got {_written(shape)}")
    if "float" not in dtype_of(result):
        raise RequestError(f"{expected} of floating-point numbers, got {dtype_of(result)}")
    return result


def _written(sizes: tuple[int | None, ...]) -> str:
    """A shape with `?` for sizes that nobody knows yet."""
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"


def _kind(result: Any) -> str:
    return "None: is a return missing?" if result is None else f"a {type(result).__name__}"
