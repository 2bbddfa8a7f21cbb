"""The flash channels as the firmware sees them: reads in, page data and spans out."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cosim.lockstep import LockStep, Report
from cosim.units.fields import FieldReader
from cosim.units.handover import HandOver
from cosim.units.violation import ProtocolViolation
from rtl.contract.channel import (
    COMMANDS_PER_LUN,
    ArrayDone,
    ChannelCommand,
    ChannelEvent,
    ChannelOperation,
    ChannelStatus,
)
from rtl.contract.codec import pack
from rtl.contract.kernel import Cause, PageRead, latest
from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import BusRule
from rtl.contract.page import PageLayout

__all__ = ["ChannelPort", "Medium", "UnitEngine"]

WORD_BYTES = 128
ARRAY_DONE_BITS = 16
_EVENT = FieldReader(ChannelEvent)


class Medium(Protocol):
    """What the flash cells hold."""

    def sense(self, channel: int, way: int, lun: int, row: int) -> bytes:
        """Image of one page, of the part's raw page size."""


class UnitEngine(Protocol):
    """What the ports need of an engine that runs units."""

    def mailbox(self, unit: int, name: str) -> Any: ...

    def memory(self, unit: int, path: str) -> Any: ...


@dataclass(eq=False, slots=True)
class _Read:
    """A command from its hand-over to its completion."""

    way: int
    lun: int
    row: int
    column: int
    length: int
    tag: int
    request: int
    cause: Cause
    done: Any
    begin_ps: int | None = None


class _Channel:
    """One channel's mailboxes, memories and outstanding reads."""

    def __init__(
        self, engine: UnitEngine, unit: int, over: HandOver, ways: int, luns: int, slots: int
    ) -> None:
        self.command = engine.mailbox(unit, "command")
        self.command_toggle = engine.mailbox(unit, "command_toggle")
        self.array_done = engine.mailbox(unit, "array_done")
        self.landing_free = engine.mailbox(unit, "landing_free")
        self.landing = engine.memory(unit, "landing.memory.ram.mem")
        self.pages = [
            [engine.memory(unit, f"die{way}.page{lun}.ram.mem") for lun in range(luns)]
            for way in range(ways)
        ]
        self.over = over
        self.next_tag = 0
        self.reads: dict[int, _Read] = {}
        self.luns: list[deque[_Read]] = [deque() for _ in range(ways * luns)]
        self.slots = slots
        self.held: set[int] = set()
        self.transfers: list[Cause] = []
        """Ends of all transfers so far, in order."""
        self.releases: list[tuple[Cause, int]] = []
        """Landing slots given back, in order, and how many were held until then."""
        self.decoding: deque[tuple[int, int]] = deque(maxlen=slots)
        """When the last transfers came into the decoder, and when they completed."""

    def take_tag(self) -> int:
        while self.next_tag in self.reads:
            self.next_tag = self.next_tag + 1 & 0xFFFF
        tag = self.next_tag
        self.next_tag = tag + 1 & 0xFFFF
        return tag

    def hand_over(self, word: int) -> None:
        self.command.set(word)
        self.command_toggle.flip()

    def released(self, own: Cause, end_ps: int) -> Cause:
        """Latest release of a slot between ``own`` and ``end_ps`` before which none was free.

        ``own`` if there is none. A slot whose data is in the decoder is not free either.
        """
        place = bisect_right(self.releases, end_ps, key=lambda release: release[0].at_ps)
        for cause, held in reversed(self.releases[:place]):
            if cause.at_ps <= own.at_ps:
                break
            inside = sum(begin <= cause.at_ps < end for begin, end in self.decoding)
            if held + inside == self.slots:
                return cause
        return own

    def answer(self, lun_index: int, number: int) -> None:
        """Flip one LUN's ``ArrayDone`` toggle and put ``number`` beside it."""
        shift = ARRAY_DONE_BITS * lun_index
        old = self.array_done.value >> shift & (1 << ARRAY_DONE_BITS) - 1
        toggle = not old >> 8 & 1
        new = int.from_bytes(pack(ArrayDone, number=number, toggle=toggle), "little")
        self.array_done.set(self.array_done.value ^ ((old ^ new) << shift))


