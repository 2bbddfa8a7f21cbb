"""Numbers with a unit, such as ``50 us``: text to integers of the base unit and back, exactly."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

__all__ = [
    "AGE",
    "BANDWIDTH",
    "CYCLES",
    "ERROR_RATE",
    "FREQUENCY",
    "SHARE",
    "SIZE",
    "TIME",
    "TRANSFERS",
    "Age",
    "Bandwidth",
    "Cycles",
    "ErrorRate",
    "Frequency",
    "Quantity",
    "Ratio",
    "Share",
    "Size",
    "SizeOrShare",
    "Time",
    "Transfers",
    "format_quantity",
    "parse_quantity",
]

# Digits and exponents are bounded: a number of millions of digits would take hours to multiply.
_DIGITS = r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][0-9]{1,2})?"
_NUMBER = re.compile(rf"(?P<number>{_DIGITS})\s*(?P<unit>[^0-9.].*)?")
_RATIO = re.compile(r"[0-9]{1,9}(/[0-9]{1,9}|\.[0-9]{1,9})?")


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: its name with article, its example, and how many base units a unit is.

    ``least`` and ``most`` bound its values, in base units; results keep times in 63 bits.
    """

    name: str
    example: str
    units: dict[str, int]
    least: int = 0
    most: int = 2**62

    def __str__(self) -> str:
        units = list(self.units)
        listed = f"{', '.join(units[:-1])} or {units[-1]}" if len(units) > 1 else units[0]
        return f"{self.name} such as '{self.example}' (in {listed})"


_BYTES = {
    "B": 1,
    "KB": 10**3,
    "KiB": 2**10,
    "MB": 10**6,
    "MiB": 2**20,
    "GB": 10**9,
    "GiB": 2**30,
}

TIME = Quantity(
    "a time",
    "50 us",
    {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    most=1000 * 10**12,
)
"""Base unit: picosecond."""
FREQUENCY = Quantity(
    "a frequency", "1 GHz", {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}, least=1
)
"""Base unit: hertz."""
SIZE = Quantity("a size", "16 MiB", _BYTES)
"""Base unit: byte."""
BANDWIDTH = Quantity(
    "a rate of bytes", "3.2 GB/s", {f"{unit}/s": size for unit, size in _BYTES.items()}, least=1
)
"""Base unit: byte per second."""
TRANSFERS = Quantity(
    "a rate of transfers", "200 MT/s", {"kT/s": 10**3, "MT/s": 10**6, "GT/s": 10**9}, least=1
)
"""Base unit: transfer per second."""
CYCLES = Quantity("a number of cycles", "4 cycles", {"cycles": 1})
"""Base unit: clock cycle."""
SHARE = Quantity("a share", "2 %", {"%": 10**4})
"""Base unit: millionth."""
AGE = Quantity("an age", "30 days", {"h": 1, "days": 24})
"""Base unit: hour."""
ERROR_RATE = Quantity("a rate of errors", "50 ppm", {"ppt": 1, "ppb": 10**3, "ppm": 10**6})
"""Base unit: errors in 10^12 bits."""

_KINDS = (TIME, FREQUENCY, SIZE, BANDWIDTH, TRANSFERS, CYCLES, SHARE, AGE, ERROR_RATE)


def parse_quantity(kind: Quantity, text: object) -> int:
    """Base units in ``text``.

    Raises
    ------
    ValueError
        If it is not a string of number and unit, if the unit belongs to another kind, if the
        number is not whole in base units, or if it is beyond the bounds of its kind.
    """
    match = _NUMBER.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"must be {kind}, not {text!r}")
    number, unit = match["number"], (match["unit"] or "").strip()
    if unit not in kind.units:
        other = next((k.name for k in _KINDS if unit in k.units), None)
        what = "which has no unit" if not unit else other and f"which is {other}"
        raise ValueError(f"must be {kind}, not {text!r}{f', {what}' if what else ''}")
    exact = Fraction(number) * kind.units[unit]
    if exact.denominator != 1:
        base = next(name for name in kind.units if kind.units[name] == min(kind.units.values()))
        raise ValueError(f"must be a whole number of {_base_name(kind, base)}, not {text!r}")
    if exact < kind.least:
        raise ValueError(f"must be positive, not {text!r}")
    if exact > kind.most:
        raise ValueError(f"must be at most {format_quantity(kind, kind.most)}, not {text!r}")
    return int(exact)


def format_quantity(kind: Quantity, value: int) -> str:
    """``value`` in the largest unit in which it is whole, as :func:`parse_quantity` reads it."""
    if kind is SHARE:
        hundredths = f"{value // 10**4}.{value % 10**4:04}"
        return f"{hundredths.rstrip('0').rstrip('.')} %"
    fitting = [u for u, size in kind.units.items() if value % size == 0 and (value or size == 1)]
    unit = max(fitting, key=kind.units.__getitem__)
    return f"{value // kind.units[unit]} {unit}"


def _base_name(kind: Quantity, unit: str) -> str:
    return {TIME.name: "ps", SHARE.name: "millionths"}.get(kind.name, unit)


def _annotation(kind: Quantity) -> Any:
    units = "|".join(re.escape(unit) for unit in kind.units)
    return (
        BeforeValidator(lambda text: parse_quantity(kind, text)),
        PlainSerializer(lambda value: format_quantity(kind, value), return_type=str),
        WithJsonSchema(
            {
                "type": "string",
                "pattern": rf"^{_DIGITS} *({units})$",
                "examples": [kind.example],
            }
        ),
    )


Time = Annotated[int, *_annotation(TIME)]
Frequency = Annotated[int, *_annotation(FREQUENCY)]
Size = Annotated[int, *_annotation(SIZE)]
Bandwidth = Annotated[int, *_annotation(BANDWIDTH)]
Transfers = Annotated[int, *_annotation(TRANSFERS)]
Cycles = Annotated[int, *_annotation(CYCLES)]
Share = Annotated[int, *_annotation(SHARE)]
Age = Annotated[int, *_annotation(AGE)]
ErrorRate = Annotated[int, *_annotation(ERROR_RATE)]


def _ratio(value: object) -> Fraction:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    try:
        ratio = Fraction(text) if _RATIO.fullmatch(text) else Fraction(0)
    except ZeroDivisionError:
        ratio = Fraction(0)
    if ratio <= 0:
        raise ValueError(f"must be a positive ratio such as '4/5' or '0.8', not {value!r}")
    return ratio


Ratio = Annotated[
    Fraction,
    BeforeValidator(_ratio),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["4/5"]}),
]
"""An exact number without a unit."""


@dataclass(frozen=True)
class SizeOrShareValue:
    """A size in bytes, or a share (millionths) of something whose size is known later."""

    kind: Quantity
    amount: int

    def of(self, whole: int) -> int:
        """Bytes: the size itself, or that share of ``whole`` bytes, rounded down."""
        return self.amount if self.kind is SIZE else whole * self.amount // 10**6

    def __str__(self) -> str:
        return format_quantity(self.kind, self.amount)


def _size_or_share(text: object) -> SizeOrShareValue:
    if isinstance(text, str) and text.rstrip().endswith("%"):
        return SizeOrShareValue(SHARE, parse_quantity(SHARE, text))
    try:
        return SizeOrShareValue(SIZE, parse_quantity(SIZE, text))
    except ValueError as error:
        message = str(error).replace("must be a size", f"must be {SHARE} or a size", 1)
        raise ValueError(message) from None


SizeOrShare = Annotated[
    SizeOrShareValue,
    BeforeValidator(_size_or_share),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": rf"^{_DIGITS} *([KMG]i?B|B|%)$"}),
]
