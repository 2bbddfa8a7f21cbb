# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""The flash-channel controller: commands in, ONFI bus cycles, page data and completions out."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import (
    NEVER,
    STAMP_BITS,
    ChannelCommand,
    ChannelCompletion,
    ChannelCounters,
)
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import StatusBit
from rtl.contract.operations import Finish
from rtl.nand.arbiter import BusArbiter, BusPolicy
from rtl.nand.command_cycles import BusOperationKind
from rtl.nand.completion import CompletionRecord
from rtl.nand.correction import Correction, data_word
from rtl.nand.counters import EventCounters, count_events, count_operations
from rtl.nand.encoding import Encoding
from rtl.nand.limits import check_channel
from rtl.nand.lun_table import LunTable
from rtl.nand.operation_sets import is_any
from rtl.nand.operation_table import OperationTable
from rtl.nand.phy import PhySignature
from rtl.nand.reservation import BusReservation
from rtl.nand.sequencer import BusSequencer
from rtl.nand.timing import bus_timing

__all__ = ["FlashChannelController"]

ENDS = (BusOperationKind.TRANSFER, BusOperationKind.COMPLETE)


class FlashChannelController(wiring.Component):
    """Executes commands on the dies of one channel, each die working while others use the bus.

    One state machine owns the bus. When it is idle it sees what is asked for, in the next clock it
    chooses, then it looks the command up, then it begins: first the 00h-30h of a LUN with a command
    and nothing to do, then a status poll that is due, then the transfer of a ready LUN if a landing
    slot is free; within each, round robin over the LUNs (way * luns + lun). A command
    holds its LUN until its transfer is decided; a second one may wait behind it. With one LUN a
    way ready is read from R/B#, else from 78h polls. Completions come in the order of the
    transfers; a refused command (see :class:`CommandIntake`) completes with ``BAD_COMMAND`` and
    touches nothing. Every wait is kept against ``now``, so the clock may stop while ``quiet``.

    Stamps are edge numbers; ``command`` and ``transfer`` are the edges from which 00h and 05h are
    on the bus, ``issued`` the later edge at which the die samples the rising WE# of 30h.

    A part with times beyond the plain read gets all of ``rtl.contract.operations``. What is issued
    is of the first class, with its data if that goes to the die; a status byte that is asked for
    is of the second. A command that needs the bus no more completes at the next decision, before
    all others. After an operation that ``keeps_bus`` only its LUN is served until that has begun
    its next command; one about the whole way is exempt, or it might wait for ever. Where LUNs share
    a way 70h, which does not say whose status it asks for, is refused.

    Parameters
    ----------
    part : NandPart
        Geometry and times.
    period_ps : int
        Clock period, even.
    ways : int
        Ways of the channel.
    phases : int
        Bytes a clock on the bus: 1, 2 or 4.
    slots : int
        Landing slots, and launch slots.
    watchdog_ps : int or None
        A LUN that is busy for so long after a command's last cycle is given up, see
        :class:`OperationStates`; None is never.
    policy : str
        Value of a :class:`BusPolicy`.
    suspends : int
        Times that one program or erase may be put aside for a read: writes end, too. 0 is never.
    code : BchCode or None
        Of the pages. Reads then pass a decoder unless they are raw, or read as they come: see
        :class:`Correction`. The bus does not wait for it. None is no decoder.
    encodes : bool
        What goes to the die passes an encoder, unless it is raw or a feature: see
        :class:`Encoding`. Else data is codewords already. It needs a ``code``, and a part that can
        be programmed.
    tables : bool
        Form of decoder and encoder, as in :class:`BchDecoder`.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    commands : In(stream.Signature(ChannelCommand))
    data : Out(stream.Signature(data_word(...), always_ready=True))
        Bursts never pause: a free landing slot has room for all of a transfer.
    completions : Out(stream.Signature(ChannelCompletion))
        Offered in the clock after the transfer's last word of data.
    landing_ready : In(slots)
        Free landing slots; the lowest is used.
    landing_take : Out(slots)
        Strobe: the slot is taken by the transfer that begins in this clock.
    launch_start, launch_slot : Out
        Strobe: the bytes of this launch slot will be taken from ``launch``; of an extended part, as
        is ``launch``.
    launch : In(stream.Signature(8 * phases))
        Data that goes to the die, as :class:`WriteBurst` takes it.
    phy : Out(PhySignature)
    quiet : Out(1)
        No edge before ``wake_edge`` would change anything while the inputs stay.
    wake_edge : Out(48)
        The next deadline; all ones if there is none.
    counters : Out(ChannelCounters)

    Raises
    ------
    TypeError, ValueError
        For a period, ways, phases, slots or watchdog out of range, a part whose pages cannot be
        addressed, or a code that the decoder is not made for.
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
        tables=True,
    ):
        check_channel(part, phases=phases, slots=slots, watchdog_ps=watchdog_ps, suspends=suspends)
        self._is_extended = part.extended is not None
        self._policy = BusPolicy(policy)
        self._suspends = suspends
        if self._policy is BusPolicy.READS_FIRST and not self._is_extended:
            raise ValueError("Policy must not be reads-first for a part of plain reads")
        self._part = part
        self._timing = bus_timing(part, period_ps)
        self._ways, self._phases, self._slots = ways, phases, slots
        self._watchdog = None if watchdog_ps is None else cycles(watchdog_ps, period_ps)
        self._correction = None
        if code is not None:
            self._correction = Correction(code, phases=phases, slots=slots, tables=tables)
        self._encoding = None
        if encodes:
            if code is None or not self._is_extended:
                raise ValueError("An encoder needs a code and a part that can be programmed")
            self._encoding = Encoding(code, phases=phases, tables=tables)
        launch = {
            "launch_start": Out(1),
            "launch_slot": Out(range(max(2, slots))),
            "launch": In(stream.Signature(8 * phases)),
        }
        super().__init__(
            (launch if self._is_extended else {})
            | {
                "now": In(STAMP_BITS),
                "commands": In(stream.Signature(ChannelCommand)),
                "data": Out(stream.Signature(data_word(phases, slots), always_ready=True)),
                "completions": Out(stream.Signature(ChannelCompletion)),
                "landing_ready": In(slots),
                "landing_take": Out(slots),
                "phy": Out(PhySignature(ways, phases)),
                "quiet": Out(1),
                "wake_edge": Out(STAMP_BITS, init=NEVER),
                "counters": Out(ChannelCounters),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = self._make_table()
        m.submodules.arbiter = arbiter = BusArbiter(
            self._ways * self._part.luns,
            has_completions=self._is_extended,
            has_suspends=self._suspends > 0,
            policy=self._policy,
        )
        m.submodules.bus = bus = BusSequencer(self._timing, self._ways, self._phases)
        m.submodules.record = record = CompletionRecord()
        m.submodules.events = events = EventCounters()
        wiring.connect(m, wiring.flipped(self.commands), table.commands)
        wiring.connect(m, wiring.flipped(self.phy), bus.phy)
        m.d.comb += [table.now.eq(self.now), table.rb_n.eq(self.phy.rb_n)]
        m.d.comb += [record.now.eq(self.now), self.counters.eq(events.counters)]
        kind = Signal(BusOperationKind)
        begins = self._decide(m, table, arbiter, bus, record, kind)
        self._follow(m, table, bus, record, kind)
        words = self._transfer(m, table, bus, record, kind)
        if self._correction is None:
            wiring.connect(m, words, wiring.flipped(self.data))
            wiring.connect(m, record.completions, wiring.flipped(self.completions))
        else:
            self._correct(m, table, bus, record, events, words)
        if self._is_extended:
            self._extend(m, table, arbiter, bus, record, events, kind)
        if self._suspends:
            self._suspend(m, table, bus, events, kind, begins)
        starved, was_starved = Signal(), Signal()
        is_blocked, was_blocked = Signal(), Signal()
        m.d.comb += starved.eq(table.transfers.any() & ~self.landing_ready.any())
        m.d.comb += is_blocked.eq(arbiter.serve & ~arbiter.valid & starved)
        m.d.sync += [was_starved.eq(starved), was_blocked.eq(is_blocked)]
        m.d.comb += [
            table.calm.eq(
                arbiter.serve
                & ~arbiter.valid
                & ~self.commands.valid
                & ~record.busy
                & ~record.refused_valid
                & ~table.is_changing
                & (starved == was_starved)
            ),
            self.quiet.eq(table.wake_is_known),
            self.wake_edge.eq(table.wake_edge),
        ]
        if self._correction is not None:
            with m.If(~self._correction.quiet):
                m.d.comb += self.quiet.eq(0)
        count_events(m, events, table, arbiter, record, self.now, self.landing_take)
        m.d.comb += events.strobes.landing_full.eq(is_blocked & ~was_blocked)
        return m

    def _make_table(self):
        if not self._is_extended:
            return LunTable(self._part, self._timing, self._ways)
        options = {"watchdog": self._watchdog, "suspends": self._suspends}
        return OperationTable(self._part, self._timing, self._ways, slots=self._slots, **options)

    def _decide(self, m, table, arbiter, bus, record, kind):
        """See what is asked of the idle bus, choose, look the command up, then begin.

        Returns the strobe of the latter.
        What is asked for stays so until it begins, so that the choice holds.
        """
        begins = Signal()
        m.d.comb += [
            arbiter.serve.eq(bus.idle & ~table.look_up & ~begins),
            table.poll.eq(begins & (kind == BusOperationKind.POLL)),
            table.take.eq(begins & kind.matches(*ENDS)),
            bus.start.eq(begins & (kind != BusOperationKind.COMPLETE)),
            bus.operation.kind.eq(kind),
            bus.operation.row.eq(table.context.row),
            bus.operation.column.eq(table.context.column),
            bus.length.eq(table.context.length),
            bus.way.eq(table.index // self._part.luns),
        ]
        self._ask(m, table, arbiter, record, bus.start)
        m.d.sync += [table.look_up.eq(0), begins.eq(table.look_up)]
        with m.If(arbiter.serve & arbiter.valid):
            m.d.sync += [table.look_up.eq(1), kind.eq(arbiter.kind), table.index.eq(arbiter.index)]
        return begins

    def _ask(self, m, table, arbiter, record, begins):
        """Hand what is asked for to the arbiter, a clock later; nothing while it cannot choose."""
        requests = {"reads": table.reads, "polls": table.polls, "transfers": table.transfers}
        if self._suspends:
            requests |= {"suspends": table.suspends, "resumes": table.resumes}
        if self._is_extended:
            allowed = self._reserve(m, table, begins)
            requests = {name: asked & allowed for name, asked in requests.items()}
            requests["completions"] = Mux(record.busy, 0, table.completions)
        has_room = self.landing_ready.any() & ~record.busy
        requests["transfers"] = Mux(has_room, requests["transfers"], 0)
        for name, asked in requests.items():
            m.d.sync += getattr(arbiter, name).eq(Mux(arbiter.serve, asked, 0))
        if self._policy is BusPolicy.OLDEST_READY_FIRST:
            m.d.comb += arbiter.ready.eq(table.transfers)
        if self._policy is BusPolicy.READS_FIRST:
            m.d.comb += arbiter.urgent.eq(table.urgent)

    def _reserve(self, m, table, begins):
        """LUNs that may be served between the pieces of a page."""
        m.submodules.reservation = reservation = BusReservation(self._ways * self._part.luns)
        keeps = is_any(table.order.operation, lambda steps: steps.keeps_bus)
        m.d.comb += [
            reservation.keep.eq(table.issue & keeps),
            reservation.index.eq(table.index),
            reservation.begin.eq(begins),
            reservation.targets.eq(table.targets),
        ]
        return reservation.allowed

    def _extend(self, m, table, arbiter, bus, record, events, kind):
        """Operations beyond the plain read: more to issue, data to the die, ends without bursts."""
        operation = table.order.operation
        ends = Signal()
        if self._encoding is None:
            wiring.connect(m, wiring.flipped(self.launch), bus.launch)
        else:
            self._encode(m, table, bus)
        m.d.comb += [
            bus.operation.operation.eq(operation),
            self.launch_start.eq(
                bus.start
                & is_any(operation, lambda steps: steps.data_in)
                & (kind == BusOperationKind.ISSUE)
            ),
            self.launch_slot.eq(table.order.slot),
            table.is_busy.eq(is_any(operation, lambda steps: steps.is_busy)),
            table.status_byte.eq(bus.word[:8]),
            ends.eq(table.take & (kind == BusOperationKind.COMPLETE)),
            record.is_whole.eq(ends),
        ]
        count_operations(m, events, table, ends)

    def _encode(self, m, table, bus):
        """Pass page data for the die through the encoder, unless it is raw."""
        m.submodules.encoding = encoding = self._encoding
        is_page = is_any(table.order.operation, lambda steps: steps.programs or steps.keeps_bus)
        wiring.connect(m, wiring.flipped(self.launch), encoding.launch)
        wiring.connect(m, encoding.data, bus.launch)
        m.d.comb += [
            encoding.start.eq(self.launch_start),
            encoding.is_coded.eq(is_page & ~table.context.is_raw),
            encoding.length.eq(table.context.length),
        ]

    def _suspend(self, m, table, bus, events, kind, begins):
        """Put programs and erases aside for reads that wait behind them."""
        m.d.comb += [
            table.suspend.eq(begins & (kind == BusOperationKind.SUSPEND)),
            table.suspended.eq(bus.latched & (kind == BusOperationKind.SUSPEND)),
            table.resumed.eq(bus.latched & (kind == BusOperationKind.RESUME)),
            events.strobes.suspends.eq(table.put_aside),
        ]

    def _follow(self, m, table, bus, record, kind):
        """Tell the LUN's slot what became of its 30h or its poll."""
        command_edge = Signal(STAMP_BITS)
        with m.If(bus.began):
            m.d.sync += command_edge.eq(self.now)
        m.d.comb += [
            table.command_edge.eq(command_edge),
            table.issue.eq(bus.latched & (kind == BusOperationKind.ISSUE)),
            table.status_valid.eq(bus.valid & bus.last & (kind == BusOperationKind.POLL)),
            table.status_ready.eq((bus.word[:8] & StatusBit.RDY).any()),
            record.began.eq(bus.began & (kind == BusOperationKind.TRANSFER)),
        ]

    def _transfer(self, m, table, bus, record, kind):
        """Choose the landing slot, and record the transfer; returns the stream of its words."""
        words = stream.Signature(data_word(self._phases, self._slots), always_ready=True).create()
        slot = Signal(range(max(2, self._slots)))
        chosen = Signal.like(slot)
        is_transfer = Signal()
        m.d.comb += is_transfer.eq(table.take & (kind == BusOperationKind.TRANSFER))
        with m.If(table.look_up):
            m.d.sync += slot.eq(chosen)
        with m.If(is_transfer):
            m.d.comb += self.landing_take.eq(1 << slot)
        for number in reversed(range(self._slots)):
            with m.If(self.landing_ready[number]):
                m.d.comb += chosen.eq(number)
        m.d.comb += [
            words.valid.eq(bus.valid & (kind == BusOperationKind.TRANSFER)),
            words.payload.word.eq(bus.word),
            words.payload.slot.eq(slot),
            words.payload.last.eq(bus.last),
            record.start.eq(table.take),
            record.opening.eq(table.opening),
            record.ended.eq(words.valid & words.payload.last),
            record.refused_valid.eq(table.refused_valid),
            record.refused_tag.eq(table.refused_tag),
            record.refused_edge.eq(table.refused_edge),
            table.refused_taken.eq(record.refused_taken),
        ]
        with m.If(is_transfer):
            m.d.comb += record.opening.slot.eq(slot)
        return words

    def _correct(self, m, table, bus, record, events, words):
        """Pass the words of page data through the decoder, unless they are asked for raw."""
        m.submodules.correction = correction = self._correction
        wiring.connect(m, words, correction.words)
        wiring.connect(m, record.completions, correction.ended)
        wiring.connect(m, correction.data, wiring.flipped(self.data))
        wiring.connect(m, correction.completions, wiring.flipped(self.completions))
        is_coded = ~table.context.is_raw
        if self._is_extended:
            is_coded &= is_any(table.order.operation, lambda steps: steps.finish is Finish.TRANSFER)
        with m.If(bus.start):
            m.d.sync += correction.is_coded.eq(is_coded)
        m.d.comb += [
            correction.now.eq(self.now),
            correction.is_transfer.eq(record.is_transfer),
            events.strobes.corrected.eq(correction.is_corrected),
            events.strobes.uncorrectable.eq(correction.is_failed),
        ]
