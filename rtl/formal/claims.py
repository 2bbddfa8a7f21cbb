"""Claims about a flash-channel controller; each adds its assertions to a :class:`ChannelCheck`."""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.onfi import Opcode
from rtl.formal.monitors import claim_distance, claim_stable, transfers

__all__ = [
    "BusEvents",
    "completes_once",
    "completes_within",
    "completions_are_stable",
    "distance_claim",
    "drivers_never_fight",
    "finishes_each",
    "one_chip_enable",
    "reaches_a_completion",
]

IN_FLIGHT_BITS = 3


class BusEvents(wiring.Component):
    """Edges of the bus, read from the pins alone.

    Members
    -------
    ce_n, cle, ale, we_n, re_n, dq_o, dq_oe, dqs_o, dqs_oe : In
        As in :class:`PhySignature`, of a channel of any ways; ``ce_n`` is high if all are.
    ce_fell, ce_rose : Out(1)
        The first clock of each level of CE#.
    we_fell, we_rose, we_is_low : Out(1)
        The first clock of each level of WE#; WE# is low.
    opcode : Out(8)
        The last command byte that was latched, in the clock of the latch already.
    command, address : Out(1)
        The edge that ends this clock latches a command, or an address byte.
    re_fell : Out(1)
        The first clock of a burst.
    changed : Out(1)
        The first clock of another byte, or latch enable, than in the clock before.
    data : Out(1)
        RE# has data edges in this clock.
    re_is_idle : Out(1)
        RE# is high, or no CE# is low.
    dqs_rose, dqs_fell : Out(1)
        The first clock in which DQS is driven, and in which it is not.
    written : Out(1)
        DQS has data edges in this clock.
    """

    def __init__(self, phases):
        if phases != 2:
            raise ValueError(f"Phases must be 2, a data edge of RE# each way, not {phases!r}")
        ins = dict.fromkeys(("ce_n", "cle", "ale", "we_n"), In(1))
        outs = ("we_fell", "we_rose", "we_is_low", "command", "address", "re_fell", "data")
        outs += ("ce_fell", "ce_rose", "changed", "re_is_idle", "dqs_rose", "dqs_fell", "written")
        super().__init__(
            ins
            | {"re_n": In(phases), "dq_o": In(8), "opcode": Out(8), "dqs_o": In(phases)}
            | dict.fromkeys(("dq_oe", "dqs_oe"), In(1))
            | dict.fromkeys(outs, Out(1))
        )

    def elaborate(self, platform):
        m = Module()
        we_was_low, re_was_idle, held = Signal(), Signal(init=1), Signal(8)
        is_burst, ce_was_high, dqs_was_on = Signal(), Signal(init=1), Signal()
        byte = Cat(self.cle, self.ale, self.dq_o, self.dq_oe)
        before = Signal(len(byte))
        m.d.sync += [
            we_was_low.eq(self.we_is_low),
            re_was_idle.eq(~is_burst),
            held.eq(self.opcode),
            ce_was_high.eq(self.ce_n),
            before.eq(byte),
            dqs_was_on.eq(self.dqs_oe),
        ]
        m.d.comb += [
            self.we_is_low.eq(~self.we_n & ~self.ce_n),
            self.we_fell.eq(self.we_is_low & ~we_was_low),
            self.we_rose.eq(self.we_n & we_was_low),
            self.command.eq(self.we_rose & self.cle),
            self.address.eq(self.we_rose & self.ale),
            self.opcode.eq(held),
            is_burst.eq(~self.ce_n & ~self.re_n.all()),
            self.re_fell.eq(is_burst & re_was_idle),
            self.data.eq(is_burst & (self.re_n == 0b01)),
            self.re_is_idle.eq(~is_burst),
            self.ce_fell.eq(~self.ce_n & ce_was_high),
            self.ce_rose.eq(self.ce_n & ~ce_was_high),
            self.changed.eq(byte != before),
            self.dqs_rose.eq(self.dqs_oe & ~dqs_was_on),
            self.dqs_fell.eq(~self.dqs_oe & dqs_was_on),
            self.written.eq(self.dqs_oe & (self.dqs_o == 0b01)),
        ]
        with m.If(self.command):
            m.d.comb += self.opcode.eq(self.dq_o)
        return m


def _events(m, check):
    phy = check.controller.phy
    m.submodules.events = events = BusEvents(len(phy.re_n))
    m.d.comb += events.ce_n.eq(phy.ce_n.all())
    m.d.comb += [
        getattr(events, name).eq(getattr(phy, name))
        for name in ("cle", "ale", "we_n", "re_n", "dq_oe", "dqs_o", "dqs_oe")
    ]
    m.d.comb += events.dq_o.eq(phy.dq_o[:8])
    return events


def _confirm(bus, opcode):
    return bus.command & (bus.opcode == opcode)


