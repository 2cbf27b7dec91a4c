"""Reading a pickled NumPy array of strings without running what else a pickle may hold.

A pickle is a program, and running it can run anything. Its steps are looked through first: only
those by which NumPy 1 and 2 write such an array, in protocols 0 to 5, may occur. Then an unpickler
takes them that knows no names but NumPy's for such an array, and gives stand-ins for these: nothing
is imported, and nothing of NumPy is called.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError

_STEPS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "NONE", "NEWTRUE", "NEWFALSE"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE"),
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "MARK", "POP"),
    *("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET", "LONG_BINGET"),
    *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "PROTO", "FRAME", "STOP"),
}
_DAMAGED = (
    *(pickle.UnpicklingError, AttributeError, EOFError, ValueError, TypeError, LookupError),
    OverflowError,
)


def read_string_array(path: Path) -> np.ndarray:
    """The array in a pickle file.

    It has two axes, (N, columns), of fixed-width strings or of `str` objects: dtype `U` or `O`.

    Raises:
        RequestError: the file can't be read, or is anything but such an array.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in texts
            return _array_in(path.read_bytes())
    except _Refused as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except MemoryError:
        reason = "more than fits into memory"
    except _DAMAGED as error:
        reason = f"a damaged pickle ({' '.join(str(error).split())[:80]})"
    raise RequestError(
        f"{path}: expected a pickled NumPy array of strings and nothing else, but: {reason}."
    )


class _Refused(Exception):
    """A step that writes no array of strings; the text says which."""


def _array_in(content: bytes) -> np.ndarray:
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name not in _STEPS:
            raise _Refused(f"it has the step {opcode.name}")
        # An unpickler makes room for all places up to one that is named.
        if opcode.name.endswith("PUT") and (argument or 0) > len(content):
            raise _Refused(f"it keeps something in place {argument}")
    found = _Unpickler(content).load()
    if not isinstance(found, _Array):
        raise _Refused("it is something else")
    return found.finished()


class _Allowed:
    """What a name in a pickle stands for; `make` gives what calling it does."""

    __slots__ = ("kind", "make")

    def __init__(self, kind: str, make: Callable[..., Any] | None = None) -> None:
        self.kind, self.make = kind, make

    def __call__(self, *arguments: Any) -> Any:
        if self.make is None:
            raise _Refused(f"it calls {self.kind}")
        return self.make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise _Refused(f"it sets the state of {self.kind}")


class _DType:
    """A dtype on its way: `U370` or `O8`, and its byte order."""

    def __init__(self, code: Any, align: Any, copy: Any) -> None:
        if not (isinstance(code, str) and re.fullmatch(r"U[1-9]\d{0,6}|O[48]?", code, re.ASCII)):
            raise _Refused(f"an array of dtype {_shown(code)}, not of strings")
        self.code, self.order = code, "="

    def __setstate__(self, state: Any) -> None:
        _, order, *nested = state[:5]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in nested):
            raise _Refused("a dtype that is not of strings")
        self.order = order


class _Array:
    """An array on its way: its shape, dtype and content."""

    def __init__(self, shape: Any = None, dtype: Any = None, order: Any = "C", content: Any = None):
        self.shape, self.dtype, self.fortran, self.content = shape, dtype, order == "F", content

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, self.fortran, self.content = state

    def finished(self) -> np.ndarray:
        if not isinstance(self.dtype, _DType):
            raise _Refused("an array without a content")
        if not (isinstance(self.shape, tuple) and len(self.shape) == 2):
            raise _Refused("an array that has not two axes")
        if not all(type(length) is int and 0 <= length < 2**40 for length in self.shape):
            raise _Refused("an array with an impossible shape")
        objects = self.dtype.code.startswith("O")  # always listed row by row
        values = self._objects() if objects else self._fixed_width(self.dtype)
        if len(values) != self.shape[0] * self.shape[1]:
            raise _Refused(f"{len(values):,} strings for the shape {self.shape}")
        return values.reshape(self.shape, order="F" if self.fortran and not objects else "C")

    def _fixed_width(self, found: _DType) -> np.ndarray:
        dtype = np.dtype(f"{found.order}{found.code}".replace("|", "="))
        # Python 2 wrote the bytes as a string.
        content = self.content.encode("latin-1") if isinstance(self.content, str) else self.content
        if not isinstance(content, bytes | bytearray):
            raise _Refused("an array without its bytes")
        if len(content) % dtype.itemsize:
            raise _Refused(f"{len(content):,} bytes for strings of {dtype.itemsize}")
        numbers = np.frombuffer(content, np.dtype("u4").newbyteorder(dtype.byteorder))
        if numbers.max(initial=0) > sys.maxunicode:  # of which NumPy would make a broken string
            raise _Refused(f"the character number {numbers.max():#x}")
        return np.frombuffer(content, dtype)

    def _objects(self) -> np.ndarray:
        if not isinstance(self.content, list) or not all(type(s) is str for s in self.content):
            raise _Refused("an array of objects that are not all strings")
        values = np.empty(len(self.content), dtype=object)
        values[:] = self.content
        return values


class _Unpickler(pickle.Unpickler):
    """Knows the names by which NumPy writes an array, and no other one."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin-1")
        self._may_encode = len(content)  # no more than there is, but it could be asked for often
        ndarray = _Allowed("ndarray")

        def reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
            if kind is not ndarray:
                raise _Refused("it makes something else than an array")
            return _Array()

        def from_buffer(content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
            return _Array(shape, dtype, order, content)

        self._known = {
            "numpy.ndarray": ndarray,
            "numpy.dtype": _Allowed("dtype", _DType),
            "_codecs.encode": _Allowed("encode", self._encode),
            "__builtin__.bytes": _Allowed("bytes", lambda: b""),  # no rows, in protocols 0 to 2
        }
        for core in ("numpy.core", "numpy._core"):
            self._known[f"{core}.multiarray._reconstruct"] = _Allowed("_reconstruct", reconstruct)
            self._known[f"{core}.numeric._frombuffer"] = _Allowed("_frombuffer", from_buffer)

    def find_class(self, module: str, name: str) -> _Allowed:
        """The stand-in for a name; nothing is imported."""
        named = f"{module}.{name}"
        if named not in self._known:
            raise _Refused(f"it names {_shown(module)}.{_shown(name)}")
        return self._known[named]

    def _encode(self, text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _Refused(f"it encodes as {_shown(encoding)}")
        self._may_encode -= len(text)
        if self._may_encode < 0:
            raise _Refused("it encodes more than there is in the file")
        return text.encode("latin-1")


def _shown(value: Any) -> str:
    """A text in short; of tuples nested by the million, a print would never end."""
    return value[:60] if isinstance(value, str) else f"({type(value).__name__})"
