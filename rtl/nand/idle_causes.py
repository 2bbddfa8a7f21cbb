"""What each LUN of a channel is about, as seen from outside its controller; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.bus_causes import BusCause
from rtl.contract.channel import COMMANDS_PER_LUN

__all__ = ["IdleCauses"]


class IdleCauses(wiring.Component):
    """Follows plain reads and says why the bus would be idle.

    Parameters
    ----------
    luns : int
        LUNs of the channel.
    is_polled : bool
        A page that is ready counts as known only once a status poll has said so.

    Members
    -------
    handed_over, confirmed, chosen : In(luns)
        Strobes: a command came into the channel; its 30h, or the E0h of its transfer, is latched.
    sensed : In(luns)
        Toggles: the array is done.
    asked : Out(luns)
        Register, written by whoever follows the bus: the LUN of the latest 78h.
    says_ready : In(1)
        The answer to it has RDY.
    landing_is_free : In(1)
    idle : Out(BusCause)
        One of :data:`rtl.contract.bus_causes.IDLE`.
    """

    def __init__(self, luns, *, is_polled):
        self._luns = luns
        self._is_polled = is_polled
        super().__init__(
            {
                "handed_over": In(luns),
                "confirmed": In(luns),
                "chosen": In(luns),
                "sensed": In(luns),
                "asked": In(luns),
                "says_ready": In(1),
                "landing_is_free": In(1),
                "idle": Out(BusCause),
            }
        )

    def elaborate(self, platform):
        m = Module()
        waiting = Signal(self._luns)
        sensing, ready, known = (Signal(self._luns) for _ in range(3))
        seen, done = Signal(self._luns), Signal(self._luns)
        m.d.comb += done.eq((self.sensed ^ seen) & sensing)
        m.d.sync += [
            seen.eq(self.sensed),
            sensing.eq((sensing | self.confirmed) & ~done),
            ready.eq((ready | done) & ~self.chosen),
        ]
        if self._is_polled:
            told = Signal(self._luns)
            m.d.sync += told.eq((told | self.asked & self.says_ready.replicate(self._luns)) & ready)
            m.d.comb += known.eq(told & ready)
        else:
            m.d.comb += known.eq(ready)
        self._count_waiting(m, waiting)
        may_begin = (waiting & ~sensing & ~ready).any()
        with m.If(may_begin | (known.any() & self.landing_is_free)):
            m.d.comb += self.idle.eq(BusCause.DECISION)
        with m.Elif(known.any()):
            m.d.comb += self.idle.eq(BusCause.NO_LANDING_SLOT)
        with m.Elif(ready.any()):
            m.d.comb += self.idle.eq(BusCause.NOT_POLLED)
        with m.Elif(sensing.any()):
            m.d.comb += self.idle.eq(BusCause.SENSING)
        with m.Else():
            m.d.comb += self.idle.eq(BusCause.NO_COMMAND)
        return m

    def _count_waiting(self, m, waiting):
        """Commands that came in and have not had their 30h: one at work does not wait."""
        counts = [Signal(range(COMMANDS_PER_LUN + 1), name=f"count{n}") for n in range(self._luns)]
        m.d.comb += waiting.eq(Cat(*(count.any() for count in counts)))
        for lun, count in enumerate(counts):
            m.d.sync += count.eq(count + self.handed_over[lun] - self.confirmed[lun])
