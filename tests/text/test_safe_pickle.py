"""Pickled arrays of strings are read; every other pickle is refused, and runs no code."""

from __future__ import annotations

import builtins
import copyreg
import pickle
import pickletools
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import RequestError
from attnlab.text.safe_pickle import read_string_array

PAIRS = np.array([["go", "geh"], ["hi äß", "grüß €😀"], ["", "x"]])
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture
def pickled(tmp_path):
    def write(content: bytes) -> Path:
        path = tmp_path / "pairs.pkl"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "array",
    [
        PAIRS,
        PAIRS.astype(object),
        np.asfortranarray(PAIRS),
        np.asfortranarray(PAIRS.astype(object)),
        PAIRS.astype(">U11"),
        PAIRS[::-1],
        np.array([["a", "b", "by someone"]]),
        PAIRS[:0],
    ],
    ids=["fixed", "objects", "fortran", "fortran_objects", "big_endian", "view", "three", "empty"],
)
def test_arrays_written_by_numpy_are_read(pickled, array, protocol):
    read = read_string_array(pickled(pickle.dumps(array, protocol)))
    assert read.shape == array.shape
    assert read.tolist() == array.tolist()


def renamed(content: bytes, old: bytes, new: bytes) -> bytes:
    """A pickle with a module's name changed, lengths included."""
    short = content.replace(bytes([len(old)]) + old, bytes([len(new)]) + new)
    short = short.replace(b"c" + old, b"c" + new)
    if short[:1] == b"\x80" and short[1] >= 4:  # all of it is one frame
        short = short[:3] + struct.pack("<Q", len(short) - 11) + short[11:]
    return short


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numpy_1_and_2_name_their_modules_differently(pickled, protocol):
    content = pickle.dumps(PAIRS, protocol)
    for module in (b"multiarray", b"numeric"):
        ours, others = b"numpy._core." + module, b"numpy.core." + module
        if np.__version__ < "2":
            ours, others = others, ours
        content = renamed(content, ours, others)
    assert content != pickle.dumps(PAIRS, protocol)
    assert read_string_array(pickled(content)).tolist() == PAIRS.tolist()


def test_python_2_wrote_bytes_as_strings(pickled):
    content = pickle.dumps(np.array([["ab", "c"]]), 3)
    raw = np.array([["ab", "c"]]).tobytes()
    content = content.replace(b"C" + bytes([len(raw)]) + raw, b"U" + bytes([len(raw)]) + raw)
    assert b"U" + bytes([len(raw)]) in content
    assert read_string_array(pickled(content)).tolist() == [["ab", "c"]]


class Call:
    """Pickles as a call, which is what a hostile pickle is made of."""

    def __init__(self, function, *arguments, state=None):
        self.called = (function, arguments, state) if state else (function, arguments)

    def __reduce__(self):
        return self.called


def opcodes(*parts: bytes) -> bytes:
    return b"".join(parts)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


DTYPE = b"cnumpy\ndtype\n" + text("U1") + b"I0\nI1\n\x87R"
ARRAY = b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nI0\n\x85C\x01b\x87R"
NESTED = b")" + b"".join(b"q%c" % n + b"h%c" % n + b"h%c" % n + b"\x86" for n in range(60))


def state(shape: bytes, dtype: bytes = DTYPE, content: bytes = b"C\x04a\x00\x00\x00") -> bytes:
    return b"(I1\n" + shape + dtype + b"I00\n" + content + b"tb."


def shape(rows: str, columns: str) -> bytes:
    return f"I{rows}\nI{columns}\n".encode() + b"\x86"


