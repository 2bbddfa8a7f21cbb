"""The kernel and the RTL of a device as objects, for cocotb tests of one's own."""

from typing import Any

from cosim.bit_errors import BitErrors
from cosim.config.build import bch_code, cell_state, page_layout, striping
from cosim.config.platform import SsdPlatform
from cosim.engines.device import FlashArray, GatherCard
from cosim.engines.hdl import HdlEngine
from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import LockStep
from cosim.medium import FlashMedium
from cosim.units.channel import ChannelPort
from cosim.units.gather import GatherPort
from rtl.contract.nand_array import NandArrayTimes

__all__ = ["Bench"]

GATHER = "gather"


class Bench:
    """Flash channels, and the gather unit if the design has one, joined to a kernel.

    ::

        @cocotb.test()
        async def reads_a_page(dut):
            bench = await Bench.start(dut, ssd, flash)
            bench.medium.load_extent(0, IdArray(ids, 8))
            read = bench.flash.read(0, 0, 0, 0, 0, 554, bench.kernel.origin("test", "start"))
            page = await bench.run(read)

    ``times`` and ``parameter_page`` are those of :class:`ChannelPort`.

    Attributes
    ----------
    kernel, lockstep, engine
        Simulated time and spans; the loop that joins it to the RTL; the RTL.
    medium : FlashMedium
        The flash cells, empty at first.
    flash : ChannelPort
        The flash channels.
    gather : GatherPort or None
        The gather unit.
    """

    def __init__(
        self,
        dut: Any,
        ssd: SsdPlatform,
        flash: FlashArray,
        card: GatherCard | None = None,
        *,
        stop_clocks: bool = True,
        cached_pages: int = 64,
        times: NandArrayTimes | None = None,
        parameter_page: bytes = b"",
    ) -> None:
        units = [f"ch{channel}" for channel in range(flash.channels)]
        layout = page_layout(ssd)
        self.kernel = Kernel()
        self.engine = HdlEngine(
            dut, units if card is None else [*units, GATHER], stop_clocks=stop_clocks
        )
        self.lockstep = LockStep(self.kernel, self.engine)
        self.medium = FlashMedium(
            flash.part,
            layout,
            bch_code(ssd),
            striping(ssd),
            cached_pages=cached_pages,
            errors=BitErrors(cell_state(ssd), flash.part.raw_page_bytes),
        )
        self.flash = ChannelPort(
            self.lockstep,
            self.engine,
            self.medium,
            flash.part,
            layout,
            units=range(flash.channels),
            ways=flash.ways,
            slots=flash.slots,
            period_ps=flash.period_ps,
            has_decoder=flash.code is not None,
            encoder=flash.code if flash.encodes else None,
            times=times,
            parameter_page=parameter_page,
        )
        self.gather: GatherPort | None = None
        if card is not None:
            self.gather = GatherPort(
                self.lockstep,
                self.engine,
                unit=flash.channels,
                period_ps=card.period_ps,
                stage_slots=card.stage_slots,
                stage_slot_bytes=card.stage_slot_bytes,
            )

    @classmethod
    async def start(cls, dut: Any, *parts: Any, **options: Any) -> "Bench":
        """Make a bench and bring its RTL to the end of reset."""
        bench = cls(dut, *parts, **options)
        await bench.engine.start(BOOT_PS)
        return bench

    async def run(self, until: Any) -> Any:
        """Run until a SimPy event has happened, or a generator has ended; returns its value."""
        if hasattr(until, "send"):
            until = self.kernel.env.process(until)
        return await self.lockstep.run(until)

    async def run_for(self, duration_ps: int) -> None:
        """Run for a while."""
        await self.lockstep.run(self.kernel.env.timeout(duration_ps))
