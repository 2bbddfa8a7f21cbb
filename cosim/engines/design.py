"""What an HDL simulator is to build: units, the writers of their Verilog, and what is reachable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["MOST_UNITS", "Design", "Emission"]

MOST_UNITS = 31
"""One bit a unit, in words that the VPI takes and gives as plain integers."""


@dataclass(frozen=True)
class Emission:
    """Verilog that is written from Python: a part of a design that others may share.

    Parameters
    ----------
    parameters : str
        Every parameter that shapes it, as one canonical text: with the sources of ``rtl`` it names
        what ``write`` wrote.
    write : callable
        Writes the Verilog files into a folder; called only if that was not done before.
    """

    parameters: str
    write: Callable[[Path], None]


@dataclass(frozen=True, kw_only=True)
class Design:
    """One device's RTL.

    Parameters
    ----------
    units : sequence of rtl.top.Unit
        In the order in which simultaneous events are delivered.
    emissions : sequence of Emission
        The units' Verilog; no two write a file of the same name.
    public : sequence of (module, variable)
        What Python reaches below the top.
    inlined : sequence of str
        Modules that Verilator is to inline into their unit, so that all units share their code.
    sources : sequence of Path
        Verilog files that are part of the design as they are, in order, of different names;
        ``.vh`` and ``.svh`` are there to be included.

    top : str
        Verilog of a module ``csd_top`` of one's own, in place of one that holds the units.

    Raises
    ------
    ValueError
        If there are more than :data:`MOST_UNITS` units.
    """

    units: Sequence[Any]
    emissions: Sequence[Emission] = ()
    public: Sequence[tuple[str, str]] = (("sim_ram", "mem"),)
    inlined: Sequence[str] = ()
    sources: Sequence[Path] = ()
    top: str = ""

    def __post_init__(self) -> None:
        if len(self.units) > MOST_UNITS:
            raise ValueError(
                f"units (flash channels, and the gather unit) must be at most {MOST_UNITS}, "
                f"not {len(self.units)}"
            )