HOSTILE = {
    "system": b"cos\nsystem\n(S'touch RAN'\ntR.",
    "posix": b"cposix\nsystem\n(S'touch RAN'\ntR.",
    "eval": pickle.dumps(Call(eval, "open('RAN', 'w')"), 0),
    "exec": pickle.dumps(Call(exec, "open('RAN', 'w')"), 2),
    "open": pickle.dumps(Call(open, "RAN", "w"), 4),
    "subprocess": b"csubprocess\nPopen\n(S'touch RAN'\ntR.",
    "numpy_load": b"cnumpy\nload\n(S'x.npy'\nNI01\ntR.",
    "numpy_fromfile": b"cnumpy\nfromfile\n(S'/etc/passwd'\ntR.",
    "numpy_runstring": b"cnumpy.testing._private.utils\nrunstring\n(S'1'\n}tR.",
    "getattr_chain": pickle.dumps(Call(getattr, Call(__import__, "os"), "system"), 2),
    "dotted_name": b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",
    "dotted_module": b"\x80\x04\x8c\x05numpy\x8c\x0cos.path.join\x93.",
    "attribute_of_a_name": b"cnumpy\nndarray.tofile\n.",
    "copyreg": b"ccopyreg\n__newobj__\n(cbuiltins\nobject\ntR.",
    "copyreg_add": pickle.dumps(Call(copyreg.add_extension, "os", "system", 1), 2),
    "extension_registry": b"\x82\x01.",
    "inst": b"(S'touch RAN'\nios\nsystem\n.",
    "obj": b"(cos\nsystem\nS'touch RAN'\no.",
    "newobj": b"cnumpy\nndarray\n(I1\nt\x81.",
    "newobj_ex": b"cnumpy\nndarray\n(I1\nt}\x92.",
    "persistent_id": b"Pos.system\n.",
    "persistent_id_binary": b"S'x'\nQ.",
    "out_of_band_buffer": b"\x97.",
    "calls_a_string": b"S'os.system'\n(S'touch RAN'\ntR.",
    "calls_an_array": ARRAY + b"(S'touch RAN'\ntR.",
    "calls_ndarray": b"cnumpy\nndarray\n(I1000000\ntR.",
    "array_of_another_type": ARRAY.replace(b"ndarray", b"dtype") + b".",
    "builds_on_a_name": b"cnumpy\nndarray\n(S'a'\nI1\ntb.",
    "builds_with_a_dict": ARRAY + b"}S'__class__'\nS'x'\nsb.",
    "builds_slots": ARRAY + b"(N}S'shape'\nI1\nstb.",
    "dtype_of_objects_with_state": ARRAY
    + state(shape("1", "1"), b"cnumpy\ndtype\n(S'V8'\nI0\nI1\ntR"),
    "dtype_from_a_call": b"cnumpy\ndtype\n(cos\nsystem\nI0\nI1\ntR.",
    "dtype_with_fields": DTYPE + b"(I3\nS'<'\nN(S'a'\nt}I4\nI4\nI0\ntb.",
    "numbers": pickle.dumps(np.arange(6).reshape(3, 2)),
    "objects": pickle.dumps(np.array([["a", 1]], dtype=object)),
    "object_with_a_call": pickle.dumps(
        np.array([["a", Call(eval, "open('RAN', 'w')")]], dtype=object), 2
    ),
    "array_in_an_array": pickle.dumps(np.array([["a", np.array(["b"])]], dtype=object)),
    "structured": pickle.dumps(np.array([("a", "b")], dtype=[("x", "U1"), ("y", "U1")])),
    "bytes": pickle.dumps(np.array([[b"a", b"b"]])),
    "one_axis": pickle.dumps(np.array(["a", "b"])),
    "list": pickle.dumps([["a", "b"]]),
    "dict": pickle.dumps({"a": "b"}),
    "tuple_of_arrays": pickle.dumps((PAIRS, PAIRS)),
    "subclass": pickle.dumps(np.ma.masked_array(PAIRS)),
    "huge_shape": ARRAY + state(shape("4611686018427387904", "4")),
    "huge_shape_of_nothing": ARRAY + state(shape("0", "4611686018427387904")),
    "negative_shape": ARRAY + state(shape("-1", "-1")),
    "shape_of_texts": ARRAY + state(b"S'a'\nS'b'\n\x86"),
    "shape_of_nested_tuples": ARRAY + state(NESTED),
    "name_of_nested_tuples": NESTED + b"q\xffh\xff\x93.",
    "dtype_of_nested_tuples": b"cnumpy\ndtype\n" + NESTED + b"I0\nI1\n\x87R.",
    "wrong_length": ARRAY + state(shape("1", "2")),
    "half_a_character": ARRAY + state(shape("1", "1"), content=b"C\x03abc"),
    "no_character": ARRAY + state(shape("1", "1"), content=b"C\x04\x00\x00\x11\x00"),
    "no_character_at_all": ARRAY + state(shape("1", "1"), content=b"C\x04\xff\xff\xff\xff"),
    "content_missing": ARRAY + state(shape("1", "1"), content=b"N"),
    "dtype_missing": ARRAY + state(shape("1", "1"), dtype=b"N"),
    "never_built": ARRAY + b".",
    "huge_dtype": ARRAY
    + state(shape("1", "1"), b"cnumpy\ndtype\n" + text("U999999999999") + b"I0\nI1\n\x87R"),
    "encode_elsewhere": b"c_codecs\nencode\n(X\x01\x00\x00\x00aS'rot13'\ntR.",
    "encode_over_and_over": b"c_codecs\nencode\nq\x00"
    + text("a" * 50)
    + b"q\x01"
    + b"h\x00(h\x01S'latin1'\ntR" * 50
    + b".",
    "memo_far_out": b"Nr\xff\xff\xff\xff.",
    "memo_missing": b"h\x07.",
    "huge_length": b"\x8e" + struct.pack("<Q", 2**62) + b"a.",
    "huge_frame": b"\x80\x04\x95" + struct.pack("<Q", 2**63 - 1) + b".",
    "huge_number": b"I" + b"9" * 5000 + b"\n.",
    "unknown_opcode": b"\xff.",
    "newer_protocol": b"\x80\x63N.",
    "stack_runs_empty": b"0.",
    "stack_runs_empty_in_a_call": b"R.",
    "tuple_without_a_mark": b"t.",
    "append_to_nothing": b"(I1\na.",
    "list_in_itself": b"]q\x00h\x00a.",
    "nothing": b"",
    "stop_alone": b".",
    "text": b"go\tgeh\n",
    "zip": b"PK\x03\x04rubbish",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_anything_else_is_refused_in_one_sentence(pickled, content, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path = pickled(content)
    with pytest.raises(RequestError, match="read as a pickled NumPy array of strings") as refusal:
        read_string_array(path)
    sentence = str(refusal.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert len(sentence) < len(str(path)) + 250
    assert not (tmp_path / "RAN").exists()


def test_no_name_is_imported(pickled, monkeypatch):
    content = pickle.dumps(PAIRS)

    def forbidden(*arguments, **options):
        raise AssertionError(f"called with {arguments}")

    path = pickled(content)
    expected = read_string_array(path)  # what it needs is imported now
    for module in (pickle, np):
        monkeypatch.setattr(module, "load", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    monkeypatch.setattr(builtins, "__import__", forbidden)
    found = read_string_array(path)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, PAIRS)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_file_cut_off_anywhere_is_refused(pickled, protocol):
    content = pickle.dumps(PAIRS[:1, :1], protocol)
    for length in range(len(content)):
        with pytest.raises(RequestError):
            read_string_array(pickled(content[:length]))


@settings(deadline=None)
@given(st.data())
def test_a_damaged_file_gives_strings_or_a_refusal(tmp_path_factory, data):
    content = bytearray(pickle.dumps(PAIRS, data.draw(st.sampled_from([0, 2, 4, 5]))))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.pkl"
    path.write_bytes(content)
    try:
        array = read_string_array(path)
    except RequestError:
        return
    assert array.dtype.kind in "UO"
    assert array.ndim == 2


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(op.code for op in pickletools.opcodes)), max_size=30))
def test_any_sequence_of_opcodes_ends(tmp_path_factory, codes):
    path = tmp_path_factory.getbasetemp() / "opcodes.pkl"
    path.write_bytes("".join(codes).encode("latin-1") + b".")
    with pytest.raises(RequestError):
        read_string_array(path)


@pytest.mark.parametrize(("name", "reason"), [("missing.pkl", "No such file"), (".", "directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, reason):
    with pytest.raises(RequestError, match=reason):
        read_string_array(tmp_path / name)
