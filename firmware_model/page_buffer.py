"""The page buffer in the SSD's DRAM: frames of flash pages, pinned while in use."""

from collections.abc import Generator, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from firmware_model.events import Landing
from firmware_model.hash_chains import HashChains
from firmware_model.replacement import POLICIES
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

    The value of ``landed`` is (ok, Cause).
    """

    first: int
    count: int
    landed: Landing
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


class PageBuffer:
    """``capacity`` frames, found by logical page number.

    A frame is claimed (pinned) before it is used and released after. An unpinned frame keeps its
    page until a page without a frame needs one, and the policy chooses this one. When all frames
    are pinned, claims wait in order (those of one page together), and a release hands the frame
    over to the first of them at once, whatever the policy. Whoever holds a pin must not claim
    another frame before it is released; then every wait ends. No time passes here but in such
    waits: the steps are :class:`~firmware_model.page_reader.PageReader`'s, and
    :mod:`firmware_model.buffer_work` says what they have to do.

    Parameters
    ----------
    env : simpy.Environment
    layout : PageLayout
    capacity : int
        Frames, at least 1.
    policy : str
        Who leaves, one of :data:`~firmware_model.replacement.POLICIES`.
    """

    def __init__(self, env: Any, layout: PageLayout, capacity: int, policy: str = "lru") -> None:
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
        self._waiting: dict[int, list[Any]] = {}
        self.hashes = HashChains(capacity)
        self.replacement = POLICIES[policy](capacity)

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
        if not self._waiting:
            self.replacement.rest(frame.page)
            return
        # No other frame is idle, and no waiting page has a frame: this one goes to the first.
        page = next(iter(self._waiting))
        turns = self._waiting.pop(page)
        self.replacement.hand_over(frame.page, page)
        self._remove(frame.page)
        granted = self._add(page, pins=len(turns))
        self.hand_overs += 1
        for turn in turns:
            turn.succeed(Claim(granted, cause, waited=True))

    def _take(self, page: int) -> Frame | None:
        """Pin ``page``'s frame, or a new one; None if all are pinned (as while anybody waits)."""
        frame = self._frames.get(page)
        if frame is not None:
            self.replacement.use(page)
            frame.pins += 1
            return frame
        if self.has_fresh:
            self.replacement.enter(page)
        elif self.replacement.has_idle:
            self._remove(self.replacement.replace(page))
        else:
            return None
        return self._add(page, pins=1)

    def _add(self, page: int, *, pins: int) -> Frame:
        frame = Frame(page, bytearray(self._layout.page_bytes), pins=pins)
        self._frames[page] = frame
        self.hashes.add(page)
        return frame

    def _remove(self, page: int) -> None:
        del self._frames[page]
        self.hashes.remove(page)
        self.evictions += 1

    def begin_fill(self, frame: Frame, pairs: int) -> Fill:
        """Announce a read of the codeword pairs from the first to the last of ``pairs``."""
        first = (pairs & -pairs).bit_length() - 1
        fill = Fill(first, pairs.bit_length() - first, Landing())
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
        fill.landed.happen(self._env, (raw is not None, cause))
