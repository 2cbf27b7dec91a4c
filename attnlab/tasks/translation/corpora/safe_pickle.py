"""Reading a pickled NumPy array of strings without unpickling it.

A pickle is a program, and running it can run anything. Here its opcodes are read by a machine of
its own that knows the few steps by which NumPy 1 and 2 write such an array, in protocols 0 to 5,
and stops at every other one. Names in the pickle stay names: nothing is imported or called.
"""

from __future__ import annotations

import pickletools
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError

_NAMES = {
    "numpy.ndarray": "ndarray",
    "numpy.dtype": "dtype",
    "_codecs.encode": "encode",
    **{f"numpy.{core}.multiarray._reconstruct": "array" for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": "frombuffer" for core in ("core", "_core")},
}
_MARK = object()


def read_string_array(path: Path) -> np.ndarray:
    """The array in a pickle file.

    Args:
        path: a pickle of an array with two axes, of fixed-width strings or of `str` objects.

    Returns:
        (N, columns) strings, dtype `U` or `O`.

    Raises:
        RequestError: the file can't be read, or is anything but such an array.
    """
    try:
        with open(path, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in texts
            size = stream.seek(0, 2)
            stream.seek(0)
            return _Machine(size).run(stream)
    except _Refused as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except MemoryError:
        reason = "more than fits into memory"
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        reason = f"a damaged pickle ({' '.join(str(error).split())[:80]})"
    raise RequestError(
        f"{path}: expected a pickled NumPy array of strings and nothing else, but: {reason}."
    )


class _Refused(Exception):
    """A step that writes no array of strings; the text says which."""


@dataclass(frozen=True)
class _Name:
    """What a global stands for; never the thing itself."""

    kind: str


@dataclass
class _DType:
    """A dtype on its way: `U370` or `O8`, and its byte order."""

    code: str
    order: str = "="

    def build(self, state: Any) -> None:
        _, order, *nested = state[:5]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in nested):
            raise _Refused("a dtype that is not of strings")
        self.order = order


@dataclass
class _Array:
    """An array on its way: its shape, dtype and content."""

    shape: Any = None
    dtype: Any = None
    fortran: bool = False
    content: Any = None

    def build(self, state: Any) -> None:
        _, self.shape, self.dtype, self.fortran, self.content = state

    def finished(self) -> np.ndarray:
        if not isinstance(self.dtype, _DType):
            raise _Refused("an array without a content")
        if not (isinstance(self.shape, tuple) and len(self.shape) == 2):
            raise _Refused("an array that has not two axes")
        if not all(type(length) is int and 0 <= length < 2**40 for length in self.shape):
            raise _Refused("an array with an impossible shape")
        objects = self.dtype.code.startswith("O")  # always listed row by row
        values = self._objects() if objects else self._fixed_width()
        if len(values) != self.shape[0] * self.shape[1]:
            raise _Refused(f"{len(values):,} strings for the shape {self.shape}")
        return values.reshape(self.shape, order="F" if self.fortran and not objects else "C")

    def _fixed_width(self) -> np.ndarray:
        dtype = np.dtype(f"{self.dtype.order}{self.dtype.code}".replace("|", "="))
        content = _as_bytes(self.content)
        if not dtype.itemsize or len(content) % dtype.itemsize:
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


class _Machine:
    """Runs the opcodes that write an array; `size` bytes are in the file."""

    def __init__(self, size: int) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.may_encode = size  # a file can't hold more, but could ask for it again and again

    def run(self, stream: Any) -> np.ndarray:
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            if name in _LITERALS:
                self.stack.append(argument)
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name not in ("PROTO", "FRAME", "STOP"):
                raise _Refused(f"it has the step {name}")
        if len(self.stack) != 1 or not isinstance(self.stack[0], _Array):
            raise _Refused("it is something else")
        return self.stack[0].finished()

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise _Refused("its stack runs empty")
        return self.stack.pop()

    def pop_marked(self) -> list[Any]:
        values: list[Any] = []
        while self.stack and self.stack[-1] is not _MARK:
            values.append(self.stack.pop())
        if not self.stack:
            raise _Refused("its stack runs empty")
        self.stack.pop()
        return values[::-1]

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise _Refused(f"a step needs a {kind.__name__.strip('_')}")
        return self.stack[-1]

    def take(self, count: int) -> None:
        self.stack.append(tuple(reversed([self.pop() for _ in range(count)])))

    def put(self, number: int) -> None:
        self.memo[number] = self.top(object)

    def name(self, module: Any, name: Any) -> None:
        # Only of a text: of tuples nested by the million, a hash or a print would never end.
        named = f"{_shown(module)}.{_shown(name)}"
        kind = _NAMES.get(named)
        if kind is None:
            raise _Refused(f"it names {named}")
        self.stack.append(_Name(kind))

    def reduce(self) -> None:
        arguments, called = self.pop(), self.pop()
        if not (isinstance(called, _Name) and isinstance(arguments, tuple)):
            raise _Refused("it calls what is no name")
        if called.kind not in _CALLS:
            raise _Refused(f"it calls {called.kind}")
        self.stack.append(_CALLS[called.kind](self, *arguments))

    def build(self) -> None:
        state = self.pop()
        if not isinstance(state, tuple):
            raise _Refused("a state that is no tuple")
        if not self.stack or not isinstance(self.stack[-1], _Array | _DType):
            raise _Refused("it sets the state of something else")
        self.stack[-1].build(state)

    def new_array(self, kind: Any, shape: Any, code: Any) -> _Array:
        if kind != _Name("ndarray"):
            raise _Refused("it makes something else than an array")
        return _Array()

    def new_dtype(self, code: Any, align: Any, copy: Any) -> _DType:
        if not (isinstance(code, str) and re.fullmatch(r"U[1-9]\d{0,6}|O[48]?", code, re.ASCII)):
            raise _Refused(f"an array of dtype {_shown(code)}, not of strings")
        return _DType(code)

    def from_buffer(self, content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
        return _Array(shape, dtype, order == "F", content)

    def encode(self, text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _Refused(f"it encodes as {_shown(encoding)}")
        self.may_encode -= len(text)
        if self.may_encode < 0:
            raise _Refused("it encodes more than there is in the file")
        return text.encode("latin-1")


def _shown(value: Any) -> str:
    return value[:60] if isinstance(value, str) else f"({type(value).__name__})"


def _as_bytes(content: Any) -> bytes | bytearray:
    """The content of a fixed-width array; Python 2 wrote its bytes as a string."""
    if isinstance(content, str):
        return content.encode("latin-1")
    if not isinstance(content, bytes | bytearray):
        raise _Refused("an array without its bytes")
    return content


_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CALLS: dict[str, Callable[..., Any]] = {
    "array": _Machine.new_array,
    "dtype": _Machine.new_dtype,
    "frombuffer": _Machine.from_buffer,
    "encode": _Machine.encode,
}
_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "NONE": lambda machine, _: machine.stack.append(None),
    "NEWTRUE": lambda machine, _: machine.stack.append(True),
    "NEWFALSE": lambda machine, _: machine.stack.append(False),
    "MARK": lambda machine, _: machine.stack.append(_MARK),
    "POP": lambda machine, _: machine.pop(),
    "EMPTY_TUPLE": lambda machine, _: machine.stack.append(()),
    "TUPLE1": lambda machine, _: machine.take(1),
    "TUPLE2": lambda machine, _: machine.take(2),
    "TUPLE3": lambda machine, _: machine.take(3),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.pop_marked())),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "LIST": lambda machine, _: machine.stack.append(machine.pop_marked()),
    "APPEND": lambda machine, _: _append(machine, [machine.pop()]),
    "APPENDS": lambda machine, _: _append(machine, machine.pop_marked()),
    "PUT": lambda machine, number: machine.put(number),
    "BINPUT": lambda machine, number: machine.put(number),
    "LONG_BINPUT": lambda machine, number: machine.put(number),
    "MEMOIZE": lambda machine, _: machine.put(len(machine.memo)),
    "GET": lambda machine, number: machine.stack.append(machine.memo[number]),
    "BINGET": lambda machine, number: machine.stack.append(machine.memo[number]),
    "LONG_BINGET": lambda machine, number: machine.stack.append(machine.memo[number]),
    "GLOBAL": lambda machine, names: machine.name(*names.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.name(*[machine.pop(), machine.pop()][::-1]),
    "REDUCE": lambda machine, _: machine.reduce(),
    "BUILD": lambda machine, _: machine.build(),
}


def _append(machine: _Machine, values: list[Any]) -> None:
    machine.top(list).extend(values)
