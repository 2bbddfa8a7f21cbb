"""The latest places on a DRAM's data bus, and its latest activates. Simulation only."""

from itertools import pairwise

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.dram import SETTLED

__all__ = ["TIME_BITS", "ActivatePlaces", "DataPlaces", "later", "plus"]

TIME_BITS = 64
WINDOW = 4
"""Activates that tFAW may hold."""


def later(left, right):
    """The later of two times."""
    return Mux(left > right, left, right)


def earlier(left, right):
    """The earlier of two times."""
    return Mux(left < right, left, right)


def plus(time, duration_ps):
    """A sum that stays as wide as a time: simulators are slow on words of more than 64 bits."""
    return (time + duration_ps)[:TIME_BITS]


class Places(wiring.Component):
    """A sorted list of the latest times that are taken; they are never moved.

    One more takes the earliest time that is free, in front of at most ``reorder`` of them.

    Parameters
    ----------
    times : DramTimes
        The rules.
    kind : dict
        What an entry has beside its time.

    Members
    -------
    ready : In(64)
        Earliest time that is asked for.
    kind : In
        Of what asks.
    found : Out(64)
        In the same clock: the earliest time that is free.
    put : In(1)
        Take the time found in this clock, or
    last : In(1), at : In(64)
        the time ``at``, which is behind all others.
    """

    def __init__(self, times, kind):
        self._times = times
        self._kind = data.StructLayout({name: max(bits, 1) for name, bits in kind.items()})
        super().__init__(
            {
                "ready": In(TIME_BITS),
                "kind": In(self._kind),
                "found": Out(TIME_BITS),
                "put": In(1),
                "last": In(1),
                "at": In(TIME_BITS),
            }
        )

    def _apart(self, m, number, entry):
        """Least times from an entry to what asks, and from what asks to the entry."""
        raise NotImplementedError

    def _least(self, entries, place):
        """What else bounds a time behind entry ``place`` from below."""
        return 0

    def _free(self, entries, place, time):
        """Whether nothing else forbids ``time``, behind entry ``place``."""
        return Const(1)

    def elaborate(self, platform):
        m = Module()
        depth = self._times.reorder + SETTLED
        shape = data.StructLayout({"valid": 1, "time": TIME_BITS, "kind": self._kind})
        # The last one is the latest. What is not valid yet is in front.
        entries = [Signal(shape, name=f"entry{n}") for n in range(depth)]
        from_here, limits = [], []
        for number, entry in enumerate(entries):
            behind, front = self._apart(m, number, entry)
            from_here.append(Mux(entry.valid, plus(entry.time, behind), 0))
            # A time must be below it, so that 0 stands for no time at all.
            limits.append(Mux(entry.time >= front, entry.time + 1 - front, 0)[:TIME_BITS])
        least = self._running(m, "least", [later(self.ready, from_here[0]), *from_here[1:]], later)
        below = self._running(m, "below", limits[::-1], earlier)[::-1]
        self._choose(m, entries, least, below)
        return m

    def _running(self, m, name, values, join):
        """Each of ``values`` joined with all before it."""
        joined = []
        for number, value in enumerate(values):
            signal = Signal(TIME_BITS, name=f"{name}{number}")
            m.d.comb += signal.eq(join(joined[-1], value) if joined else value)
            joined.append(signal)
        return joined

    def _choose(self, m, entries, least, below):
        """Find the first place where one more fits, and put it there."""
        depth = len(entries)
        chosen, options = Signal(range(depth)), []
        for place in range(SETTLED - 1, depth):
            time = Signal(TIME_BITS, name=f"time{place}")
            m.d.comb += time.eq(later(least[place], self._least(entries, place)))
            free = self._free(entries, place, time)
            if place < depth - 1:
                free = free & entries[place + 1].valid & (time < below[place + 1])
            options.append((place, time, free))
        for place, time, free in options:
            with m.If(free) if place == SETTLED - 1 else m.Elif(free):
                m.d.comb += [self.found.eq(time), chosen.eq(place)]
        new, where = Signal.like(entries[0], name="new"), Signal.like(chosen, name="where")
        m.d.comb += [
            where.eq(Mux(self.last, depth - 1, chosen)),
            new.valid.eq(1),
            new.time.eq(Mux(self.last, self.at, self.found)),
            new.kind.eq(self.kind),
        ]
        with m.If(self.put):
            for place, (here, above) in enumerate(pairwise([*entries, new])):
                with m.If(where == place):
                    m.d.sync += here.eq(new)
                with m.Elif(where > place):
                    m.d.sync += here.eq(above)


class DataPlaces(Places):
    """Begins of the data of accesses; an entry's kind is ``write`` and ``group``."""

    def __init__(self, times):
        super().__init__(times, {"write": 1, "group": (times.groups - 1).bit_length()})

    def _apart(self, m, number, entry):
        same = entry.kind.group == self.kind.group

        def apart(first, second):
            far, near = (
                self._times.apart_ps(first, second, same_group=alike) for alike in (False, True)
            )
            return Mux(same, near, far)

        behind = Signal(TIME_BITS, name=f"behind{number}")
        front = Signal(TIME_BITS, name=f"front{number}")
        for mine in (False, True):
            for other in (False, True):
                with m.If((self.kind.write == mine) & (entry.kind.write == other)):
                    m.d.comb += [behind.eq(apart(other, mine)), front.eq(apart(mine, other))]
        return behind, front


class ActivatePlaces(Places):
    """Times of activates; an entry's kind is its ``group``. No five in a window of tFAW."""

    def __init__(self, times):
        super().__init__(times, {"group": (times.groups - 1).bit_length()})

    def _apart(self, m, number, entry):
        far, near = self._times.t_rrd_ps, max(self._times.t_rrd_ps, self._times.t_rrd_l_ps)
        apart = Mux(entry.kind.group == self.kind.group, near, far)
        return apart, apart

    def _least(self, entries, place):
        first = entries[place + 1 - WINDOW]
        return Mux(first.valid, plus(first.time, self._times.t_faw_ps), 0)

    def _free(self, entries, place, time):
        free = Const(1)
        for last in range(place + 1, min(place + WINDOW, len(entries))):
            first = entries[last + 1 - WINDOW]
            window = plus(first.time, self._times.t_faw_ps)
            free = free & (~first.valid | (window <= entries[last].time))
        if place + WINDOW < len(entries):
            free = free & (plus(time, self._times.t_faw_ps) <= entries[place + WINDOW].time)
        return free
