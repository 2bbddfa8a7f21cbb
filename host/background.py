"""Ordinary reads of another process on the same SSD, while mini-batches are sampled."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from host.block_read import read_blocks
from host.driver import NvmeDriver
from host.errors import DeviceError
from rtl.contract.kernel import BACKGROUND_REQUEST, Cause, Kernel, latest

__all__ = ["BackgroundParameters", "BackgroundReads"]


@dataclass(frozen=True, kw_only=True)
class BackgroundParameters:
    """What is read.

    Parameters
    ----------
    reads_in_flight : int
        Reads outstanding at once, each followed by the next as soon as it has ended.
    blocks, lba_bytes : int
        Of each read, and bytes of a block.
    extent_blocks : int
        Blocks 0 and following among which reads lie, each place being as likely as any other.
    seed : int

    Raises
    ------
    ValueError
        If one is not positive (``seed`` may be 0), or a read does not fit the extent.
    """

    reads_in_flight: int
    blocks: int
    lba_bytes: int
    extent_blocks: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("reads_in_flight", "blocks", "lba_bytes", "extent_blocks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, not {self.seed}")
        if self.blocks > self.extent_blocks:
            raise ValueError(
                f"blocks of a read must be at most the {self.extent_blocks} of the extent, "
                f"not {self.blocks}"
            )


class BackgroundReads:
    """A closed loop of random reads, on a queue pair and a core of their own.

    ``expected`` gives the bytes that blocks hold, by first byte and length: what comes is compared.
    """

    def __init__(
        self,
        kernel: Kernel,
        driver: NvmeDriver,
        parameters: BackgroundParameters,
        expected: Callable[[int, int], bytes],
    ) -> None:
        self.reads = 0
        """Reads that have ended."""
        self.latency_ps = 0
        """Of all of them together, from the submitter's turn to its completion."""
        self._kernel = kernel
        self._driver = driver
        self._parameters = parameters
        self._expected = expected
        self._random = np.random.default_rng(parameters.seed)
        self._stopped = False
        self._loops: list[Any] = []

    def start(self) -> None:
        """Begin now."""
        for _ in range(self._parameters.reads_in_flight):
            cause = self._kernel.origin("host-background", "background.start")
            self._loops.append(self._kernel.env.process(self._loop(cause)))

    def stop(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Ask for nothing more, and return when what is under way has ended."""
        self._stopped = True
        ends = yield self._kernel.env.all_of(self._loops)
        return latest((cause, *ends.values()))

    def _loop(self, cause: Cause) -> Generator[Any, Any, Cause]:
        known = self._parameters
        while not self._stopped:
            lba = int(self._random.integers(known.extent_blocks - known.blocks + 1))
            start_ps = cause.at_ps
            data, cause = yield from read_blocks(
                self._driver,
                lba,
                known.blocks,
                known.lba_bytes,
                cause,
                request=BACKGROUND_REQUEST,
            )
            if data != self._expected(lba * known.lba_bytes, len(data)):
                raise DeviceError(
                    f"background read of {known.blocks} blocks from {lba} must bring what is there"
                )
            self.reads += 1
            self.latency_ps += cause.at_ps - start_ps
        return cause
