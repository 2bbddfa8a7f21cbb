"""Writes the gather unit as Verilog: the whole simulation unit, or the bare core with AXI ports."""

from pathlib import Path

from rtl.emit import SIM_RAM, emit_component
from rtl.gather.core import GatherUnit
from rtl.gather.own import FlatBlock, core_signature
from rtl.gather.trace import DramTraceUnit
from rtl.gather.unit import GatherSimUnit

__all__ = [
    "CORE_MODULE",
    "DRAM_MEMORY",
    "GATHER_MODULE",
    "RESULT_MEMORY",
    "STAGE_MEMORY",
    "TRACE_MEMORY",
    "TRACE_MODULE",
    "emit_dram_trace",
    "emit_gather",
    "emit_gather_core",
]

GATHER_MODULE = "gather_unit"
CORE_MODULE = "gather_core"
TRACE_MODULE = "dram_trace"

DRAM_MEMORY = "dram.storage.ram.mem"
STAGE_MEMORY = "staging.storage.ram.mem"
RESULT_MEMORY = "landing.storage.ram.mem"
"""Words of the three memories, as seen from an instance of module ``gather_unit``."""

TRACE_MEMORY = "player.storage.ram.mem"
"""Addresses that an instance of module ``dram_trace`` plays."""


def emit_gather(path, **parameters):
    """Write module ``gather_unit``, a :class:`GatherSimUnit` of ``parameters``, to file ``path``.

    Returns the paths of all Verilog files it needs: its three memories are instances of
    ``sim_ram``, which is part of the package.
    """
    emit_component(path, GatherSimUnit(emitted=True, **parameters), GATHER_MODULE)
    return [SIM_RAM, Path(path)]


def emit_gather_core(path, **parameters):
    """Write module ``gather_core``, a :class:`GatherUnit` of ``parameters`` with flat AXI ports."""
    unit = GatherUnit(**parameters)
    emit_component(path, FlatBlock(core_signature(unit), unit), CORE_MODULE)
    return [Path(path)]


def emit_dram_trace(path, **parameters):
    """Write module ``dram_trace``, a :class:`DramTraceUnit` of ``parameters``."""
    emit_component(path, DramTraceUnit(emitted=True, **parameters), TRACE_MODULE)
    return [SIM_RAM, Path(path)]
