"""Counters that the RTL units keep, read out of a running engine."""

from collections import Counter
from typing import Any

from cosim.units.fields import FieldReader
from rtl.contract.channel import ChannelCounters
from rtl.contract.gather import GatherCounters
from rtl.gather.own import INNER_COUNTERS
from rtl.nand.own import PORT_COUNTERS

__all__ = ["gather_counters", "unit_counters"]

_CHANNEL = FieldReader(ChannelCounters)
_GATHER = FieldReader(GatherCounters)


def gather_counters(engine: Any) -> dict[str, int]:
    """Registers of the gather unit, by name."""
    return _GATHER.all(engine.counters(engine.units.index("gather")))


def unit_counters(
    engine: Any, *, own_gather: bool = False, own_channel: bool = False
) -> dict[str, int]:
    """``channel.<name>``, summed over the flash channels, and ``gather.<name>``.

    Of a user's own block there are only those that its ports tell.
    """
    counts: Counter[str] = Counter()
    for unit, name in enumerate(engine.units):
        word = engine.counters(unit)
        prefix, reader = ("gather", _GATHER) if name == "gather" else ("channel", _CHANNEL)
        for field, count in reader.all(word).items():
            counts[f"{prefix}.{field}"] += count
    absent = [f"gather.{name}" for name in INNER_COUNTERS] if own_gather else []
    if own_channel:
        absent += [f"channel.{name}" for name in _CHANNEL.names if name not in PORT_COUNTERS]
    for name in absent:
        del counts[name]
    return dict(counts)
