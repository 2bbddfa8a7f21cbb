# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""One flash channel as the kernel sees it: controller, dies, checker and landing, by mailboxes."""

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.block import pins
from rtl.contract.channel import (
    COMMANDS_PER_LUN,
    STAMP_BITS,
    ChannelCommand,
    ChannelCounters,
    ChannelEvent,
)
from rtl.nand.checker import BusChecker
from rtl.nand.controller import FlashChannelController
from rtl.nand.die import NandDie
from rtl.nand.earliest import earliest
from rtl.nand.landing import Landing
from rtl.nand.launch import Launch
from rtl.nand.mailbox import Mailbox
from rtl.nand.own import OwnController

__all__ = ["FlashChannelUnit"]


class FlashChannelUnit(wiring.Component):
    """A channel for the co-simulation; ports and rules are those of ``docs/architecture.md``.

    What happens at edge n is in ``event``, and ``event_toggle`` has flipped, right after edge n;
    a completion happens when the controller hands it over, one edge after the transfer's last word
    of data. At one edge there is at most one of each kind: bus and checker work one by one, and
    begins are as far apart as the 30h cycles that caused them.

    Storage, below the unit: die w is ``die{w}``, its page registers ``die{w}.page{l}`` (see
    :class:`NandDie`), the landing memory ``landing.memory`` (see :class:`Landing`); the words are
    ``ram.mem`` in Verilog, and ``dies[w].pages[l].data`` and ``landing.storage.data`` in Amaranth's
    simulator. A part with times beyond the plain read has a launch memory, too: ``launch.memory``
    and ``launch.storage.data`` (see :class:`Launch`). Its slots are as many as those for landing;
    the kernel fills one before it hands over the command that names it, and may fill it again once
    that data is on the die: when its array operation begins, or the command has completed.

    Parameters
    ----------
    part, period_ps, ways, phases, slots, watchdog_ps, policy, suspends, code, encodes
        As in :class:`FlashChannelController`.
    are_erased : bool
        As in :class:`BusChecker`.
    emitted : bool
        For Verilog: each die is an instance of one module ``nand_die``, which ``die`` describes.
    identity : bytes
        What the dies answer to Read ID: see :class:`NandDie`.
    own : object or None
        A block in place of the controller, as of :class:`OwnController`.

    Members
    -------
    now, command, command_toggle, array_done, landing_free : In
    event, event_toggle, quiet, wake_edge, counters : Out
    """

    def __init__(
        self,
        part,
        *,
        period_ps,
        ways,
        phases=2,
        slots=2,
        watchdog_ps=None,
        policy="round-robin",
        suspends=0,
        code=None,
        encodes=False,
        are_erased=False,
        emitted=False,
        identity=b"",
        own=None,
    ):
        self._ways = ways
        self._luns = part.luns
        self._emitted = emitted
        arguments = {
            "part": part,
            "period_ps": period_ps,
            "ways": ways,
            "phases": phases,
            "slots": slots,
            "watchdog_ps": watchdog_ps,
            "policy": policy,
            "suspends": suspends,
            "code": code,
            "encodes": encodes,
        }
        self.controller = FlashChannelController(**arguments)
        if own is not None:
            if own.is_verilog and not emitted:
                raise ValueError("A controller in Verilog must run in a Verilog simulator")
            self.controller = OwnController(self.controller, own, arguments)
        self.checker = BusChecker(
            part,
            period_ps=period_ps,
            ways=ways,
            phases=phases,
            are_erased=are_erased,
            emitted=emitted,
        )
        self.landing = Landing(
            transfer_bytes=part.raw_page_bytes, slots=slots, phases=phases, emitted=emitted
        )
        self.launch = None
        if part.extended is not None:
            self.launch = Launch(
                transfer_bytes=part.raw_page_bytes, slots=slots, phases=phases, emitted=emitted
            )
        self.dies = [
            NandDie(
                part,
                period_ps=period_ps,
                ways=ways,
                phases=phases,
                emitted=emitted,
                identity=identity,
            )
            for _ in range(1 if emitted else ways)
        ]
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "command": In(ChannelCommand),
                "command_toggle": In(1),
                "array_done": In(16 * ways * part.luns),
                "landing_free": In(slots),
                "event": Out(ChannelEvent),
                "event_toggle": Out(1),
                "quiet": Out(1),
                "wake_edge": Out(STAMP_BITS, init=-1),
                "counters": Out(ChannelCounters),
            }
        )

    @property
    def die(self):
        """The die that the module ``nand_die`` is made from."""
        return self.dies[0]

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        m.submodules.checker = checker = self.checker
        m.submodules.landing = landing = self.landing
        m.submodules.mailbox = mailbox = Mailbox(
            ChannelCommand, depth=COMMANDS_PER_LUN * self._ways * self._luns
        )
        dies = self._dies(m)
        wiring.connect(m, mailbox.output, controller.commands)
        wiring.connect(m, controller.data, landing.data)
        if self.launch is not None:
            m.submodules.launch = launch = self.launch
            wiring.connect(m, launch.data, controller.launch)
            m.d.comb += launch.start.eq(controller.launch_start)
            m.d.comb += launch.slot.eq(controller.launch_slot)
        m.d.comb += [
            mailbox.word.eq(self.command),
            mailbox.toggle.eq(self.command_toggle),
            controller.now.eq(self.now),
            controller.landing_ready.eq(landing.ready),
            landing.take.eq(controller.landing_take),
            landing.free.eq(self.landing_free),
            self.counters.eq(controller.counters),
        ]
        # Nobody looks at it at other times, which are nearly all of a busy channel's.
        with m.If(self.quiet):
            m.d.comb += self.wake_edge.eq(
                earliest([controller.wake_edge, *(die.wake_edge for die in dies)])
            )
        all_quiet = Signal()
        # One edge more, for dies and checker to see how the bus came to rest.
        was_quiet = Signal()
        m.d.sync += was_quiet.eq(all_quiet)
        m.d.comb += [
            all_quiet.eq(
                controller.quiet
                & mailbox.quiet
                & landing.quiet
                & Cat(*(die.quiet for die in dies)).all()
            ),
            self.quiet.eq(all_quiet & was_quiet),
        ]
        self._connect_bus(m, controller.phy, checker, dies)
        self._report(m, controller.completions, checker, dies)
        return m

    def _dies(self, m):
        """Put in the dies, or instances of one Verilog module, and return their interfaces."""
        dies = []
        for way in range(self._ways):
            if self._emitted:
                die = self.die.signature.create(path=(f"die{way}",))
                connected = pins(self.die.signature, die)
                instance = Instance(
                    "nand_die", i_clk=ClockSignal(), i_rst=ResetSignal(), **connected
                )
                m.submodules[f"die{way}"] = instance
            else:
                m.submodules[f"die{way}"] = die = self.dies[way]
            dies.append(die)
            bits = 16 * self._luns
            m.d.comb += [
                die.way.eq(way),
                die.now.eq(self.now),
                die.array_done.eq(self.array_done[way * bits : (way + 1) * bits]),
            ]
        return dies

    def _connect_bus(self, m, phy, checker, dies):
        """Join the dies' pins: one chip enable each, the rest in common, driven by OR."""
        for way, die in enumerate(dies):
            m.d.comb += [
                die.phy.ce_n.eq(phy.ce_n[way]),
                die.phy.cle.eq(phy.cle),
                die.phy.ale.eq(phy.ale),
                die.phy.we_n.eq(phy.we_n),
                die.phy.re_n.eq(phy.re_n),
                die.phy.dq_o.eq(phy.dq_o),
                die.phy.dq_oe.eq(phy.dq_oe),
                die.phy.dqs_o.eq(phy.dqs_o),
                die.phy.dqs_oe.eq(phy.dqs_oe),
            ]
        m.d.comb += [
            phy.dq_i.eq(_any_of(die.phy.dq_i for die in dies)),
            phy.dqs_i.eq(_any_of(die.phy.dqs_i for die in dies)),
            phy.die_oe.eq(Cat(*(die.phy.oe for die in dies))),
            phy.rb_n.eq(Cat(*(die.phy.rb_n for die in dies))),
            checker.now.eq(self.now),
        ]
        for name in checker.phy.signature.members:
            m.d.comb += getattr(checker.phy, name).eq(getattr(phy, name))

    def _report(self, m, completions, checker, dies):
        """Load the event register at each edge at which something happens."""
        begins = Cat(die.begin_valid for die in dies).any()
        m.d.comb += completions.ready.eq(1)
        with m.If(completions.valid | begins | checker.violation_valid):
            m.d.sync += [
                self.event_toggle.eq(~self.event_toggle),
                self.event.completion_valid.eq(completions.valid),
                self.event.begin_valid.eq(begins),
                self.event.violation_valid.eq(checker.violation_valid),
                self.event.completion.eq(completions.payload),
                self.event.violation.eq(checker.violation),
                self.event.begin.as_value().eq(
                    _any_of(Mux(die.begin_valid, Value.cast(die.begin), 0) for die in dies)
                ),
            ]


def _any_of(values):
    """Bitwise OR of values of which at most one is not zero."""
    first, *rest = values
    for value in rest:
        first = first | value
    return first
