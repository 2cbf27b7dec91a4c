"""Read a pickled NumPy array of strings without running anything else that the pickle holds.

A pickle is a program, and unpickling can call any Python function. Two checks prevent that. Only
the opcodes with which NumPy 1 and 2 write such an array (protocols 0 to 5) may occur. And the
unpickler resolves only NumPy's names for an array, to the stand-ins below, so nothing is imported.
NumPy's own functions aren't called, because a forged dtype makes them read foreign memory.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError

_OPCODES = {
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


class _Refused(Exception):
    """The pickle isn't an array of strings; the text says why."""


def read_string_array(path: Path) -> np.ndarray:
    """Read the array of strings in a pickle file.

    Returns:
        (N, columns) fixed-width strings or `str` objects: dtype `U` or `O`.

    Raises:
        RequestError: the file can't be read, or holds anything else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in texts
            return _array_in(path.read_bytes())
    except _Refused as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except MemoryError:
        reason = "more than fits into memory"
    except _DAMAGED as error:
        reason = f"a damaged pickle ({' '.join(str(error).split())[:80]})"
    raise RequestError(f"{path}: can't be read as a pickled NumPy array of strings: {reason}.")


def _array_in(content: bytes) -> np.ndarray:
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name not in _OPCODES:
            raise _Refused(f"it has the opcode {opcode.name}")
        # The unpickler allocates its memo up to the largest index.
        if opcode.name.endswith("PUT") and (argument or 0) > len(content):
            raise _Refused(f"it stores something at index {argument} of the memo")
    found = _Unpickler(content).load()
    if not isinstance(found, _Array):
        raise _Refused("it contains another object")
    return found.finished()


class _DType:
    """Stands for a dtype, such as `U370` or `O8`, and its byte order."""

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
    """Stands for an array: its shape, dtype and content, each checked in `finished`."""

    def __init__(self, shape: Any = None, dtype: Any = None, order: Any = "C", content: Any = None):
        self.shape, self.dtype, self.fortran, self.content = shape, dtype, order == "F", content

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, self.fortran, self.content = state

    def finished(self) -> np.ndarray:
        if not isinstance(self.dtype, _DType):
            raise _Refused("an array without content")
        if not (isinstance(self.shape, tuple) and len(self.shape) == 2):
            raise _Refused("an array that doesn't have two axes")
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
        if numbers.max(initial=0) > sys.maxunicode:  # NumPy would make a broken string of it
            raise _Refused(f"the character number {numbers.max():#x}")
        return np.frombuffer(content, dtype)

    def _objects(self) -> np.ndarray:
        if not isinstance(self.content, list) or not all(type(s) is str for s in self.content):
            raise _Refused("an array of objects that are not all strings")
        values = np.empty(len(self.content), dtype=object)
        values[:] = self.content
        return values


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    if kind is not _NDARRAY:
        raise _Refused("it makes something other than an array")
    return _Array()


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    return _Array(shape, dtype, order, content)


_NDARRAY = object()  # stands for the class `numpy.ndarray`, which a pickle may name but not call
_STAND_INS = {
    "numpy.ndarray": _NDARRAY,
    "numpy.dtype": _DType,
    "__builtin__.bytes": lambda: b"",  # the content of an empty array, in protocols 0 to 2
    **{f"numpy.{core}.multiarray._reconstruct": _reconstruct for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _frombuffer for core in ("core", "_core")},
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows the names with which NumPy writes an array, and no others."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin-1")
        self._may_encode = len(content)  # characters; a pickle could encode one text many times

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name; nothing is imported."""
        named = f"{module}.{name}"
        if named == "_codecs.encode":  # of the array's bytes, in protocols 0 to 2
            return self._encode
        if named not in _STAND_INS:
            raise _Refused(f"it names {_shown(module)}.{_shown(name)}")
        return _STAND_INS[named]

    def _encode(self, text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _Refused(f"it encodes as {_shown(encoding)}")
        self._may_encode -= len(text)
        if self._may_encode < 0:
            raise _Refused("it encodes more than there is in the file")
        return text.encode("latin-1")


def _shown(value: Any) -> str:
    """Return a text shortened for a message; printing tuples nested by the million never ends."""
    return value[:60] if isinstance(value, str) else f"({type(value).__name__})"
