"""One physical constant of a platform: its value, and why it is that value."""

from collections.abc import Iterator
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, StringConstraints

from cosim.config.part import Part

__all__ = ["FREE_MARKS", "Byte", "Constant", "Mark", "NotNegative", "Positive", "Text", "constants"]

T = TypeVar("T")

Mark = Literal["measured", "stated", "inferred", "assumed", "configured"]
"""How a constant came about. ``configured`` is an override of the run's configuration."""

FREE_MARKS = ("assumed", "configured")
"""Marks of constants that no source gives."""

Text = Annotated[str, StringConstraints(min_length=1)]
Positive = Annotated[int, Field(ge=1)]
Byte = Annotated[int, Field(ge=0, le=0xFF)]
NotNegative = Annotated[int, Field(ge=0)]


class Constant(Part, Generic[T]):
    """One number, and why it is that number."""

    value: T
    source: Text
    mark: Mark


def constants(part: Part, prefix: str = "") -> Iterator[tuple[str, Constant[Any]]]:
    """All constants below ``part`` with their key paths, in the order of the models."""
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, Constant):
            yield f"{prefix}{name}", value
        elif isinstance(value, Part):
            yield from constants(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, Part):
                    yield from constants(item, f"{prefix}{name}.{key}.")
