"""Traps of the codec: values that do not fit, missing bytes, layouts that NumPy cannot hold."""

import numpy as np
import pytest
from amaranth.lib import data, enum
from amaranth.lib.data import Layout

from rtl.contract.codec import byte_size, pack, record_dtype, unpack


class Kind(enum.IntEnum, shape=8):
    PLAIN = 0
    SPECIAL = 3


class Inner(data.Struct):
    low: 4
    high: 4


class Outer(data.Struct):
    kind: Kind
    inner: Inner
    count: 16


class Pair(data.Struct):
    low: 8
    high: 8


class Ragged(data.Struct):
    flag: 1
    rest: 6


def test_absent_fields_are_zero():
    assert pack(Outer) == bytes(4)


def test_enumerations_and_numpy_integers_are_integers():
    assert pack(Outer, kind=Kind.SPECIAL, count=np.uint16(0x0102)) == b"\3\0\2\1"
    assert unpack(Outer, b"\3\0\2\1").kind == Kind.SPECIAL


def test_nested_fields_as_a_dict_or_as_bits():
    assert pack(Outer, inner={"low": 0x5, "high": 0xA}) == b"\0\xa5\0\0"
    assert pack(Outer, inner=0xA5) == b"\0\xa5\0\0"


def test_amaranth_itself_drops_high_bits():
    # The reason for the check in pack: 300 = 100101100b in eight bits is 44.
    assert Layout.cast(Pair).const({"low": 300}).as_bits() == 44


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 1 << 16}, "Field 'count' must fit in 16 bits, not 65536"),
        ({"count": -1}, "Field 'count' must fit in 16 bits, not -1"),
        ({"inner": 256}, "Field 'inner' must fit in 8 bits, not 256"),
        ({"inner": {"high": 16}}, "Field 'inner.high' must fit in 4 bits, not 16"),
    ],
)
def test_values_that_do_not_fit(fields, message):
    with pytest.raises(ValueError, match=message):
        pack(Outer, **fields)


@pytest.mark.parametrize("value", [1.0, "1", None])
def test_values_that_are_no_integers(value):
    with pytest.raises(TypeError):
        pack(Outer, count=value)


def test_unknown_fields():
    with pytest.raises(KeyError, match="size"):
        pack(Outer, size=1)
    with pytest.raises(KeyError, match="middle"):
        pack(Outer, inner={"middle": 1})


@pytest.mark.parametrize("length", [0, 3, 5])
def test_unpack_takes_exactly_the_layout(length):
    with pytest.raises(ValueError, match=f"Outer must be 4 bytes long, not {length}"):
        unpack(Outer, bytes(length))


def test_layouts_that_do_not_fill_bytes():
    for use in (byte_size, pack):
        with pytest.raises(TypeError, match="Layout must fill whole bytes, not 7 bits"):
            use(Ragged)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (data.Field(8, 4), "Field 'word' must start at a byte, not at bit 4"),
        (data.Field(24, 0), "Field 'word' must be 8, 16, 32 or 64 bits, not 24"),
    ],
)
def test_fields_that_have_no_record(field, message):
    with pytest.raises(TypeError, match=message):
        record_dtype(data.FlexibleLayout(32, {"word": field}))


def test_record_of_a_nested_layout_of_bits_is_a_word():
    assert record_dtype(Outer) == np.dtype([("kind", "<u1"), ("inner", "<u1"), ("count", "<u2")])
