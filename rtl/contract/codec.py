"""Three faces of one ``data.Struct`` declaration: RTL view, bytes, NumPy record."""

from operator import index

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib.data import Layout

__all__ = ["byte_size", "pack", "record_dtype", "unpack"]

_WORDS = {8: "<u1", 16: "<u2", 32: "<u4", 64: "<u8"}


def byte_size(shape):
    """Size of ``shape`` in bytes; raises :exc:`TypeError` where it does not fill whole bytes."""
    size = Layout.cast(shape).size
    if size % 8:
        raise TypeError(f"Layout must fill whole bytes, not {size} bits")
    return size // 8


def pack(shape, /, **fields):
    """Encode ``fields`` (absent ones are zero) as little-endian bytes.

    A field that is a layout itself takes a dict of its fields, or its bits as one integer.

    Raises
    ------
    ValueError
        If a value does not fit its field (``Layout.const`` would silently keep the low bits).
    TypeError
        If a value is not an integer, or the layout does not fill whole bytes.
    KeyError
        If a field is not part of the layout.
    """
    size = byte_size(shape)
    return _bits(shape, fields, prefix="").to_bytes(size, "little")


def _bits(shape, fields, *, prefix):
    layout = Layout.cast(shape)
    raw = 0
    for name, value in fields.items():
        field = layout[name]
        if isinstance(value, dict):
            value = _bits(field.shape, value, prefix=f"{prefix}{name}.")
        value = index(value)
        if not 0 <= value < 1 << field.width:
            raise ValueError(
                f"Field {prefix + name!r} must fit in {field.width} bits, not {value!r}"
            )
        raw |= value << field.offset
    return raw


def unpack(shape, raw):
    """Decode little-endian bytes into a constant view; attributes are the fields.

    Raises
    ------
    ValueError
        If ``raw`` is not exactly as long as the layout.
    """
    if len(raw) != byte_size(shape):
        raise ValueError(f"{shape.__name__} must be {byte_size(shape)} bytes long, not {len(raw)}")
    return Layout.cast(shape).from_bits(int.from_bytes(raw, "little"))


def record_dtype(shape):
    """NumPy record type with the same bytes as ``shape``.

    A nested layout becomes a nested record where all of its fields are whole words, and one
    unsigned word where they are not (NVMe's bit fields).

    Raises
    ------
    TypeError
        If a field is not an aligned word of 8, 16, 32 or 64 bits.
    """
    layout = Layout.cast(shape)
    names, formats, offsets = [], [], []
    for name, field in layout:
        width = Shape.cast(field.shape).width
        if field.offset % 8:
            raise TypeError(f"Field {name!r} must start at a byte, not at bit {field.offset}")
        names.append(name)
        offsets.append(field.offset // 8)
        formats.append(_word(name, field.shape, width))
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": byte_size(shape)}
    )


def _word(name, shape, width):
    try:
        return record_dtype(shape)
    except TypeError:
        if width not in _WORDS:
            raise TypeError(f"Field {name!r} must be 8, 16, 32 or 64 bits, not {width}") from None
        return _WORDS[width]
