"""Bus driver: plays ONFI cycles as clock-by-clock levels of the controller's pins.

A waveform is a list of dictionaries, one a clock, with the names of ``PhySignature``. Every time is
taken from the part at its exact limit unless a keyword says otherwise, so that a test shortens one
time of one cycle and leaves all others legal.
"""

from dataclasses import replace

from rtl.contract.nand_part import NandPart, cycles
from rtl.contract.onfi import Opcode, row_address

PERIOD_PS = 10_000
PART = NandPart(
    name="bus-test",
    page_bytes=512,
    spare_bytes=64,
    pages_per_block=4,
    blocks_per_lun=3,
    luns=2,
    t_r_ps=400_000,
    t_wc_ps=40_000,
    t_wp_ps=20_000,
    t_wh_ps=15_000,
    t_cs_ps=35_000,
    t_ch_ps=25_000,
    t_cals_ps=18_000,
    t_cah_ps=11_000,
    t_wb_ps=95_000,
    t_rr_ps=25_000,
    t_whr_ps=75_000,
    t_ccs_ps=130_000,
    t_rhw_ps=95_000,
    t_rpre_ps=15_000,
    t_rpst_ps=35_000,
    t_dqsre_ps=25_000,
    poll_first_ps=300_000,
    poll_period_ps=200_000,
)
"""Two LUNs of 12 pages of 576 bytes; every time is different in clocks or not a multiple of one."""

NO_STROBE = {"t_rpre_ps": None, "t_rpst_ps": None, "t_dqsre_ps": None}
"""What a part on an SDR bus does not have."""


def one_lun(part=PART):
    return replace(part, luns=1)


def strobe_levels(count, phases):
    """A strobe's levels, clock by clock, that move ``count`` bytes; phase 0 in the lowest bit."""
    levels = [1 - index % 2 for index in range(count)]
    levels += [0] * (-count % phases)
    return [
        sum(level << phase for phase, level in enumerate(levels[at : at + phases]))
        for at in range(0, count, phases)
    ]


