"""Ordinary NVMe reads into host memory."""

from collections.abc import Generator
from typing import Any

from host.buffers import ScatteredBuffer
from host.driver import Command, NvmeDriver, PrpList
from rtl.contract.kernel import Cause
from rtl.contract.nvme import PAGE_BYTES, Opcode

__all__ = ["page_addresses", "read_blocks"]


def page_addresses(address: int, length: int) -> list[int]:
    """PRP entries of ``length`` contiguous bytes: the address, then each page that follows."""
    first = address // PAGE_BYTES * PAGE_BYTES
    return [address, *range(first + PAGE_BYTES, address + length, PAGE_BYTES)]


def read_blocks(
    driver: NvmeDriver,
    lba: int,
    blocks: int,
    lba_bytes: int,
    cause: Cause,
    *,
    request: int = 0,
) -> Generator[Any, Any, tuple[bytes, Cause]]:
    """Read ``blocks`` logical blocks with one command, into pages that lie anywhere.

    Raises
    ------
    NvmeError
        If the device refuses the command or fails.
    """
    buffer = ScatteredBuffer(driver.memory, blocks * lba_bytes, PAGE_BYTES)
    prps = PrpList(driver.memory, buffer.pages())
    command = Command(
        opcode=Opcode.READ, prp1=prps.prp1, prp2=prps.prp2, lba=lba, blocks=blocks, label="read"
    )
    try:
        cause = yield from driver.execute(command, cause, request=request)
        return buffer.load(), cause
    finally:
        prps.release()
        buffer.release()
