"""Blocks from SSD to card, peer to peer, by whoever has a queue pair of the SSD."""

from collections.abc import Generator, Sequence
from typing import Any

from host.block_read import page_addresses
from host.driver import Command, Completion, NvmeDriver, PrpList
from host.ns_config import Placement
from host.slots import Slots
from host.window import BlockRead
from rtl.contract.kernel import Cause, Kernel, latest
from rtl.contract.nvme import Opcode, Status

__all__ = ["PeerReads"]


class PeerReads:
    """Reads into the window of a card.

    Parameters
    ----------
    driver : NvmeDriver
        The queue pair.
    p2p_base : int
        PCIe address of the window.
    placement : Placement
        Size of a block.
    in_flight : int
        Reads outstanding at once.

    Attributes
    ----------
    count
        Reads so far.
    """

    def __init__(
        self,
        kernel: Kernel,
        driver: NvmeDriver,
        p2p_base: int,
        placement: Placement,
        in_flight: int,
    ) -> None:
        self.count = 0
        self._kernel = kernel
        self._driver = driver
        self._base = p2p_base
        self._lba_bytes = placement.lba_bytes
        self._slots = Slots(kernel, in_flight, "reads_in_flight")

    @property
    def waits(self) -> int:
        """Reads that found as many others outstanding as there may be."""
        return self._slots.waits

    def copy(
        self, reads: Sequence[BlockRead], cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[Completion | None, Cause]]:
        """Read all of them; returns when all have ended, with the first that failed, if any did."""
        events = []
        for read in reads:
            cause = yield from self._slots.acquire(cause)
            prps = PrpList(self._driver.memory, self._pages(read))
            command = Command(
                opcode=Opcode.READ,
                prp1=prps.prp1,
                prp2=prps.prp2,
                lba=read.lba,
                blocks=read.blocks,
                label="peer-to-peer read",
            )
            event, cause = yield from self._driver.submit(command, cause, request=request)
            self._kernel.env.process(self._finish(event, prps))
            events.append(event)
            self.count += 1
        failed = None
        for event in events:
            completion: Completion = yield event
            cause = latest((cause, completion.cause))
            if failed is None and completion.status != Status.SUCCESS:
                failed = completion
        return failed, cause

    def _pages(self, read: BlockRead) -> list[int]:
        return page_addresses(self._base + read.offset, read.blocks * self._lba_bytes)

    def _finish(self, event: Any, prps: PrpList) -> Generator[Any, Any, None]:
        completion: Completion = yield event
        prps.release()
        self._slots.release(completion.cause)