class ChannelPort:
    """All flash channels of a device; see ``rtl.contract.kernel.FlashPort``.

    A read's time is recorded, from its completion's stamps, as a chain of spans of the unit
    ``flash.ch{c}``: ``flash.hand-over`` (until the channel's clock edge that takes the command),
    ``flash.queue``, ``flash.command``, ``flash.sense``, ``flash.poll``, ``flash.bus-wait``,
    ``flash.transfer``, ``flash.ecc`` (until the decoder, if there is one, has handed over the last
    word) and ``flash.complete``. A wait for the bus (``flash.queue``, and
    ``flash.bus-wait`` for a bus or a landing slot) that another page's transfer or a slot's release
    ended begins there and names that span as its cause: from ``ready_ps`` to its start the time
    belongs to the other. What is left of it is the turn of the bus and short bus operations.

    Parameters
    ----------
    lockstep : LockStep
        The loop; the channels' units are attached to it.
    engine : UnitEngine
        Where the channels run; channel c is unit ``units[c]``.
    medium : Medium
        What a die finds when it senses.
    part : NandPart
        Its array time and sizes.
    layout : PageLayout
        Tells data from parity in what is read.
    period_ps : int
        Of the channels' clocks.
    has_decoder : bool
        What the channels read passes an ECC decoder.
    """

    def __init__(
        self,
        lockstep: LockStep,
        engine: UnitEngine,
        medium: Medium,
        part: NandPart,
        layout: PageLayout,
        *,
        units: Sequence[int],
        ways: int,
        slots: int,
        period_ps: int,
        has_decoder: bool = False,
    ) -> None:
        self.channels = len(units)
        self.ways = ways
        self.luns = part.luns
        self.slots = slots
        self._lockstep = lockstep
        self._kernel = lockstep.kernel
        self._env = lockstep.kernel.env
        self._medium = medium
        self._part = part
        self.layout = layout
        self._period_ps = period_ps
        self._has_decoder = has_decoder
        self._slot_words = -(-part.raw_page_bytes // WORD_BYTES)
        self._channels = [
            _Channel(engine, unit, HandOver(lockstep, period_ps), ways, part.luns, slots)
            for unit in units
        ]
        self._channel_of = {unit: channel for channel, unit in enumerate(units)}
        lockstep.attach(units, self._deliver, self._outstanding)

    @property
    def hand_over_waits(self) -> int:
        """Commands that came in the same clock period as another one of their channel."""
        return sum(state.over.delayed for state in self._channels)

    def read(
        self,
        channel: int,
        way: int,
        lun: int,
        row: int,
        column: int,
        length: int,
        cause: Cause,
        *,
        request: int = 0,
    ) -> Any:
        state = self._channels[channel]
        queue = state.luns[way * self.luns + lun]
        if len(queue) >= COMMANDS_PER_LUN:
            raise RuntimeError(
                f"LUN {lun} of way {way} of channel {channel} must have at most "
                f"{COMMANDS_PER_LUN} commands outstanding, not one more"
            )
        if cause.at_ps != self._env.now:
            raise RuntimeError(f"A read's cause must be now ({self._env.now} ps), not {cause}")
        tag = state.take_tag()
        read = _Read(way, lun, row, column, length, tag, request, cause, self._env.event())
        state.reads[tag] = read
        queue.append(read)
        fields = {"way": way, "lun": lun, "row": row, "column": column, "length": length}
        word = pack(ChannelCommand, operation=ChannelOperation.READ, tag=tag, **fields)
        value = int.from_bytes(word, "little")
        state.over.put(lambda: state.hand_over(value))
        return read.done

    def free(self, channel: int, slot: int, cause: Cause) -> None:
        state = self._channels[channel]
        if slot not in state.held:
            raise RuntimeError(f"Slot {slot} of channel {channel} must be held to be given back")
        if cause.at_ps != self._env.now:
            raise RuntimeError(f"A release's cause must be now ({self._env.now} ps), not {cause}")
        state.releases.append((cause, len(state.held)))
        state.held.remove(slot)
        self._lockstep.post(lambda: state.landing_free.flip(slot))

    def _deliver(self, report: Report) -> None:
        channel = self._channel_of[report.unit]
        fields = _EVENT.all(report.word)
        if fields["violation_valid"]:
            rule = BusRule(fields["violation.rule"])
            raise ProtocolViolation(
                f"At {report.edge_ps} ps on flash channel {channel}, "
                f"way {fields['violation.way']}: rule {rule.value} ({rule.name}) was broken"
            )
        if fields["begin_valid"]:
            self._begin(channel, report.edge_ps, fields)
        if fields["completion_valid"]:
            self._complete(channel, report.edge_ps, fields)

    def _begin(self, channel: int, edge_ps: int, fields: dict[str, int]) -> None:
        """A die's array starts to work: look up what it senses, answer when its time is over."""
        state = self._channels[channel]
        way, lun, number = fields["begin.way"], fields["begin.lun"], fields["begin.number"]
        lun_index = way * self.luns + lun
        for read in state.luns[lun_index]:
            if read.begin_ps is None:
                read.begin_ps = edge_ps
                break
        image = self._medium.sense(channel, way, lun, fields["begin.row"])

        def write() -> None:
            state.pages[way][lun].write(0, image)
            state.answer(lun_index, number)

        over = self._env.timeout(self._part.t_r_ps)
        over.callbacks.append(lambda _: self._lockstep.post(write))

    def _complete(self, channel: int, edge_ps: int, fields: dict[str, int]) -> None:
        state = self._channels[channel]
        read = state.reads.pop(fields["completion.tag"])
        state.luns[read.way * self.luns + read.lun].remove(read)
        status, slot = fields["completion.status"], fields["completion.slot"]
        data = b""
        if status == ChannelStatus.BAD_COMMAND:
            slot = -1
        else:
            state.held.add(slot)
            data = state.landing.read(slot * self._slot_words, read.length)
        cause = self._record(channel, read, fields, edge_ps)
        read.done.succeed(PageRead(data, status, fields["completion.corrected"], slot, cause))

    def _record(self, channel: int, read: _Read, fields: dict[str, int], edge_ps: int) -> Cause:
        """Lay the read's spans end to end, from its hand-over to its completion event."""

        def stamp(name: str) -> int:
            return fields[f"completion.{name}"] * self._period_ps

        ends = {"flash.hand-over": stamp("accepted")}
        if read.begin_ps is not None:
            ends |= {
                "flash.queue": stamp("command"),
                "flash.command": read.begin_ps,
                "flash.sense": read.begin_ps + self._part.t_r_ps,
                "flash.poll": stamp("ready"),
                "flash.bus-wait": stamp("transfer"),
                "flash.transfer": stamp("received"),
            }
            if self._has_decoder:
                ends["flash.ecc"] = stamp("last")
        ends["flash.complete"] = edge_ps
        payload = self._payload(read.column, read.length)
        cause = read.cause
        state = self._channels[channel]
        for stage, end_ps in ends.items():
            moved = {}
            ready_ps = cause.at_ps
            if stage == "flash.queue":
                cause = _released(cause, end_ps, state.transfers)
            elif stage == "flash.bus-wait":
                slot = state.released(cause, end_ps)
                cause = latest([_released(cause, end_ps, state.transfers), slot])
            elif stage == "flash.transfer":
                moved = {"payload_bytes": payload, "overhead_bytes": read.length - payload}
            cause = self._kernel.record(
                f"flash.ch{channel}",
                stage,
                cause.at_ps,
                end_ps,
                cause,
                request=read.request,
                ready_ps=ready_ps,
                kind="page",
                **moved,
            )
            if stage == "flash.transfer":
                state.transfers.append(cause)
            elif stage == "flash.ecc":
                state.decoding.append((stamp("received"), edge_ps))
        return cause

    def _payload(self, column: int, length: int) -> int:
        """Data bytes, without parity and what is behind the data codewords."""
        return self._data_before(column + length) - self._data_before(column)

    def _data_before(self, column: int) -> int:
        layout = self.layout
        codeword, rest = divmod(min(column, layout.data_bytes), layout.codeword_bytes)
        return int(codeword * layout.chunk_bytes + min(rest, layout.chunk_bytes))

    def _outstanding(self) -> list[str]:
        return [
            f"flash read of channel {channel}, way {read.way}, LUN {read.lun}, row {read.row} "
            f"({'waiting' if read.begin_ps is None else 'sensed'})"
            for channel, state in enumerate(self._channels)
            for read in state.reads.values()
        ]


def _released(own: Cause, end_ps: int, log: list[Cause]) -> Cause:
    """What let a wait from ``own.at_ps`` to ``end_ps`` go on: the last release within it."""
    place = bisect_right(log, end_ps, key=lambda cause: cause.at_ps)
    return log[place - 1] if place and log[place - 1].at_ps > own.at_ps else own
