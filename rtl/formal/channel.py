"""A flash-channel controller between free inputs that keep the rules, and a claim about it."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.contract.channel import ChannelCommand, ChannelOperation
from rtl.contract.nand_part import cycles
from rtl.formal.die_pins import DiePins

__all__ = ["ChannelCheck"]

UNKNOWN_OPERATION = 0xFF


class ChannelCheck(wiring.Component):
    """The controller as it is, with everything around it free as far as its contract leaves it.

    Commands are any, in any order, in any clock; a command stays on its stream until it is taken.
    Their operations are any of ``operations``, or unknown. The dies (:class:`DiePins`) are busy for
    any time up to ``longest_busy`` clocks and give any bytes. Completions are taken, landing slots
    are given back, and data to a die begins to come, in any clock. ``claim`` is called with the
    module and this object and adds what must hold; it reads ``controller``, ``dies``, ``clocks``
    and the parameters.

    Parameters
    ----------
    controller : FlashChannelController
        What is checked; claims use its ports only.
    part : NandPart
        The part on the bus, with one LUN: its times are what claims measure.
    period_ps, ways, phases, slots : int
        As of the controller.
    claim : callable
        ``claim(m, check)``.
    longest_busy : int
        Clocks of the longest array operation.
    operations : sequence of ChannelOperation
        What commands ask for; those with data to the die need a part with extended times.
    longest_stall : int or None
        Clocks for which a completion, a landing slot, or data to a die, is held back at most; None:
        no limit.
    one_at_a_time : bool
        A command comes only after the completion of the one before.
    legal : bool
        Commands are for some page of some way, of its first two bytes, and their tags count them:
        none is refused, so that less is open in each clock.
    most_commands : int or None
        Commands that come at most, with ``legal``; None: no limit.

    Members
    -------
    clk : In(1)
        Clock.
    offer, known, choice, command : In
        A command comes, if there is room for it; its operation is known, and which of
        ``operations`` it is; its other fields.
    taken, freed, answers, launched : In
        Completions are taken; landing slots are given back; array operations end; data comes.
    dq : In(8 * phases)
        What dies drive, and what is to go to them.
    """

    def __init__(
        self,
        controller,
        part,
        claim,
        *,
        period_ps,
        ways=1,
        phases=2,
        slots=1,
        operations=(ChannelOperation.READ,),
        longest_busy=4,
        longest_stall=None,
        one_at_a_time=False,
        legal=False,
        most_commands=None,
    ):
        self.controller = controller
        self.part = part
        self.ways = ways
        self._period_ps = period_ps
        self._slots = slots
        self._claim = claim
        self._longest_stall = longest_stall
        self._operations = operations
        self._one_at_a_time = one_at_a_time
        self._legal = legal
        self._most_commands = most_commands
        self.dies = [
            DiePins(part, period_ps=period_ps, phases=phases, longest_busy=longest_busy)
            for _ in range(ways)
        ]
        super().__init__(
            {
                "clk": In(1),
                "offer": In(1),
                "known": In(1),
                "choice": In(range(max(2, len(operations)))),
                "command": In(ChannelCommand),
                "taken": In(1),
                "freed": In(slots),
                "answers": In(ways),
                "launched": In(1),
                "dq": In(8 * phases),
            }
        )

    def clocks(self, duration_ps):
        """Clocks that a time of the part takes."""
        return cycles(duration_ps, self._period_ps)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.d.comb += ClockSignal().eq(self.clk)
        m.submodules.controller = controller = self.controller
        now = Signal.like(controller.now)
        m.d.sync += now.eq(now + 1)
        m.d.comb += controller.now.eq(now)
        completions = controller.completions
        late = self._late(m, completions.valid & ~completions.ready, "completion")
        m.d.comb += completions.ready.eq(self.taken | late)
        self._offer(m, controller.commands)
        self._land(m)
        if self.part.extended is not None:
            self._launch(m)
        self._connect_dies(m, controller.phy)
        self._claim(m, self)
        return m

    def _offer(self, m, commands):
        most = self._most_commands
        command = Signal(ChannelCommand)
        number = Signal(16) if most is None else Signal(range(most + 1))
        valid, enters, may_enter = Signal(), Signal(), Signal(init=1)
        if self._one_at_a_time:
            completions = self.controller.completions
            with m.If(completions.valid & completions.ready):
                m.d.sync += may_enter.eq(1)
            with m.Elif(enters):
                m.d.sync += may_enter.eq(0)
        has_more = 1 if most is None else number != most
        with m.If(~valid | commands.ready):
            m.d.comb += enters.eq(self.offer & may_enter & has_more)
            m.d.sync += [valid.eq(enters), command.eq(self.command)]
            m.d.sync += command.operation.eq(UNKNOWN_OPERATION)
            with m.If(self.known | self._legal):
                m.d.sync += command.operation.eq(self._operation(m))
            if self._legal:
                m.d.sync += number.eq(number + enters)
                m.d.sync += self._make_legal(command, number)
        m.d.comb += [commands.valid.eq(valid), commands.payload.eq(command)]

    def _make_legal(self, command, number):
        """What is left open is the way, of one or two, and one bit of the row."""
        return [
            command.way.eq(self.command.way[0] & (self.ways > 1)),
            command.lun.eq(0),
            command.row.eq(self.command.row[0]),
            command.column.eq(0),
            command.length.eq(2),
            command.slot.eq(0),
            command.is_raw.eq(0),
            command.tag.eq(number),
        ]

    def _operation(self, m):
        operation = Signal(ChannelOperation, init=self._operations[0])
        with m.Switch(self.choice):
            for number, code in enumerate(self._operations[1:], start=1):
                with m.Case(number):
                    m.d.comb += operation.eq(code)
        return operation

    def _launch(self, m):
        """Data waits for its first word, and then comes as fast as it is taken."""
        controller = self.controller
        waits, comes = Signal(), Signal()
        late = self._late(m, waits & ~comes, "launch")
        m.d.comb += comes.eq(waits & (self.launched | late))
        m.d.comb += controller.launch.payload.eq(self.dq)
        with m.If(controller.launch_start):
            m.d.sync += [waits.eq(1), controller.launch.valid.eq(0)]
        with m.Elif(comes):
            m.d.sync += [waits.eq(0), controller.launch.valid.eq(1)]

    def _land(self, m):
        """A slot is free until it is taken, and then until it is given back."""
        free = Signal(self._slots, init=-1)
        late = self._late(m, ~free.all(), "slot")
        freed = self.freed | late.replicate(self._slots)
        m.d.sync += free.eq((free | freed) & ~self.controller.landing_take)
        m.d.comb += self.controller.landing_ready.eq(free)

    def _late(self, m, waits, name):
        """Something has been waiting for as long as it may."""
        late = Signal(name=f"{name}_late")
        if self._longest_stall is not None:
            waited = Signal(range(self._longest_stall + 1), name=f"{name}_waited")
            m.d.comb += late.eq(waited == self._longest_stall)
            with m.If(waits & ~late):
                m.d.sync += waited.eq(waited + 1)
            with m.Else():
                m.d.sync += waited.eq(0)
        return late

    def _connect_dies(self, m, phy):
        for way, die in enumerate(self.dies):
            m.submodules[f"die{way}"] = die
            m.d.comb += [
                die.ce_n.eq(phy.ce_n[way]),
                die.cle.eq(phy.cle),
                die.ale.eq(phy.ale),
                die.we_n.eq(phy.we_n),
                die.re_n.eq(phy.re_n),
                die.dq_o.eq(phy.dq_o),
                die.answer.eq(self.answers[way]),
            ]
        dqs = 0
        for die in self.dies:
            dqs = dqs | die.dqs_i
        m.d.comb += [
            phy.dq_i.eq(self.dq),
            phy.dqs_i.eq(dqs),
            phy.die_oe.eq(Cat(*(die.oe for die in self.dies))),
            phy.rb_n.eq(Cat(*(die.rb_n for die in self.dies))),
        ]
