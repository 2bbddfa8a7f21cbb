"""What each firmware routine costs: instructions and loads, counted or assumed.

The tables are the YAML files in ``costs/``. That of a core is written by
``firmware_model.costing`` from compiled code; ``assumed.yaml`` holds what has no code, for all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from firmware_model.parameters import CoreParameters

__all__ = ["COSTS", "CostTable", "Linear", "RoutineCost", "load_costs"]

ENTERED = ">0"
COSTS = Path(__file__).parent / "costs"


@dataclass(frozen=True)
class Linear:
    """``base`` + sum of coefficient x count: how often something happens in one run.

    A coefficient of ``n>0`` is that of 1 where count ``n`` is not 0.
    """

    base: Fraction
    per: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.base < 0:
            raise ValueError(f"Counts must not be negative, not {self.base}")
        object.__setattr__(self, "per", MappingProxyType(dict(self.per)))

    @property
    def counts(self) -> frozenset[str]:
        """Names of what it depends on."""
        return frozenset(name.removesuffix(ENTERED) for name in self.per)

    def __call__(self, counts: Mapping[str, int]) -> Fraction:
        total = self.base
        for name, rate in self.per.items():
            count = counts[name.removesuffix(ENTERED)]
            total += rate * (count > 0 if name.endswith(ENTERED) else count)
        if total < 0:
            raise ValueError(f"Counts must not be negative, not {total} for {dict(counts)}")
        return total


@dataclass(frozen=True, kw_only=True)
class RoutineCost:
    """One routine: instructions, and loads by the data object they touch.

    ``counts`` are the names of what the cost depends on, also of what proved to cost nothing.
    ``assumed`` is the reason for a figure that was not counted, or empty.

    Raises
    ------
    ValueError
        If a count is used and not among ``counts``.
    """

    instructions: Linear
    loads: Mapping[str, Linear]
    counts: frozenset[str] = frozenset()
    assumed: str = ""

    def __post_init__(self) -> None:
        for form in (self.instructions, *self.loads.values()):
            if form.counts - self.counts:
                raise ValueError(
                    f"counts must name {sorted(form.counts - self.counts)}, "
                    f"not only {sorted(self.counts)}"
                )


class CostTable:
    """Costs of all routines of one core type.

    Raises
    ------
    KeyError
        From :meth:`cycles`, for a routine that is not in the table or a load from a data object
        whose latency the core does not give.
    """

    def __init__(self, routines: Mapping[str, RoutineCost]) -> None:
        self.routines = MappingProxyType(dict(routines))

    @property
    def assumed(self) -> Mapping[str, str]:
        """Routines whose cost was not counted from code, with the reason."""
        return {name: cost.assumed for name, cost in self.routines.items() if cost.assumed}

    def cycles(self, core: CoreParameters, routine: str, **counts: int) -> int:
        """Cycles of one run on ``core``.

        Instructions over the issue rate, rounded up, plus for each load the cycles in which its
        data arrives; stores are posted.

        Raises
        ------
        ValueError
            If ``counts`` are not those of the routine, or the result is not at least one cycle.
        """
        if routine not in self.routines:
            raise KeyError(f"Routine {routine!r} must be in the cost table")
        cost = self.routines[routine]
        if cost.counts != counts.keys():
            raise ValueError(
                f"Routine {routine} must be given the counts {sorted(cost.counts)}, "
                f"not {sorted(counts)}"
            )
        cycles = ceil(cost.instructions(counts) / core.issue_rate)
        for place, form in cost.loads.items():
            cycles += ceil(form(counts)) * core.load_cycles(place)
        if cycles < 1:
            raise ValueError(f"Routine {routine} must cost at least one cycle, not {cycles}")
        return cycles


def load_costs(tables: Iterable[str] = ("cortex_a9", "assumed"), policy: str = "lru") -> CostTable:
    """Read tables from ``costs/``, those of a page buffer with the replacement ``policy``.

    Raises
    ------
    ValueError
        If there is no such table, it has an unknown key or a bad number, it has policies but not
        this one, or two tables name the same routine; the message begins with the file's name.
    """
    routines: dict[str, RoutineCost] = {}
    for table in tables:
        path = COSTS / f"{table}.yaml"
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in COSTS.glob("cortex_*.yaml")))
            raise ValueError(f"Costs must be those of one of {known}, not of {table!r}")
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        policies = document.get("policies", {policy: {}})
        if policy not in policies:
            raise ValueError(
                f"{path.name}: policy must be one of {', '.join(policies)}, not {policy!r}"
            )
        for name, entry in (document["routines"] | policies[policy]).items():
            if name in routines:
                raise ValueError(f"{path.name}: routine {name} must be in one table only")
            routines[name] = _routine(f"{path.name}: {name}", entry)
    return CostTable(routines)


def _routine(where: str, entry: Mapping[str, Any]) -> RoutineCost:
    unknown = entry.keys() - {"counts", "instructions", "loads", "stores", "assumed"}
    if unknown:
        raise ValueError(f"{where} must not have the keys {sorted(unknown)}")
    return RoutineCost(
        instructions=_linear(where, entry["instructions"]),
        loads={place: _linear(where, form) for place, form in entry.get("loads", {}).items()},
        counts=frozenset(entry.get("counts", ())),
        assumed=entry.get("assumed", ""),
    )


def _linear(where: str, form: Mapping[str, Any]) -> Linear:
    try:
        values = {name: Fraction(value) for name, value in form.items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} must have whole numbers or fractions, not {form!r}") from error
    return Linear(values.pop("base", Fraction(0)), values)
