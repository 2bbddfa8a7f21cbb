"""The host's hold on the descriptor rings of the FPGA card, across its PCIe link."""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import simpy

from cosim.links import DOORBELL_BYTES, INTERRUPT_BYTES, PcieLink
from host.costs import HostCpu
from rtl.contract.gather_rings import COMPLETION_BYTES, RingRegister, ring_offset
from rtl.contract.kernel import Cause, Kernel

__all__ = ["RingCard", "RingPort"]

REGISTER_KIND, ENTRY_KIND = "card_registers", "cqe"


class RingPort(Protocol):
    """The rings of the gather unit, in RTL; ``cosim.units`` has it."""

    on_interrupt: Callable[[int, Cause, int], None]
    """Called with INTERRUPT_CAUSE, its Cause and the mini-batch when the unit interrupts."""

    def write(self, offset: int, value: int, cause: Cause, *, request: int = 0) -> None:
        """A register write has arrived at the card."""

    def read(self, address: int, length: int) -> bytes:
        """Bytes of the card's DRAM."""

    def words(self, ring: int, first: int, count: int) -> bytes:
        """Result words of a ring, counted since it was enabled."""


class RingResults:
    """Result words of a ring on the card, for ``FpgaPort.fetch``."""

    def __init__(self, words: bytes) -> None:
        self.words = words


class RingCard:
    """Descriptor rings as the host sees them; see ``rtl.contract.kernel.CardRings``.

    Parameters
    ----------
    link : PcieLink
        Between host and card.
    cpu : HostCpu
        The host's core that drives the card.
    rings : RingPort
        What register writes reach.
    launch_ps : int
        Host software of one doorbell: before it is written, and after its interrupt.
    entry_read_ps : int
        The card's own time to read a completion entry from its DRAM.
    """

    def __init__(
        self,
        kernel: Kernel,
        link: PcieLink,
        cpu: HostCpu,
        rings: RingPort,
        *,
        launch_ps: int,
        entry_read_ps: int,
    ) -> None:
        for name, value in (("launch_ps", launch_ps), ("entry_read_ps", entry_read_ps)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, not {value!r}")
        self.doorbells = 0
        """Doorbells rung."""
        self.entries = 0
        """Completion entries read."""
        self._kernel = kernel
        self._link = link
        self._cpu = cpu
        self._rings = rings
        self._launch_ps = launch_ps
        self._entry_read_ps = entry_read_ps
        self._interrupts = simpy.Store(kernel.env)
        rings.on_interrupt = self._interrupt

    def write(
        self, offset: int, value: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Posted write of a register; returns when it has left the host."""
        down = self._link.down
        overhead = down.parameters.write_overhead(DOORBELL_BYTES)
        cause = yield from down.occupy(
            DOORBELL_BYTES, overhead, cause, request=request, kind=REGISTER_KIND
        )
        self._kernel.env.process(self._arrive(offset, value, cause, request))
        return cause

    def _arrive(
        self, offset: int, value: int, cause: Cause, request: int
    ) -> Generator[Any, Any, None]:
        cause = yield from self._link.down.fly(cause, request=request, kind=REGISTER_KIND)
        self._rings.write(offset, value, cause, request=request)

    def doorbell(
        self, ring: int, tail: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Launch software, then a posted write of the ring's tail."""
        self.doorbells += 1
        cause = yield from self._cpu.work("launch", self._launch_ps, cause, request=request)
        offset = ring_offset(ring, RingRegister.TAIL)
        return (yield from self.write(offset, tail, cause, request=request))

    def next_interrupt(self) -> Any:
        return self._interrupts.get()

    def _interrupt(self, bits: int, cause: Cause, request: int) -> None:
        self._kernel.env.process(self._send(bits, cause, request))

    def _send(self, bits: int, cause: Cause, request: int) -> Generator[Any, Any, None]:
        up = self._link.up
        cause = yield from up.write(INTERRUPT_BYTES, cause, request=request, kind="interrupt")
        self._interrupts.put((bits, cause))

    def read_entry(
        self, address: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """PCIe read of a completion entry: request down, the DRAM's time, its bytes up."""
        self.entries += 1
        up, down = self._link.up, self._link.down
        header = down.parameters.header_bytes
        cause = yield from down.occupy(0, header, cause, request=request, kind=ENTRY_KIND)
        cause = yield from down.fly(cause, request=request, kind=ENTRY_KIND)
        start_ps = int(self._kernel.env.now)
        yield self._kernel.env.timeout(self._entry_read_ps)
        cause = self._kernel.record(
            "fpga",
            "fpga.entry-read",
            start_ps,
            int(self._kernel.env.now),
            cause,
            request=request,
            kind=ENTRY_KIND,
        )
        entry = self._rings.read(address, COMPLETION_BYTES)
        cause = yield from up.write(COMPLETION_BYTES, cause, request=request, kind=ENTRY_KIND)
        return entry, cause

    def results(self, ring: int, first: int, count: int) -> RingResults:
        """Handle of result words, for ``FpgaPort.fetch``."""
        return RingResults(self._rings.words(ring, first, count))
