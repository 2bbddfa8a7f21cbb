"""Writes the gather unit as Verilog: the whole simulation unit, or the bare core with AXI ports."""

from pathlib import Path

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.gather import GatherDone, GatherLaunch, result_transfer
from rtl.emit import SIM_RAM, emit_component
from rtl.gather.core import GatherUnit
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
    "FlatGatherUnit",
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

AXI = "m_axi_"


class FlatGatherUnit(wiring.Component):
    """A :class:`GatherUnit` whose AXI4 port has the standard's names: ``m_axi_araddr`` and so on.

    The unit never writes, so there are no write channels.

    Parameters
    ----------
    unit : GatherUnit
        What to wrap.
    """

    def __init__(self, unit):
        self.unit = unit
        request = {"addr": 64, "len": 8, "size": 3, "burst": 2, "id": unit.id_bits}
        beat = {"data": unit.data_bits, "resp": 2, "last": 1, "id": unit.id_bits}
        super().__init__(
            {
                "now": In(48),
                "launches": In(stream.Signature(GatherLaunch)),
                "results": Out(stream.Signature(result_transfer(unit.result_words))),
                "done": Out(stream.Signature(GatherDone)),
                "busy": Out(1),
                "abort": In(1),
                **{f"{AXI}ar{name}": Out(bits) for name, bits in request.items()},
                **{f"{AXI}r{name}": In(bits) for name, bits in beat.items()},
                f"{AXI}arvalid": Out(1),
                f"{AXI}arready": In(1),
                f"{AXI}rvalid": In(1),
                f"{AXI}rready": Out(1),
            }
        )

    def _flat(self, name):
        return getattr(self, AXI + name)

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        ar, r = unit.axi.ar, unit.axi.r
        connect(m, flipped(self.launches), unit.launches)
        connect(m, unit.results, flipped(self.results))
        connect(m, unit.done, flipped(self.done))
        m.d.comb += [
            unit.now.eq(self.now),
            self.busy.eq(unit.busy),
            unit.abort.eq(self.abort),
            self._flat("arvalid").eq(ar.valid),
            ar.ready.eq(self._flat("arready")),
            *(self._flat(f"ar{name}").eq(ar.payload[name]) for name, _ in ar.payload.shape()),
            r.valid.eq(self._flat("rvalid")),
            self._flat("rready").eq(r.ready),
            *(r.payload[name].eq(self._flat(f"r{name}")) for name, _ in r.payload.shape()),
        ]
        return m


def emit_gather(path, **parameters):
    """Write module ``gather_unit``, a :class:`GatherSimUnit` of ``parameters``, to file ``path``.

    Returns the paths of all Verilog files it needs: its three memories are instances of
    ``sim_ram``, which is part of the package.
    """
    emit_component(path, GatherSimUnit(emitted=True, **parameters), GATHER_MODULE)
    return [SIM_RAM, Path(path)]


def emit_gather_core(path, **parameters):
    """Write module ``gather_core``, a :class:`GatherUnit` of ``parameters`` with flat AXI ports."""
    emit_component(path, FlatGatherUnit(GatherUnit(**parameters)), CORE_MODULE)
    return [Path(path)]


def emit_dram_trace(path, **parameters):
    """Write module ``dram_trace``, a :class:`DramTraceUnit` of ``parameters``."""
    emit_component(path, DramTraceUnit(emitted=True, **parameters), TRACE_MODULE)
    return [SIM_RAM, Path(path)]
