"""The kernel's answers to the dies of one channel."""

from collections.abc import Callable
from typing import Any

from cosim.lockstep import LockStep
from cosim.units.fields import FieldReader
from rtl.contract.channel import ArrayDone
from rtl.contract.codec import pack

__all__ = ["Answers"]

_DONE = FieldReader(ArrayDone)


class Answers:
    """Writes ``ArrayDone`` words into a channel's mailbox vector, a word a LUN.

    Of two answers to a LUN within one clock period only the later one is ever seen: no edge lies
    between them, and it takes the place of the other.

    Parameters
    ----------
    lockstep : LockStep
        Takes the writes.
    mailbox : Any
        The channel's ``array_done``.
    period_ps : int
        Of the channel's clock.
    """

    def __init__(self, lockstep: LockStep, mailbox: Any, period_ps: int) -> None:
        self._lockstep = lockstep
        self._env = lockstep.kernel.env
        self._mailbox = mailbox
        self._period_ps = period_ps
        self._periods: dict[int, int] = {}
        """Clock period of the last answer to each LUN."""

    def send(
        self,
        place: int,
        number: int,
        *,
        before: Callable[[], None] | None = None,
        is_cached: bool = False,
        fail: bool = False,
        failc: bool = False,
    ) -> None:
        """Answer operation ``number`` of LUN ``place`` of the channel now.

        ``before`` is called first: it writes what lies in page registers with the answer.
        """

        def write() -> None:
            if before is not None:
                before()
            shift, period = _DONE.bits * place, int(self._env.now) // self._period_ps
            old = self._mailbox.value >> shift & (1 << _DONE.bits) - 1
            is_first = self._periods.get(place) != period
            self._periods[place] = period
            word = pack(
                ArrayDone,
                number=number,
                toggle=_DONE.get(old, "toggle") != is_first,
                is_cached=is_cached,
                fail=fail,
                failc=failc,
            )
            new = int.from_bytes(word, "little")
            self._mailbox.set(self._mailbox.value ^ (old ^ new) << shift)

        self._lockstep.post(write)
