"""The FPGA card: its DRAM window behind PCIe, and the host's control of the gather unit."""

from collections.abc import Generator
from typing import Any, Protocol

from cosim.links import PcieLink
from cosim.ring_card import RingCard
from host.costs import HostCpu
from rtl.contract.kernel import P2P_BASE, BusError, Cause, Kernel, latest

__all__ = ["CardWindow", "FpgaPort", "GatherPort"]

REGISTER_BYTES = 16
"""A ``GatherLaunch``, or a descriptor of the card's DMA engine, written to registers."""
INTERRUPT_BYTES = 4
ABORT_BYTES = 4


class GatherPort(Protocol):
    """The gather unit with its DRAM, in RTL; ``cosim.units`` has it."""

    def stage(self, address: int, data: bytes, cause: Cause, *, request: int = 0) -> Any:
        """Write to DRAM; the SimPy event returned has the Cause of the data's being there."""

    def launch(self, descriptor_address: int, count: int, cause: Cause, *, request: int = 0) -> Any:
        """Sample ``count`` descriptors.

        The SimPy event's value has ``words`` (a buffer), ``status`` and ``cause``.
        """

    def abort(self) -> None:
        """Give up the launch that is running."""


class CardWindow:
    """The card's DRAM as PCIe writes reach it, at offsets from 0.

    Parameters
    ----------
    gather : GatherPort
        Takes the bytes into DRAM.
    window_bytes : int
        Size of the DRAM window.
    piece_bytes : int
        Most bytes that one staging request takes (a slot of the staging memory).
    port_bytes : int
        Width of the DRAM's port: offsets and lengths are multiples of it.

    Raises
    ------
    ValueError
        If a size is not a positive multiple of ``port_bytes``.
    """

    def __init__(
        self,
        kernel: Kernel,
        gather: GatherPort,
        *,
        window_bytes: int,
        piece_bytes: int = 4096,
        port_bytes: int = 64,
    ) -> None:
        for name, value in (("window_bytes", window_bytes), ("piece_bytes", piece_bytes)):
            if value < 1 or value % port_bytes:
                raise ValueError(f"{name} must be a positive multiple of {port_bytes}, not {value}")
        self.window_bytes = window_bytes
        self.piece_bytes = piece_bytes
        self._kernel = kernel
        self._gather = gather
        self._port_bytes = port_bytes

    def check(self, offset: int, length: int) -> None:
        if length < 1 or offset < 0 or offset + length > self.window_bytes:
            raise BusError(
                f"Card access must lie in its window of {self.window_bytes} bytes, "
                f"not {length} bytes at {offset}"
            )
        if offset % self._port_bytes or length % self._port_bytes:
            raise BusError(
                f"Card access must be of whole words of {self._port_bytes} bytes, "
                f"not {length} bytes at {offset}"
            )

    def write(
        self, offset: int, data: bytes, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Stage bytes that have just arrived; returns when the last of them is in DRAM.

        All pieces are handed over at once; the unit takes as many as it has slots.
        """
        self.check(offset, len(data))
        pieces = [
            self._gather.stage(
                offset + start, data[start : start + self.piece_bytes], cause, request=request
            )
            for start in range(0, len(data), self.piece_bytes)
        ]
        yield self._kernel.env.all_of(pieces)
        return latest(piece.value for piece in pieces)


class FpgaPort:
    """The card as the host sees it; see ``rtl.contract.kernel.FpgaPort``.

    Parameters
    ----------
    link : PcieLink
        Between host and card.
    cpu : HostCpu
        The host's core that drives the card.
    launch_ps : int
        Host software of one kernel launch: before its registers are written, and after its
        interrupt.
    copy_ps : int
        Likewise of one copy between host and card by the card's DMA engine.
    rings : RingCard, optional
        Of a card with descriptor rings.
    """

    p2p_base = P2P_BASE

    def __init__(
        self,
        kernel: Kernel,
        link: PcieLink,
        gather: GatherPort,
        window: CardWindow,
        cpu: HostCpu,
        *,
        launch_ps: int,
        copy_ps: int,
        rings: RingCard | None = None,
    ) -> None:
        for name, value in (("launch_ps", launch_ps), ("copy_ps", copy_ps)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, not {value!r}")
        self.rings = rings
        self.window_bytes = window.window_bytes
        self._kernel = kernel
        self._link = link
        self._gather = gather
        self._window = window
        self._cpu = cpu
        self._launch_ps = launch_ps
        self._copy_ps = copy_ps

    def write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str = "descriptor"
    ) -> Generator[Any, Any, Cause]:
        """Copy host to card: the card's DMA reads host memory, told so by its registers.

        A piece is staged while the next is on the link. Then the card interrupts the host.
        """
        self._window.check(address, len(data))
        cause = yield from self._order("copy", self._copy_ps, cause, request)
        headers = -(-len(data) // self._window.piece_bytes) * self._link.up.parameters.header_bytes
        cause = yield from self._link.up.occupy(0, headers, cause, request=request, kind=kind)
        cause = yield from self._link.up.fly(cause, request=request, kind=kind)
        down, size = self._link.down, self._window.piece_bytes
        landings = []
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            cause = yield from down.send(len(piece), cause, request=request, kind=kind)
            landing = self._land(address + start, piece, cause, request, kind)
            landings.append(self._kernel.env.process(landing))
        yield self._kernel.env.all_of(landings)
        return (yield from self._interrupt(latest(done.value for done in landings), request))

    def _order(
        self, what: str, duration_ps: int, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        """Host software, then the write of the card's registers."""
        cause = yield from self._cpu.work(what, duration_ps, cause, request=request)
        return (
            yield from self._link.down.write(
                REGISTER_BYTES, cause, request=request, kind="card_registers"
            )
        )

    def _interrupt(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        return (
            yield from self._link.up.write(
                INTERRUPT_BYTES, cause, request=request, kind="interrupt"
            )
        )

    def _land(
        self, address: int, piece: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        cause = yield from self._link.down.fly(cause, request=request, kind=kind)
        return (yield from self._window.write(address, piece, cause, request=request))

    def launch(
        self, descriptor_address: int, count: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[int, Any, Cause]]:
        """Launch software, register write, the unit's run, and its interrupt."""
        cause = yield from self._order("launch", self._launch_ps, cause, request)
        result = yield self._gather.launch(descriptor_address, count, cause, request=request)
        cause = yield from self._interrupt(result.cause, request)
        return int(result.status), result, cause

    def abort(self, cause: Cause, *, request: int = 0) -> Generator[Any, Any, Cause]:
        """Write the card's abort register; returns when the write has left the host."""
        cause = yield from self._link.down.send(
            ABORT_BYTES, cause, request=request, kind="card_registers"
        )
        self._kernel.env.process(self._abort(cause, request))
        return cause

    def _abort(self, cause: Cause, request: int) -> Generator[Any, Any, None]:
        yield from self._link.down.fly(cause, request=request, kind="card_registers")
        self._gather.abort()

    def fetch(
        self, results: Any, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Copy card to host, as in :meth:`write`; an empty result needs no copy."""
        data = bytes(results.words)
        if not data:
            return data, cause
        cause = yield from self._order("copy", self._copy_ps, cause, request)
        cause = yield from self._link.up.write(len(data), cause, request=request, kind="result")
        return data, (yield from self._interrupt(cause, request))
