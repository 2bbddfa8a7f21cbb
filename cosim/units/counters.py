"""Counters that the RTL units keep, read out of a running engine."""

from collections import Counter
from typing import Any

from cosim.units.fields import FieldReader
from rtl.contract.channel import ChannelCounters
from rtl.contract.gather import GatherCounters

__all__ = ["unit_counters"]

_CHANNEL = FieldReader(ChannelCounters)
_GATHER = FieldReader(GatherCounters)


def unit_counters(engine: Any) -> dict[str, int]:
    """``channel.<name>``, summed over the flash channels, and ``gather.<name>``."""
    counts: Counter[str] = Counter()
    for unit, name in enumerate(engine.units):
        word = engine.counters(unit)
        prefix, reader = ("gather", _GATHER) if name == "gather" else ("channel", _CHANNEL)
        for field, count in reader.all(word).items():
            counts[f"{prefix}.{field}"] += count
    return dict(counts)
