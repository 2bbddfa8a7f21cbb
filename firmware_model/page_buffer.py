"""The page buffer in the SSD's DRAM: frames of flash pages, pinned while in use, LRU otherwise."""

from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout

__all__ = ["Claim", "Fill", "Frame", "PageBuffer", "pair_mask"]


def pair_mask(layout: PageLayout, first_byte: int, length: int) -> int:
    """Bit mask of the codeword pairs that hold data bytes ``first_byte`` and following."""
    pair = 2 * layout.chunk_bytes
    first, last = first_byte // pair, (first_byte + length - 1) // pair
    return (1 << last + 1) - (1 << first)


@dataclass(eq=False)
class Fill:
    """A flash read on its way into a frame; ``pairs`` are the codeword pairs that it brings.

    ``landed`` is a SimPy event whose value is (ok, Cause).
    """

    first: int
    count: int
    landed: Any
    waiting: int = 0
    """Jobs that wait for it beside the one that asked for it."""

    @property
    def pairs(self) -> int:
        return (1 << self.count) - 1 << self.first


@dataclass(eq=False)
class Frame:
    """Room for the data of one page, parity already removed."""

    page: int
    data: bytearray
    valid: int = 0
    """Bit mask of the codeword pairs that hold data."""
    pins: int = 0
    fills: list[Fill] = field(default_factory=list)

    @property
    def arriving(self) -> int:
        """Bit mask of the codeword pairs that reads in flight will bring."""
        pairs = 0
        for fill in self.fills:
            pairs |= fill.pairs
        return pairs


class Claim(NamedTuple):
    """A frame, pinned, and what let the claim end."""

    frame: Frame
    cause: Cause
    waited: bool
    """Whether all frames had been pinned."""


class HashChains:
    """The hash table in which frames are found: chains of pages, new ones first.

    There is a power of two of them, at least one a frame; the low bits of a page number choose.
    """

    def __init__(self, frames: int) -> None:
        self.mask = (1 << (frames - 1).bit_length()) - 1
        self._chains: dict[int, list[int]] = {}

    def chain(self, page: int) -> Sequence[int]:
        """Pages of the chain in which ``page`` is, or would be."""
        return self._chains.get(page & self.mask, ())

    def add(self, page: int) -> None:
        self._chains.setdefault(page & self.mask, []).insert(0, page)

    def remove(self, page: int) -> None:
        self._chains[page & self.mask].remove(page)


class PageBuffer:
    """``capacity`` frames, found by logical page number.

    A frame is claimed (pinned) before it is used and released after. An unpinned frame keeps its
    page until it is the least recently used one and a page without a frame needs it. When all
    frames are pinned, claims wait in order (those of one page together), and a release hands the
    frame over to the first of them at once. Whoever holds a pin must not claim another frame
    before it is released; then every wait ends. No time passes here but in such waits: the steps
    are :class:`~firmware_model.page_reader.PageReader`'s, and :mod:`firmware_model.buffer_work`
    says what they have to do.

    Parameters
    ----------
    env : simpy.Environment
    layout : PageLayout
    capacity : int
        Frames, at least 1.
    """

    def __init__(self, env: Any, layout: PageLayout, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least one page, not {capacity!r}")
        self.evictions = 0
        self.hand_overs = 0
        """Evictions by a release, for a page that waited."""
        self.full_waits = 0
        """Claims that found all frames pinned."""
        self._env = env
        self._layout = layout
        self._capacity = capacity
        self._frames: dict[int, Frame] = {}
        self._idle: OrderedDict[int, Frame] = OrderedDict()
        self._waiting: dict[int, list[Any]] = {}
        self.hashes = HashChains(capacity)

    def __len__(self) -> int:
        return len(self._frames)

    def frame(self, page: int) -> Frame | None:
        """The frame of ``page``, if it has one."""
        return self._frames.get(page)

    @property
    def has_fresh(self) -> bool:
        """Whether there are frames that never held a page."""
        return len(self._frames) < self._capacity

    @property
    def oldest_idle(self) -> int | None:
        """The page that leaves next."""
        return next(iter(self._idle), None)

    @property
    def waiting(self) -> Mapping[int, Sized]:
        """Claims that wait for a frame, by page, in the order in which they get one."""
        return self._waiting

    def claim(self, page: int, cause: Cause) -> Generator[Any, Any, Claim]:
        """Pin the frame of ``page``, a fresh one if it has none; may wait for a release."""
        frame = self._take(page)
        if frame is not None:
            return Claim(frame, cause, waited=False)
        self.full_waits += 1
        turn = self._env.event()
        self._waiting.setdefault(page, []).append(turn)
        granted: Claim = yield turn
        return granted

    def release(self, frame: Frame, cause: Cause) -> None:
        """Unpin; ``cause`` is what ended the use, now."""
        if cause.at_ps != self._env.now:
            raise RuntimeError(f"Frame of page {frame.page} must be released when {cause} happened")
        if frame.pins < 1:
            raise RuntimeError(f"Frame of page {frame.page} must be pinned to be released")
        frame.pins -= 1
        if frame.pins:
            return
        self._idle[frame.page] = frame
        if self._waiting:
            # No other frame is idle, and no waiting page has a frame: this one goes to the first.
            page = next(iter(self._waiting))
            turns = self._waiting.pop(page)
            self._make_room()
            granted = self._add(page, pins=len(turns))
            self.hand_overs += 1
            for turn in turns:
                turn.succeed(Claim(granted, cause, waited=True))

    def _take(self, page: int) -> Frame | None:
        """Pin ``page``'s frame, or a new one; None if all are pinned (as while anybody waits)."""
        frame = self._frames.get(page)
        if frame is not None:
            self._idle.pop(page, None)
            frame.pins += 1
            return frame
        return self._add(page, pins=1) if self._make_room() else None

    def _add(self, page: int, *, pins: int) -> Frame:
        frame = Frame(page, bytearray(self._layout.page_bytes), pins=pins)
        self._frames[page] = frame
        self.hashes.add(page)
        return frame

    def _make_room(self) -> bool:
        if len(self._frames) < self._capacity:
            return True
        if not self._idle:
            return False
        page, _ = self._idle.popitem(last=False)
        del self._frames[page]
        self.hashes.remove(page)
        self.evictions += 1
        return True

    def begin_fill(self, frame: Frame, pairs: int) -> Fill:
        """Announce a read of the codeword pairs from the first to the last of ``pairs``."""
        first = (pairs & -pairs).bit_length() - 1
        fill = Fill(first, pairs.bit_length() - first, self._env.event())
        frame.fills.append(fill)
        return fill

    def end_fill(self, frame: Frame, fill: Fill, raw: bytes | None, cause: Cause) -> None:
        """Put whole codewords, as read from the first pair's column on, into the frame.

        The parity is removed here. ``None`` means that they could not be corrected: the pairs stay
        without data.
        """
        frame.fills.remove(fill)
        if raw is not None:
            start = fill.first * 2 * self._layout.chunk_bytes
            data = self._layout.strip(raw)
            frame.data[start : start + len(data)] = data
            frame.valid |= fill.pairs
        fill.landed.succeed((raw is not None, cause))