DISTANCES = {
    "t_wp_ps": (lambda bus: bus.we_fell, lambda bus: bus.we_rose),
    "t_wh_ps": (lambda bus: bus.we_rose, lambda bus: bus.we_fell),
    "t_wc_ps": (lambda bus: bus.we_rose, lambda bus: bus.we_rose),
    "t_cs_ps": (lambda bus: bus.ce_fell, lambda bus: bus.we_rose | bus.re_fell),
    "t_ch_ps": (lambda bus: bus.we_rose | bus.data, lambda bus: bus.ce_rose),
    "t_cals_ps": (lambda bus: bus.changed, lambda bus: bus.we_rose),
    "t_cah_ps": (lambda bus: bus.we_rose, lambda bus: bus.changed),
    "t_wb_ps": (lambda bus: _confirm(bus, Opcode.READ_CONFIRM), lambda bus: bus.we_is_low),
    "t_whr_ps": (
        lambda bus: bus.address & (bus.opcode == Opcode.READ_STATUS_ENHANCED),
        lambda bus: bus.re_fell,
    ),
    "t_ccs_ps": (
        lambda bus: _confirm(bus, Opcode.CHANGE_READ_COLUMN_CONFIRM),
        lambda bus: bus.re_fell,
    ),
    "t_rhw_ps": (lambda bus: bus.data, lambda bus: bus.we_fell),
    "t_rpre_ps": (lambda bus: bus.re_fell, lambda bus: bus.data),
    "t_rpst_ps": (lambda bus: bus.data, lambda bus: bus.re_is_idle),
    "t_adl_ps": (
        lambda bus: bus.address & (bus.opcode == Opcode.PROGRAM),
        lambda bus: bus.dqs_rose,
    ),
    "t_wpre_ps": (lambda bus: bus.dqs_rose, lambda bus: bus.written),
    "t_wpst_ps": (lambda bus: bus.written, lambda bus: bus.dqs_fell),
}
"""First and last event of each time of a part, as ``docs/bus-rules.md`` counts them."""


def distance_claim(name):
    """Claim that the controller keeps the time ``name`` of its part.

    tWB is counted to the next write cycle of any way: with one way, whatever comes next is for the
    LUN that must not be asked yet.
    """
    start, end = DISTANCES[name]

    def claim(m, check):
        bus = _events(m, check)
        times = check.part if hasattr(check.part, name) else check.part.extended
        claim_distance(m, start(bus), end(bus), check.clocks(getattr(times, name)))

    return claim


def completions_are_stable(m, check):
    """A completion on offer stays, unchanged, until it is taken."""
    claim_stable(m, check.controller.completions)


def one_chip_enable(m, check):
    """At most one CE# is low."""
    low = ~check.controller.phy.ce_n
    m.d.comb += Assert((low & (low - 1))[: len(low)] == 0)


def drivers_never_fight(m, check):
    """Controller and dies never drive DQ or DQS together, nor do two dies."""
    phy = check.controller.phy
    m.d.comb += [
        Assert(~((phy.dq_oe | phy.dqs_oe) & phy.die_oe.any())),
        Assert((phy.die_oe & (phy.die_oe - 1))[: len(phy.die_oe)] == 0),
    ]


def completes_once(m, check):
    """Completions never outnumber the commands that were taken, whoever they answer."""
    commands, completions = check.controller.commands, check.controller.completions
    in_flight = Signal(IN_FLIGHT_BITS)
    m.d.sync += in_flight.eq(in_flight + transfers(commands) - transfers(completions))
    m.d.comb += [Assert(~transfers(completions) | (in_flight != 0)), Assert(~in_flight.all())]


def completes_within(bound):
    """Claim that a command completes once, with its tag, at most ``bound`` clocks after it came.

    For a :class:`ChannelCheck` with one command at a time.
    """

    def claim(m, check):
        commands, completions = check.controller.commands, check.controller.completions
        is_open, tag, waited = Signal(), Signal(16), Signal(range(bound + 1))
        ended = transfers(completions)
        with m.If(transfers(commands)):
            m.d.sync += [is_open.eq(1), tag.eq(commands.payload.tag), waited.eq(0)]
        with m.Elif(is_open):
            m.d.sync += [is_open.eq(~ended), waited.eq(waited + 1)]
        with m.If(ended):
            m.d.comb += Assert(is_open & (completions.payload.tag == tag))
        m.d.comb += Assert(~is_open | (waited != bound))

    return claim


def finishes_each(operations):
    """Not a claim but a goal for each of ``operations``: it completes, first of all commands."""

    def goal(m, check):
        commands, completions = check.controller.commands, check.controller.completions
        operation, is_later = Signal(ChannelOperation), Signal()
        with m.If(transfers(commands) & ~is_later):
            m.d.sync += [operation.eq(commands.payload.operation), is_later.eq(1)]
        is_ok = completions.payload.status == ChannelStatus.OK
        for code in operations:
            m.d.comb += Cover(transfers(completions) & is_ok & (operation == code))

    return goal


def reaches_a_completion(m, check):
    """Not a claim but a goal: some read completes, so the other claims are about something."""
    completions = check.controller.completions
    m.d.comb += Cover(transfers(completions) & (completions.payload.status == ChannelStatus.OK))
