"""Three faces of one ``data.Struct`` declaration: RTL view, bytes, NumPy record."""

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

    Raises
    ------
    ValueError
        If a value does not fit its field (``Layout.const`` would silently keep the low bits).
    KeyError
        If a field is not part of the layout.
    """
    layout = Layout.cast(shape)
    for name, value in fields.items():
        width = Shape.cast(layout[name].shape).width
        if isinstance(value, dict):
            continue
        if not 0 <= int(value) < 1 << width:
            raise ValueError(f"Field {name!r} must fit in {width} bits, not {value!r}")
    nested = {
        name: int.from_bytes(pack_bits(layout[name].shape, value), "little")
        if isinstance(value, dict)
        else int(value)
        for name, value in fields.items()
    }
    raw = 0
    for name, value in nested.items():
        raw |= value << layout[name].offset
    return raw.to_bytes(byte_size(shape), "little")


def pack_bits(shape, fields):
    """Encode a nested layout that need not fill whole bytes; padded to whole bytes."""
    layout = Layout.cast(shape)
    raw = 0
    for name, value in fields.items():
        width = Shape.cast(layout[name].shape).width
        if not 0 <= int(value) < 1 << width:
            raise ValueError(f"Field {name!r} must fit in {width} bits, not {value!r}")
        raw |= int(value) << layout[name].offset
    return raw.to_bytes(-(-layout.size // 8), "little")


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
