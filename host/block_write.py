"""Ordinary NVMe writes out of host memory."""

from collections.abc import Generator
from typing import Any

from host.buffers import ScatteredBuffer
from host.driver import Command, NvmeDriver, PrpList
from rtl.contract.kernel import Cause
from rtl.contract.nvme import PAGE_BYTES, Opcode

__all__ = ["write_blocks"]


def write_blocks(
    driver: NvmeDriver,
    lba: int,
    data: bytes,
    lba_bytes: int,
    cause: Cause,
    *,
    request: int = 0,
) -> Generator[Any, Any, Cause]:
    """Write whole logical blocks with one command, out of pages that lie anywhere.

    Raises
    ------
    ValueError
        If ``data`` is not whole blocks, at least one.
    NvmeError
        If the device refuses the command or fails.
    """
    blocks, rest = divmod(len(data), lba_bytes)
    if rest or not blocks:
        raise ValueError(f"data must be whole blocks of {lba_bytes} bytes, not {len(data)} bytes")
    buffer = ScatteredBuffer(driver.memory, len(data), PAGE_BYTES)
    buffer.store(data)
    prps = PrpList(driver.memory, buffer.pages())
    command = Command(
        opcode=Opcode.WRITE, prp1=prps.prp1, prp2=prps.prp2, lba=lba, blocks=blocks, label="write"
    )
    try:
        return (yield from driver.execute(command, cause, request=request))
    finally:
        prps.release()
        buffer.release()
