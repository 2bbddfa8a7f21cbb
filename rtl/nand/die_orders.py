"""Which array operation of a die starts, and where; simulation only."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.contract.channel import ArrayOperation
from rtl.nand.die_commands import RESUMES, SUSPENDS, row_width

__all__ = ["CACHE_READS", "DieOrders", "place_layout", "plane_of"]

PROGRAMS = (
    ArrayOperation.PROGRAM,
    ArrayOperation.PROGRAM_CACHE,
    ArrayOperation.PROGRAM_PLANE,
)
CACHE_READS = (
    ArrayOperation.READ_CACHE_RANDOM,
    ArrayOperation.READ_CACHE_SEQUENTIAL,
    ArrayOperation.READ_CACHE_END,
)
READS = (ArrayOperation.READ, ArrayOperation.READ_PLANE)
TARGET_QUESTIONS = (
    ArrayOperation.PARAMETER_PAGE,
    ArrayOperation.GET_FEATURES,
    ArrayOperation.SET_FEATURES,
)


def place_layout(part):
    """Fields of a place in a die: LUN, plane and row of the LUN, or an address of one byte."""
    return {
        "lun": range(max(part.luns, 2)),
        "plane": range(max(part.planes, 2)),
        "row": row_width(part),
    }


def plane_of(part, row):
    """Plane of a row of a LUN: the lowest bits of its block (ONFI 3.1, section 3.1)."""
    return row[exact_log2(part.pages_per_block) :][: exact_log2(part.planes)]


class DieOrders(wiring.Component):
    """Finds the place of an operation, and whether it starts; all within one clock.

    A program is done where its data was loaded, a feature set by the address before its data; a
    sequential cached read goes on after the row before, and its end repeats that row. All others
    are done where they were addressed. A busy LUN takes nothing but a reset, what concerns the
    whole target wants all LUNs idle, and a cached read wants a read before. A LUN that holds what
    was suspended takes nothing but reads, and its resume.

    Parameters
    ----------
    part : NandPart

    Members
    -------
    ask : In(1)
        An operation is complete on the bus.
    asked, asked_lun, asked_row : In
        It, and its address.
    chosen_lun, chosen_row : In
        LUN and row that were chosen before.
    last_row : In
        Row of the last operation of ``lun``.
    reads : In(1)
        A cached read of ``lun`` may follow.
    idle, free : In(luns)
        LUNs that take reads, and all other operations.
    suspends, resumes : In(luns)
        LUNs that can suspend, or resume, what ``asked`` is for; only of a part that has both.
    start, lun, plane, row : Out
        It starts, at this place; plane 0 if it concerns the target.
    """

    def __init__(self, part):
        self._part = part
        place = place_layout(part)
        suspend = {"suspends": In(part.luns), "resumes": In(part.luns)}
        super().__init__(
            (suspend if part.suspend is not None else {})
            | {
                "ask": In(1),
                "asked": In(ArrayOperation),
                "asked_lun": In(place["lun"]),
                "asked_row": In(place["row"]),
                "chosen_lun": In(place["lun"]),
                "chosen_row": In(place["row"]),
                "last_row": In(place["row"]),
                "reads": In(1),
                "idle": In(part.luns),
                "free": In(part.luns),
                "start": Out(1),
                "lun": Out(place["lun"]),
                "plane": Out(place["plane"]),
                "row": Out(place["row"]),
            }
        )

    def elaborate(self, platform):
        m = Module()
        with m.If(self.ask):
            self._find(m)
            self._allow(m)
        return m

    def _find(self, m):
        m.d.comb += [
            self.lun.eq(self.asked_lun),
            self.row.eq(self.asked_row),
            self.plane.eq(plane_of(self._part, self.row)),
        ]
        with m.Switch(self.asked):
            with m.Case(*PROGRAMS):
                m.d.comb += [self.lun.eq(self.chosen_lun), self.row.eq(self.chosen_row)]
            with m.Case(ArrayOperation.READ_CACHE_SEQUENTIAL):
                m.d.comb += [self.lun.eq(self.chosen_lun), self.row.eq(self.last_row + 1)]
            with m.Case(ArrayOperation.READ_CACHE_END):
                m.d.comb += [self.lun.eq(self.chosen_lun), self.row.eq(self.last_row)]
            with m.Case(ArrayOperation.SET_FEATURES):
                m.d.comb += [self.lun.eq(0), self.row.eq(self.chosen_row)]
        with m.Switch(self.asked):
            with m.Case(*TARGET_QUESTIONS):
                m.d.comb += self.plane.eq(0)

    def _allow(self, m):
        is_idle, is_free = (luns.bit_select(self.lun, 1) for luns in (self.idle, self.free))
        with m.Switch(self.asked):
            with m.Case(*READS):
                m.d.comb += self.start.eq(is_idle)
            if self._part.suspend is not None:
                for operations, luns in ((SUSPENDS, self.suspends), (RESUMES, self.resumes)):
                    with m.Case(*operations):
                        m.d.comb += self.start.eq(luns.bit_select(self.lun, 1))
            with m.Case(ArrayOperation.RESET):
                m.d.comb += self.start.eq(1)
            with m.Case(*TARGET_QUESTIONS):
                m.d.comb += self.start.eq(self.free.all())
            with m.Case(*CACHE_READS):
                m.d.comb += self.start.eq(is_free & self.reads)
            with m.Default():
                m.d.comb += self.start.eq(is_free)