class OnfiBus:
    """Builds a waveform; ``edge`` is the number of the edge that ends the next clock added.

    Parameters
    ----------
    part, period_ps, ways, phases
        As for the components.
    """

    def __init__(self, part=PART, period_ps=PERIOD_PS, ways=2, phases=2):
        self.part = part
        self.ways = ways
        self.phases = phases
        self.clocks = []
        self._period_ps = period_ps
        self._none = (1 << ways) - 1
        self._idle_re = (1 << phases) - 1
        self.pins = {
            "ce_n": self._none,
            "cle": 0,
            "ale": 0,
            "we_n": 1,
            "re_n": self._idle_re,
            "dq_o": 0,
            "dq_oe": 0,
        }
        self.rise = -1000
        """Edge of the last WE# rising."""
        self.last_data = -1000
        """Clock of the last RE# edge of the last burst."""
        self._select_edge = 0
        self.tick(2)

    @property
    def edge(self):
        return len(self.clocks)

    def limit(self, name):
        """Clocks of one of the part's times: ``limit("wb")``."""
        return cycles(getattr(self.part, f"t_{name}_ps"), self._period_ps)

    def tick(self, count=1, **pins):
        """Hold the pins, with these changed, for some clocks."""
        self.pins.update(pins)
        self.clocks += [dict(self.pins) for _ in range(count)]

    def until(self, edge):
        """Idle until clock ``edge`` is the next one."""
        self.tick(max(0, edge - self.edge))

    def select(self, way, cs=None):
        """Take CE# low, early enough that the next cycle's WE# rises tCS later."""
        self._select_edge = self.edge
        self.pins["ce_n"] = self._none & ~(1 << way)
        pre = max(self.limit("wp"), self.limit("cals"))
        self.tick((self.limit("cs") if cs is None else cs) - pre)

    def deselect(self, ch=None):
        """Raise CE# tCH after the last cycle or burst; harmless if it is high."""
        if self.pins["ce_n"] != self._none:
            last = max(self.rise, self.last_data)
            self.until(last + (self.limit("ch") if ch is None else ch))
        self.tick(ce_n=self._none)

    def cycle(self, byte, *, cle=0, ale=0, low=None, setup=None, hold=None, high=None, oe=1):
        """One write cycle; returns the edge that samples WE# high. Times are in clocks."""
        low = self.limit("wp") if low is None else low
        setup = self.limit("cals") if setup is None else setup
        hold = self.limit("cah") if hold is None else hold
        pre = max(low, setup)
        if high is None:
            high = max(self.limit("wh") - (pre - low), hold, self.limit("wc") - pre)
        for left in range(pre, -high, -1):
            driven = -hold < left <= setup
            self.tick(
                we_n=int(not 0 < left <= low),
                cle=cle * driven,
                ale=ale * driven,
                dq_o=byte * driven,
                dq_oe=oe * driven,
            )
        self.pins.update(cle=0, ale=0, dq_o=0, dq_oe=0)
        self.rise = self.edge - high
        return self.rise

    def command(self, opcode, **times):
        return self.cycle(opcode, cle=1, **times)

    def address(self, value, count, **times):
        for index in range(count):
            self.cycle(value >> 8 * index & 0xFF, ale=1, **times)
        return self.rise

    def page(self, lun, row, column=0):
        """The five address cycles of a page."""
        return self.address(column | row_address(self.part, lun, row) << 16, 5)

    def begin(self, way, rhw=None):
        """Select a way for a new command, tRHW after the last burst."""
        self.deselect()
        lead = self.limit("cs") - self.limit("wp")
        self.until(self.last_data + (self.limit("rhw") if rhw is None else rhw) - lead)
        self.select(way)

    def read(self, way, lun, row, column):
        """00h, five addresses, 30h; returns the edge of the confirm cycle."""
        self.begin(way)
        self.command(Opcode.READ)
        self.page(lun, row, column)
        confirm = self.command(Opcode.READ_CONFIRM)
        self.deselect()
        return confirm

    def choose(self, way, lun, row, column, opcode=Opcode.CHANGE_READ_COLUMN_ENHANCED):
        """05h (06h), five addresses, E0h; leaves CE# low; returns the edge of the last cycle."""
        self.begin(way)
        self.command(opcode)
        self.page(lun, row, column)
        return self.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)

    def burst(self, count, *, rpre=None, rpst=None):
        """RE# for ``count`` bytes, then CE# high; returns the first clock with RE# low."""
        start = self.edge
        self.tick(self.limit("rpre") if rpre is None else rpre, re_n=0)
        for level in strobe_levels(count, self.phases):
            self.tick(re_n=level)
        self.last_data = self.edge - 1
        self.tick(self.limit("rpst") if rpst is None else rpst, re_n=0)
        self.tick(re_n=self._idle_re, ce_n=self._none)
        return start

    def transfer(self, way, lun, row, column, count, *, ccs=None, **times):
        """05h-E0h, tCCS, a burst; returns the first clock with RE# low."""
        confirm = self.choose(way, lun, row, column)
        self.until(confirm + (self.limit("ccs") if ccs is None else ccs))
        return self.burst(count, **times)

    def status(self, way, *, whr=None, count=2):
        """70h, tWHR, a burst of status bytes; returns the first clock with RE# low."""
        self.begin(way)
        rise = self.command(Opcode.READ_STATUS)
        self.until(rise + (self.limit("whr") if whr is None else whr))
        return self.burst(count)

    def status_enhanced(self, way, lun, row, *, whr=None, count=2):
        """78h, three row addresses, tWHR, a burst of status bytes; returns as :meth:`status`."""
        self.begin(way)
        self.command(Opcode.READ_STATUS_ENHANCED)
        rise = self.address(row_address(self.part, lun, row), 3)
        self.until(rise + (self.limit("whr") if whr is None else whr))
        return self.burst(count)

    def reset(self, way):
        """FFh; returns the edge that takes it."""
        self.begin(way)
        rise = self.command(Opcode.RESET)
        self.deselect()
        return rise
