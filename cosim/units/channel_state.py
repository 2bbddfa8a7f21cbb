"""One flash channel as its port keeps it: mailboxes, memories, outstanding commands, releases."""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cosim.units.array import DieArrays, commands_of
from cosim.units.handover import HandOver
from cosim.units.launch_slots import LaunchSlots
from cosim.units.lun_array import Work
from rtl.contract.channel import ArrayOperation, ChannelCommand, ChannelOperation
from rtl.contract.codec import pack
from rtl.contract.kernel import Cause
from rtl.contract.nand_part import NandPart
from rtl.contract.operations import OPERATIONS

__all__ = ["WORD_BYTES", "ChannelState", "Command", "UnitEngine", "last_release"]

WORD_BYTES = 128


class UnitEngine(Protocol):
    """What the ports need of an engine that runs units."""

    def mailbox(self, unit: int, name: str) -> Any: ...

    def memory(self, unit: int, path: str) -> Any: ...


@dataclass(eq=False, slots=True)
class Command:
    """A command from its submission to its completion."""

    operation: ChannelOperation
    way: int
    lun: int
    row: int
    column: int
    length: int
    data: bytes
    is_raw: bool
    request: int
    ready_ps: int
    """When it was submitted."""
    cause: Cause
    """What let it be handed over."""
    done: Any
    tag: int = -1
    launch_slot: int | None = None
    has_begun: bool = False
    """The die's array works on it, or has done so."""
    bus_span: int | None = None
    """Number of the span in which its data goes to the die, once others may wait for it."""

    @property
    def name(self) -> str:
        return self.operation.name.lower().replace("_", " ")

    @property
    def is_page_data(self) -> bool:
        """Its data goes into a page register, and is not a feature."""
        steps = OPERATIONS[self.operation]
        return bool(steps.programs or steps.keeps_bus)

    def word(self) -> int:
        """As a ``ChannelCommand``."""
        raw = pack(
            ChannelCommand,
            operation=self.operation,
            way=self.way,
            lun=self.lun,
            slot=self.launch_slot or 0,
            row=self.row,
            column=self.column,
            length=self.length,
            tag=self.tag,
            is_raw=self.is_raw,
        )
        return int.from_bytes(raw, "little")


class ChannelState:
    """One channel's mailboxes, memories and outstanding commands."""

    def __init__(
        self,
        engine: UnitEngine,
        unit: int,
        over: HandOver,
        part: NandPart,
        arrays: DieArrays,
        *,
        ways: int,
        slots: int,
    ) -> None:
        self.arrays = arrays
        self.command = engine.mailbox(unit, "command")
        self.command_toggle = engine.mailbox(unit, "command_toggle")
        self.landing_free = engine.mailbox(unit, "landing_free")
        self.landing = engine.memory(unit, "landing.memory.ram.mem")
        self.launch: Any = None
        if part.extended is not None:
            self.launch = engine.memory(unit, "launch.memory.ram.mem")
        self.slot_words = -(-part.raw_page_bytes // WORD_BYTES)
        self.over = over
        self.next_tag = 0
        self.commands: dict[int, Command] = {}
        self.luns: list[list[Command]] = [[] for _ in range(ways * part.luns)]
        self.launches: LaunchSlots[Command] = LaunchSlots(slots, self._hand_over)
        self.slots = slots
        self.held: set[int] = set()
        self.bus_releases: list[Cause] = []
        """Ends so far of what holds the bus for long: transfers, and data to dies; in order."""
        self.slot_releases: list[tuple[Cause, int]] = []
        """Landing slots given back, in order, and how many were held until then."""
        self.decoding: deque[tuple[int, int]] = deque(maxlen=slots)
        """When the last transfers came into the decoder, and when they completed."""

    def enter(self, command: Command) -> None:
        """Take a command in; it is handed over once it has its launch slot."""
        while self.next_tag in self.commands:
            self.next_tag = self.next_tag + 1 & 0xFFFF
        command.tag = self.next_tag
        self.next_tag = command.tag + 1 & 0xFFFF
        self.commands[command.tag] = command
        self.launches.enter(command)

    def _hand_over(self, command: Command, released: Cause | None) -> None:
        if released is not None:
            command.cause = released
        word = command.word()

        def write() -> None:
            if command.launch_slot is not None:
                self.launch.write(command.launch_slot * self.slot_words, command.data)
            self.command.set(word)
            self.command_toggle.flip()

        self.over.put(write)

    def release_bus(self, cause: Cause) -> None:
        """Note what held the bus until ``cause``."""
        insort(self.bus_releases, cause, key=lambda release: release.at_ps)

    def slot_release(self, own: Cause, end_ps: int) -> Cause:
        """Latest release of a slot between ``own`` and ``end_ps`` before which none was free.

        ``own`` if there is none. A slot whose data is in the decoder is not free either.
        """
        place = bisect_right(self.slot_releases, end_ps, key=lambda release: release[0].at_ps)
        for cause, held in reversed(self.slot_releases[:place]):
            if cause.at_ps <= own.at_ps:
                break
            inside = sum(begin <= cause.at_ps < end for begin, end in self.decoding)
            if held + inside == self.slots:
                return cause
        return own

    def begin(self, way: int, lun: int, operation: ArrayOperation) -> Command | None:
        """The LUN's command that begins with ``operation``; None if another LUN's may be meant."""
        asked = commands_of(operation)
        for command in self.luns[way * self.arrays.luns + lun]:
            if not command.has_begun and command.operation in asked:
                command.has_begun = True
                return command
        return None

    def begun(self, command: Command, issued_ps: int) -> Work | None:
        """The array's work for a command whose last bus cycle was at ``issued_ps``, if any began.

        Work of the LUN before that is forgotten.
        """
        return self.arrays.take_work(command.way, command.lun, command.operation, issued_ps)


def last_release(own: Cause, end_ps: int, log: Sequence[Cause]) -> Cause:
    """What let a wait from ``own.at_ps`` to ``end_ps`` go on: the last release within it."""
    place = bisect_right(log, end_ps, key=lambda cause: cause.at_ps)
    return log[place - 1] if place and log[place - 1].at_ps > own.at_ps else own
