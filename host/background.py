"""Ordinary reads and writes of another process on the same SSD, while mini-batches are sampled."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from host.block_read import read_blocks
from host.block_write import write_blocks
from host.driver import NvmeDriver
from host.errors import DeviceError
from rtl.contract.kernel import BACKGROUND_REQUEST, Cause, Kernel, latest

__all__ = ["BackgroundLoad", "BackgroundParameters", "Load"]


@dataclass(frozen=True, kw_only=True)
class BackgroundParameters:
    """What is read and written.

    Parameters
    ----------
    reads_in_flight, writes_in_flight : int
        Commands outstanding at once, each followed by the next as soon as it has ended.
    blocks, lba_bytes : int
        Of each, and bytes of a block.
    extent_blocks : int
        Blocks 0 and following among which reads lie, each place being as likely as any other.
    area_first, area_blocks : int
        Blocks to which writes go, at multiples of ``blocks`` from the first; none is under way to
        the same place as another.
    seed : int

    Raises
    ------
    ValueError
        If one is out of range, nothing is asked for, or a command does not fit its blocks.
    """

    reads_in_flight: int
    writes_in_flight: int = 0
    blocks: int
    lba_bytes: int
    extent_blocks: int
    area_first: int = 0
    area_blocks: int = 0
    seed: int

    def __post_init__(self) -> None:
        for name in ("reads_in_flight", "writes_in_flight", "area_first", "area_blocks", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("blocks", "lba_bytes", "extent_blocks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        if not self.reads_in_flight + self.writes_in_flight:
            raise ValueError("reads_in_flight or writes_in_flight must be positive, not 0 both")
        if self.reads_in_flight and self.blocks > self.extent_blocks:
            raise ValueError(
                f"blocks of a read must be at most the {self.extent_blocks} of the extent, "
                f"not {self.blocks}"
            )
        if self.writes_in_flight > self.area_blocks // self.blocks:
            raise ValueError(
                f"area_blocks must hold {self.writes_in_flight} writes of {self.blocks} blocks "
                f"beside each other, not {self.area_blocks}"
            )


class Load:
    """What another process reads and writes, on a queue pair and a core of its own."""

    def __init__(self, kernel: Kernel, driver: NvmeDriver, lba_bytes: int) -> None:
        self.reads = 0
        """Reads that have ended, those of the end not counted."""
        self.writes = 0
        self.read_latency_ps = 0
        """Of all of them together, from the submitter's turn to its completion."""
        self.write_latency_ps = 0
        self._kernel = kernel
        self._driver = driver
        self._lba_bytes = lba_bytes
        self._stopped = False

    def start(self) -> None:
        """Begin now."""
        raise NotImplementedError

    def stop(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Ask for nothing more, wait for what is under way, and look at what was written."""
        raise NotImplementedError

    def _has_read(self, start_ps: int, cause: Cause) -> None:
        self.reads += 1
        self.read_latency_ps += cause.at_ps - start_ps

    def _has_written(self, start_ps: int, cause: Cause) -> None:
        self.writes += 1
        self.write_latency_ps += cause.at_ps - start_ps

    def _compare(self, lba: int, expected: bytes, cause: Cause) -> Generator[Any, Any, Cause]:
        """Read blocks; :exc:`DeviceError` unless they hold what is expected."""
        lba_bytes = self._lba_bytes
        blocks = len(expected) // lba_bytes
        data, cause = yield from read_blocks(
            self._driver, lba, blocks, lba_bytes, cause, request=BACKGROUND_REQUEST
        )
        if data != expected:
            raise DeviceError(
                f"background read of {blocks} blocks from {lba} must bring what is there"
            )
        return cause


class BackgroundLoad(Load):
    """A closed loop of random reads and writes.

    ``expected`` gives the bytes that blocks of the extent hold, by first byte and length: what
    comes is compared. What was written is read again, and compared, at the end.
    """

    def __init__(
        self,
        kernel: Kernel,
        driver: NvmeDriver,
        parameters: BackgroundParameters,
        expected: Callable[[int, int], bytes],
    ) -> None:
        super().__init__(kernel, driver, parameters.lba_bytes)
        self._parameters = parameters
        self._expected = expected
        self._random = np.random.default_rng(parameters.seed)
        self._free = list(range(parameters.area_blocks // parameters.blocks))
        self._written: dict[int, bytes] = {}
        self._loops: list[Any] = []

    def start(self) -> None:
        known = self._parameters
        turns = [self._read] * known.reads_in_flight + [self._write] * known.writes_in_flight
        for turn in turns:
            cause = self._kernel.origin("host-background", "background.start")
            self._loops.append(self._kernel.env.process(self._loop(turn, cause)))

    def stop(self, cause: Cause) -> Generator[Any, Any, Cause]:
        self._stopped = True
        ends = yield self._kernel.env.all_of(self._loops)
        cause = latest((cause, *ends.values()))
        known = self._parameters
        for place, data in sorted(self._written.items()):
            lba = known.area_first + place * known.blocks
            cause = yield from self._compare(lba, data, cause)
        return cause

    def _loop(
        self, turn: Callable[[Cause], Generator[Any, Any, Cause]], cause: Cause
    ) -> Generator[Any, Any, Cause]:
        while not self._stopped:
            cause = yield from turn(cause)
        return cause

    def _read(self, cause: Cause) -> Generator[Any, Any, Cause]:
        known, start_ps = self._parameters, cause.at_ps
        lba = int(self._random.integers(known.extent_blocks - known.blocks + 1))
        data = self._expected(lba * known.lba_bytes, known.blocks * known.lba_bytes)
        cause = yield from self._compare(lba, data, cause)
        self._has_read(start_ps, cause)
        return cause

    def _write(self, cause: Cause) -> Generator[Any, Any, Cause]:
        known, start_ps = self._parameters, cause.at_ps
        place = self._free.pop(int(self._random.integers(len(self._free))))
        data = self._random.bytes(known.blocks * known.lba_bytes)
        cause = yield from write_blocks(
            self._driver,
            known.area_first + place * known.blocks,
            data,
            known.lba_bytes,
            cause,
            request=BACKGROUND_REQUEST,
        )
        self._written[place] = data
        self._free.append(place)
        self._has_written(start_ps, cause)
        return cause
