"""Fields of a layout out of one big integer, without the cost of a constant view."""

from typing import Any

from amaranth.hdl import Shape
from amaranth.lib.data import Layout

__all__ = ["FieldReader"]


class FieldReader:
    """Shifts and masks of every field of ``shape``; nested fields are ``"outer.inner"``."""

    def __init__(self, shape: Any) -> None:
        layout = Layout.cast(shape)
        self.bits: int = layout.size
        self._fields: dict[str, tuple[int, int]] = {}
        self._add("", layout, 0)

    def _add(self, prefix: str, layout: Any, offset: int) -> None:
        for name, field in layout:
            width = Shape.cast(field.shape).width
            place = offset + field.offset
            self._fields[f"{prefix}{name}"] = (place, (1 << width) - 1)
            try:
                nested = Layout.cast(field.shape)
            except TypeError:
                continue
            self._add(f"{prefix}{name}.", nested, place)

    @property
    def names(self) -> tuple[str, ...]:
        """All fields, nested ones too."""
        return tuple(self._fields)

    def get(self, word: int, name: str) -> int:
        shift, mask = self._fields[name]
        return word >> shift & mask

    def all(self, word: int) -> dict[str, int]:
        """Every field, nested ones also as a whole."""
        return {name: word >> shift & mask for name, (shift, mask) in self._fields.items()}
