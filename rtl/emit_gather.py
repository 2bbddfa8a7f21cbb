"""Writes the gather unit as Verilog: the whole simulation unit, or the bare core with AXI4 ports."""

from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.gather import GatherDone, GatherLaunch
from rtl.gather.core import GatherUnit
from rtl.gather.results import ResultWord
from rtl.gather.unit import GatherSimUnit

__all__ = [
    "DRAM_MEMORY",
    "RESULT_MEMORY",
    "STAGE_MEMORY",
    "FlatGatherUnit",
    "emit_gather",
    "emit_gather_core",
]

DRAM_MEMORY = "dram.storage.ram.mem"
STAGE_MEMORY = "staging.storage.ram.mem"
RESULT_MEMORY = "landing.storage.ram.mem"
"""Words of the three memories, as seen from an instance of module ``gather_unit``."""

AXI_PREFIX = "m_axi_"


class FlatGatherUnit(wiring.Component):
    """A :class:`GatherUnit` whose AXI4 port has the standard's signal names, ``m_axi_araddr`` and so on.

    The unit never writes; that there is no write port is for the user of the Verilog to tie off.

    Parameters
    ----------
    unit : GatherUnit
        What to wrap.
    """

    def __init__(self, unit):
        self.unit = unit
        width = {"addr": 64, "len": 8, "size": 3, "burst": 2, "id": unit.id_bits}
        data_width = {"data": unit.data_bits, "resp": 2, "last": 1, "id": unit.id_bits}
        super().__init__(
            {
                "now": In(48),
                "launches": In(stream.Signature(GatherLaunch)),
                "results": Out(stream.Signature(ResultWord)),
                "done": Out(stream.Signature(GatherDone)),
                "busy": Out(1),
                **{f"{AXI_PREFIX}ar{name}": Out(bits) for name, bits in width.items()},
                **{f"{AXI_PREFIX}r{name}": In(bits) for name, bits in data_width.items()},
                f"{AXI_PREFIX}arvalid": Out(1),
                f"{AXI_PREFIX}arready": In(1),
                f"{AXI_PREFIX}rvalid": In(1),
                f"{AXI_PREFIX}rready": Out(1),
            }
        )

    def _flat(self, name):
        return getattr(self, AXI_PREFIX + name)

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
            self._flat("arvalid").eq(ar.valid),
            ar.ready.eq(self._flat("arready")),
            *(self._flat(f"ar{name}").eq(ar.payload[name]) for name, _ in ar.payload.shape()),
            r.valid.eq(self._flat("rvalid")),
            self._flat("rready").eq(r.ready),
            *(r.payload[name].eq(self._flat(f"r{name}")) for name, _ in r.payload.shape()),
        ]
        return m


def emit_gather(path, **parameters):
    """Write module ``gather_unit``, a :class:`GatherSimUnit` of ``parameters``, to ``path``.

    Its three memories are instances of module ``sim_ram`` (``rtl/verilog/sim_ram.v``).
    """
    unit = GatherSimUnit(emitted=True, **parameters)
    Path(path).write_text(verilog.convert(unit, name="gather_unit", strip_internal_attrs=True))


def emit_gather_core(path, **parameters):
    """Write module ``gather_core``, a :class:`GatherUnit` of ``parameters`` with flat AXI4 ports."""
    unit = FlatGatherUnit(GatherUnit(**parameters))
    Path(path).write_text(verilog.convert(unit, name="gather_core", strip_internal_attrs=True))
