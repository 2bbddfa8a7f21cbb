"""The flash channels as the firmware sees them: commands in, data and spans out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.lib.data import Layout

from cosim.lockstep import LockStep, Report
from cosim.units.answers import Answers
from cosim.units.array import DieArrays
from cosim.units.channel_spans import ChannelSpans, moved_data
from cosim.units.channel_state import ChannelState, Command, UnitEngine
from cosim.units.fields import FieldReader
from cosim.units.handover import HandOver
from cosim.units.lun_array import Medium
from cosim.units.violation import ProtocolViolation
from rtl.contract.bch import BchCode
from rtl.contract.channel import (
    COMMANDS_PER_LUN,
    ArrayOperation,
    ChannelCompletion,
    ChannelEvent,
    ChannelOperation,
)
from rtl.contract.kernel import Cause, FlashResult
from rtl.contract.nand_array import NandArrayTimes, array_times
from rtl.contract.nand_part import NandPart, cycles
from rtl.contract.onfi import BusRule
from rtl.contract.operations import OPERATIONS
from rtl.contract.page import FILL, PageLayout

__all__ = ["ChannelPort", "chunks_of"]

REGISTERS = 2
"""Page registers of a plane of a part with more than plain reads."""
_EVENT = FieldReader(ChannelEvent)
_COMPLETION = [name for name, _ in Layout.cast(ChannelCompletion)]


def chunks_of(image: bytes, code: BchCode) -> bytes:
    """The chunks of the codewords that ``image`` has from its first byte on, one after the other.

    What is behind the last whole codeword is left out: an encoder puts FILL there.

    Raises
    ------
    ValueError
        If it is anything else, or the parity is not that of the chunks.
    """
    size = code.codeword_bytes
    count = len(image) // size
    words = np.frombuffer(image[: count * size], np.uint8).reshape(count, size)
    chunks = words[:, : code.chunk_bytes]
    if (code.encode(chunks) != words[:, code.chunk_bytes :]).any():
        raise ValueError("Data of a program must have the parity of its chunks, or be raw")
    if image[count * size :].strip(bytes([FILL])):
        raise ValueError(f"Data of a program must be whole codewords, and {FILL:#x} behind them")
    return bytes(chunks.tobytes())


class ChannelPort:
    """All flash channels of a device; see ``rtl.contract.kernel.FlashPort``.

    A command's time is recorded, from its completion's stamps, as a chain of spans of the unit
    ``flash.ch{c}``:

    - ``flash.hand-over``, until the channel's clock edge that takes the command. If it waited for a
      launch slot, this begins when one came back, and its cause is the span in which another
      command's data went to its die, or that command's last one;
    - ``flash.queue``, until its first cycle is on the bus;
    - ``flash.command``, its cycles and the data that goes to the die, until R/B# is low, or until
      the last cycle of what leaves the LUN ready;
    - while the LUN is busy, what it is busy with: ``flash.sense``, ``flash.program``,
      ``flash.erase``, ``flash.cache`` (a page moves between registers), ``flash.plane``,
      ``flash.feature``, ``flash.reset``. Of a cached operation only the time until the LUN is ready
      is the command's, and what is then left of it that of the next command;
    - ``flash.poll``, until the controller knows that the LUN is ready;
    - ``flash.bus-wait``, and ``flash.transfer`` (a page's data), ``flash.answer`` (identifier,
      parameter page, feature) or ``flash.status``; ``flash.ecc`` until the decoder, if there is
      one, has handed over the last word;
    - ``flash.complete``.

    A wait for the bus (``flash.queue``, and ``flash.bus-wait`` for a bus or a landing slot) that
    another page's data, from or to a die, or a slot's release ended begins there and names that
    span as its cause: from ``ready_ps`` to its start the time belongs to the other. What is left of
    it is the turn of the bus and short bus operations.

    Parameters
    ----------
    lockstep : LockStep
        The loop; the channels' units are attached to it.
    engine : UnitEngine
        Where the channels run; channel c is unit ``units[c]``.
    medium : Medium
        The cells of the dies.
    part : NandPart
        Its sizes.
    layout : PageLayout
        Tells data from parity in what is read.
    period_ps : int
        Of the channels' clocks.
    has_decoder : bool
        What the channels read passes an ECC decoder.
    encoder : BchCode, optional
        What they program passes an encoder of this code, unless it is raw: of the pages that are
        handed over, the channels get the chunks alone, and make the parity anew.
    times : NandArrayTimes, optional
        Array times of the dies; those of ``part`` if absent.
    parameter_page : bytes
        What the dies bring on Read Parameter Page.
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
        encoder: BchCode | None = None,
        times: NandArrayTimes | None = None,
        parameter_page: bytes = b"",
    ) -> None:
        self.channels = len(units)
        self.ways = ways
        self.luns = part.luns
        self.slots = slots
        self.layout = layout
        self._lockstep = lockstep
        self._kernel = lockstep.kernel
        self._env = lockstep.kernel.env
        self._part = part
        self._encoder = encoder
        self._busy_ps = cycles(part.t_wb_ps, period_ps) * period_ps
        self._channels: list[ChannelState] = []
        self._spans: list[ChannelSpans] = []
        for channel, unit in enumerate(units):
            arrays = DieArrays(
                lockstep,
                medium,
                part,
                times=times or array_times(part),
                registers=_registers(engine, unit, part, ways),
                answers=Answers(lockstep, engine.mailbox(unit, "array_done"), period_ps),
                channel=channel,
                parameter_page=parameter_page,
            )
            over = HandOver(lockstep, period_ps)
            self._channels.append(
                ChannelState(engine, unit, over, part, arrays, ways=ways, slots=slots)
            )
            self._spans.append(
                ChannelSpans(
                    self._kernel,
                    f"flash.ch{channel}",
                    layout,
                    period_ps=period_ps,
                    has_decoder=has_decoder,
                )
            )
        self._channel_of = {unit: channel for channel, unit in enumerate(units)}
        lockstep.attach(units, self._deliver, self._outstanding)

    @property
    def hand_over_waits(self) -> int:
        """Commands that came in the same clock period as another one of their channel."""
        return sum(state.over.delayed for state in self._channels)

    @property
    def launch_waits(self) -> int:
        """Commands that waited for a launch slot."""
        return sum(state.launches.waits for state in self._channels)

    def feature(self, channel: int, way: int, address: int) -> bytes:
        """The four bytes of a feature as a die has it now; zeros before it is set."""
        return self._channels[channel].arrays.feature(way, address)

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
        return self.submit(
            channel,
            ChannelOperation.READ,
            way,
            lun,
            cause,
            row=row,
            column=column,
            length=length,
            request=request,
        )

    def submit(
        self,
        channel: int,
        operation: int,
        way: int,
        lun: int,
        cause: Cause,
        *,
        row: int = 0,
        column: int = 0,
        length: int = 0,
        data: bytes = b"",
        is_raw: bool = False,
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
            raise RuntimeError(f"A command's cause must be now ({self._env.now} ps), not {cause}")
        command = Command(
            operation=ChannelOperation(operation),
            way=way,
            lun=lun,
            row=row,
            column=column,
            length=len(data) or length,
            data=data,
            is_raw=is_raw,
            request=request,
            ready_ps=cause.at_ps,
            cause=cause,
            done=self._env.event(),
        )
        self._check_data(command)
        if self._encoder is not None and command.is_page_data and not is_raw:
            command.data = chunks_of(data, self._encoder)
        queue.append(command)
        state.enter(command)
        return command.done

    def _check_data(self, command: Command) -> None:
        """Refuse data that the operation does not take, or that no launch slot holds."""
        sends, count = OPERATIONS[command.operation].data_in, len(command.data)
        if self._part.extended is None and sends:
            raise ValueError(f"A part of plain reads must not be told to {command.name}")
        most = self._part.raw_page_bytes if sends else 0
        if not min(sends, most) <= count <= most:
            raise ValueError(
                f"Data of {command.name} must be {int(sends)} to {most} bytes, not {count}"
            )

    def free(self, channel: int, slot: int, cause: Cause) -> None:
        state = self._channels[channel]
        if slot not in state.held:
            raise RuntimeError(f"Slot {slot} of channel {channel} must be held to be given back")
        if cause.at_ps != self._env.now:
            raise RuntimeError(f"A release's cause must be now ({self._env.now} ps), not {cause}")
        state.slot_releases.append((cause, len(state.held)))
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
        """A die begins an array operation: let its array work, and know the bus to be free."""
        state = self._channels[channel]
        way, lun = fields["begin.way"], fields["begin.lun"]
        operation = ArrayOperation(fields["begin.operation"])
        command = state.begin(way, lun, operation)
        if command is not None and OPERATIONS[command.operation].programs:
            command.bus_span = self._kernel.reserve()
            state.release_bus(Cause(edge_ps - self._busy_ps, command.bus_span))
            state.launches.sent(command, Cause(edge_ps, command.bus_span))
        row, register = fields["begin.row"], fields["begin.register"]
        state.arrays.begin(way, lun, fields["begin.number"], operation, row, register)

    def _complete(self, channel: int, edge_ps: int, fields: dict[str, int]) -> None:
        state = self._channels[channel]
        completion = {name: fields[f"completion.{name}"] for name in _COMPLETION}
        command = state.commands.pop(completion["tag"])
        state.luns[command.way * self.luns + command.lun].remove(command)
        data, slot = b"", -1
        if moved_data(command, completion["status"]):
            slot = completion["slot"]
            state.held.add(slot)
            data = state.landing.read(slot * state.slot_words, command.length)
        cause = self._spans[channel].record(state, command, completion, edge_ps)
        state.launches.leave(command, cause)
        command.done.succeed(
            FlashResult(
                data,
                completion["status"],
                completion["corrected"],
                slot,
                cause,
                completion["nand_status"],
                completion["failed"],
            )
        )

    def _outstanding(self) -> list[str]:
        return [
            f"flash {command.name} of channel {channel}, way {command.way}, LUN {command.lun}, "
            f"row {command.row} ({'begun' if command.has_begun else 'waiting'})"
            for channel, state in enumerate(self._channels)
            for command in state.commands.values()
        ]


def _registers(engine: UnitEngine, unit: int, part: NandPart, ways: int) -> list[list[Any]]:
    """Memories of the page registers of each way."""
    count = part.luns
    if part.extended is not None:
        count *= part.planes * REGISTERS
    return [
        [engine.memory(unit, f"die{way}.page{number}.ram.mem") for number in range(count)]
        for way in range(ways)
    ]
