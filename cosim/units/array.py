"""What the arrays of a channel's dies do, in the kernel's time: sense, program, erase, answer.

Ref: ONFI 3.1, sections 5.3 (reset), 5.7 (parameter page), 5.9 (erase), 5.13 (status), 5.14 to 5.20
(reads and programs, cached ones too), 5.26 and 5.27 (features), and multi-plane operations.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cosim.lockstep import LockStep
from cosim.units.answers import Answers
from cosim.units.lun_array import LunArray, Medium, Place, Work
from rtl.contract.channel import ArrayOperation, ChannelOperation
from rtl.contract.nand_array import NandArrayTimes
from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import FEATURE_BYTES, READ_LEVEL_FEATURE
from rtl.contract.operations import OPERATIONS

__all__ = ["DieArrays"]

TIMING_MODE = 0x01
"""Feature that changes the data interface or its timing mode (ONFI 3.1, section 5.28)."""
CHANNEL_NAMES = {
    ArrayOperation.READ: (ChannelOperation.READ, ChannelOperation.SENSE),
    ArrayOperation.READ_PLANE: (ChannelOperation.SENSE_PLANE,),
    ArrayOperation.PROGRAM: (ChannelOperation.PROGRAM, ChannelOperation.PROGRAM_MORE),
    ArrayOperation.PARAMETER_PAGE: (ChannelOperation.READ_PARAMETER_PAGE,),
}
"""Commands that begin an array operation, where they have other names than it."""
SUSPENDS = (ArrayOperation.PROGRAM_SUSPEND, ArrayOperation.ERASE_SUSPEND)
RESUMES = (ArrayOperation.PROGRAM_RESUME, ArrayOperation.ERASE_RESUME)
RESET_TIMES = {
    "flash.erase": "t_rst_erase_ps",
    "flash.program": "t_rst_program_ps",
    "flash.sense": "t_rst_read_ps",
    None: "t_rst_ready_ps",
}
"""How long a reset takes by what it cuts off, the longest first."""


class DieArrays:
    """The arrays of all dies of one channel.

    An array does one thing at a time. A cached operation waits until it is free; then the LUN is
    busy for the time of the move between page registers, is answered, and the array goes on alone:
    its end is the second answer. What follows is done once the array is free.

    A page that is sensed lies in its register with the answer that ends the sensing. Bytes of a
    program are taken from the register at its begin, and are in the cells at the end of tPROG. A
    reset in the midst of a program or an erase leaves the page, or the block, unreadable; what was
    still waiting is not done. Features keep their values through a reset.

    A program or erase that is suspended keeps the time that was left when the suspend began. It
    goes on with the resume; reads come in between. What would be over by the time that a suspend
    takes is not suspended.

    FAIL is how the last program or erase ended, all of its planes together, and FAILC how the
    cached program before it did.

    Parameters
    ----------
    lockstep : LockStep
        Takes the answers.
    medium : Medium
        The cells.
    part : NandPart
        Its sizes.
    times : NandArrayTimes
        Its array times.
    registers : sequence of sequence
        Memories of the page registers of each way, by their numbers in ``NandDie``.
    answers : Answers
        Where answers go.
    channel : int
        For ``medium``.
    parameter_page : bytes
        What Read Parameter Page brings, copies included.
    """

    def __init__(
        self,
        lockstep: LockStep,
        medium: Medium,
        part: NandPart,
        *,
        times: NandArrayTimes,
        registers: Sequence[Sequence[Any]],
        answers: Answers,
        channel: int,
        parameter_page: bytes = b"",
    ) -> None:
        self.luns = part.luns
        self._times: Any = times
        self._parameter_page = parameter_page
        self._features: list[dict[int, bytes]] = [{} for _ in registers]
        self._luns = [
            [
                LunArray(
                    Place(channel, way, lun),
                    way * part.luns + lun,
                    env=lockstep.kernel.env,
                    medium=medium,
                    part=part,
                    times=times,
                    registers=_by_plane(memories, part, lun),
                    answers=answers,
                    read_level=partial(self._read_level, way),
                )
                for lun in range(part.luns)
            ]
            for way, memories in enumerate(registers)
        ]
        self._targets: dict[ArrayOperation, Callable[[int, int, int], None]] = {
            ArrayOperation.RESET: self._reset,
            ArrayOperation.PARAMETER_PAGE: self._bring_parameter_page,
            ArrayOperation.GET_FEATURES: self._get_feature,
            ArrayOperation.SET_FEATURES: self._set_feature,
        }

    def feature(self, way: int, address: int) -> bytes:
        """The four bytes of a feature of a way's die; zeros before it is set."""
        return self._features[way].get(address, bytes(FEATURE_BYTES))

    def _read_level(self, way: int) -> int:
        return self.feature(way, READ_LEVEL_FEATURE)[0]

    def begin(
        self, way: int, lun: int, number: int, operation: int, row: int, register: int
    ) -> None:
        """A die says that an array operation begins now; the parameters are those of a DieBegin."""
        asked = ArrayOperation(operation)
        if asked in SUSPENDS:
            self._luns[way][lun].put_aside(asked)
            return
        if asked in RESUMES:
            self._luns[way][lun].resume(number)
            return
        self._luns[way][lun].begin(number, asked)
        if asked in self._targets:
            self._targets[asked](way, row, register)
        else:
            self._luns[way][lun].do(asked, row, register)

    def take_work(
        self, way: int, lun: int, operation: ChannelOperation, issued_ps: int
    ) -> Work | None:
        """The work that a command whose last bus cycle was at ``issued_ps`` has begun, if any.

        Work of the LUN that began before is forgotten.
        """
        steps = OPERATIONS[operation]
        works = self._luns[way][0 if steps.is_target else lun].works
        while works and works[0].begin_ps < issued_ps:
            works.popleft()
        if steps.is_busy and works and operation in commands_of(works[0].operation):
            return works.popleft()
        return None

    def _reset(self, way: int, row: int, register: int) -> None:
        stages = [lun.cut_off() for lun in self._luns[way]]
        time = next(time for stage, time in RESET_TIMES.items() if stage in stages)
        self._luns[way][0].be_busy("flash.reset", getattr(self._times, time))

    def _bring_parameter_page(self, way: int, row: int, register: int) -> None:
        self._bring(way, register, "flash.sense", self._times.t_r_ps, self._parameter_page)

    def _get_feature(self, way: int, row: int, register: int) -> None:
        value = self.feature(way, row)
        self._bring(way, register, "flash.feature", self._times.t_feat_ps, value)

    def _set_feature(self, way: int, row: int, register: int) -> None:
        value = self._luns[way][0].registers[0][register].read(0, FEATURE_BYTES)
        duration_ps = self._times.t_itc_ps if row == TIMING_MODE else self._times.t_feat_ps

        def keep() -> None:
            self._features[way][row] = value

        self._luns[way][0].be_busy("flash.feature", duration_ps, keep)

    def _bring(self, way: int, register: int, stage: str, duration_ps: int, value: bytes) -> None:
        """Put what a way was asked for into its first page register."""
        memory = self._luns[way][0].registers[0][register]
        self._luns[way][0].be_busy(stage, duration_ps, lambda: memory.write(0, value))


def commands_of(operation: ArrayOperation) -> tuple[ChannelOperation, ...]:
    """Commands whose last bus cycle begins ``operation``."""
    if operation in (*SUSPENDS, *RESUMES):
        return ()
    return CHANNEL_NAMES.get(operation) or (ChannelOperation[operation.name],)


def _by_plane(memories: Sequence[Any], part: NandPart, lun: int) -> list[Sequence[Any]]:
    """Page registers of a LUN by plane and number; one of each in a part of plain reads."""
    each = len(memories) // (part.luns * part.planes)
    first = lun * part.planes
    return [
        memories[each * (first + plane) : each * (first + plane + 1)]
        for plane in range(part.planes)
    ]
