"""The controller of the checks and the part on its bus, and how both are put into a check."""

from dataclasses import replace

from rtl.contract.channel import ChannelOperation
from rtl.contract.nand_part import ExtendedTimes, NandPart
from rtl.formal.channel import ChannelCheck
from rtl.nand.controller import FlashChannelController

__all__ = [
    "CLOCK",
    "LONGEST_BUSY",
    "LONGEST_STALL",
    "PART",
    "PERIOD_PS",
    "READ_CLOCKS",
    "WRITES",
    "WRITE_CLOCKS",
    "WRITING_PART",
    "channel_check",
    "controller",
    "writing_check",
]

PERIOD_PS = 10_000
CLOCK = PERIOD_PS
PART = NandPart(
    name="formal",
    page_bytes=2,
    spare_bytes=2,
    pages_per_block=2,
    blocks_per_lun=2,
    luns=1,
    t_r_ps=CLOCK,
    t_wc_ps=2 * CLOCK,
    t_wp_ps=CLOCK,
    t_wh_ps=CLOCK,
    t_cs_ps=CLOCK,
    t_ch_ps=CLOCK,
    t_cals_ps=CLOCK,
    t_cah_ps=CLOCK,
    t_wb_ps=2 * CLOCK,
    t_rr_ps=CLOCK,
    t_whr_ps=3 * CLOCK,
    t_ccs_ps=3 * CLOCK,
    t_rhw_ps=3 * CLOCK,
    t_rpre_ps=CLOCK,
    t_rpst_ps=CLOCK,
    t_dqsre_ps=CLOCK,
    poll_first_ps=2 * CLOCK,
    poll_period_ps=8 * CLOCK,
)
"""The smallest part: times of a few clocks, so that a read ends within a bounded check."""

WRITING_PART = replace(
    PART,
    name="formal, writing",
    planes=2,
    extended=ExtendedTimes(
        t_adl_ps=2 * CLOCK,
        t_wpre_ps=CLOCK,
        t_wpst_ps=CLOCK,
        t_prog_ps=CLOCK,
        t_bers_ps=CLOCK,
        t_cbsy_ps=CLOCK,
        t_rcbsy_ps=CLOCK,
        t_dbsy_ps=CLOCK,
        t_feat_ps=CLOCK,
        t_rst_ps=CLOCK,
    ),
)
"""The same, for all operations."""
WRITES = (
    ChannelOperation.PROGRAM,
    ChannelOperation.PROGRAM_CACHE,
    ChannelOperation.PROGRAM_PLANE,
    ChannelOperation.ERASE,
    ChannelOperation.ERASE_PLANE,
)

LONGEST_BUSY, LONGEST_STALL = 4, 2
READ_CLOCKS = 56
"""Bound of a read of ``PART`` that finds the channel idle, with a longest array time and stall."""
WRITE_CLOCKS = 60
"""The same of a program or erase of ``WRITING_PART``."""


def controller(part, **arguments):
    """The controller of the checks; a broken one takes the same arguments."""
    return FlashChannelController(part, **arguments)


def channel_check(claim, *, ways=1, part=PART, **arguments):
    """How a property makes its check of a controller, with the arguments of the check."""

    def make(design=controller):
        made = design(part, period_ps=PERIOD_PS, ways=ways, slots=1)
        return ChannelCheck(made, part, claim, period_ps=PERIOD_PS, ways=ways, **arguments)

    return make


def writing_check(claim, **arguments):
    """The same, of programs and erases on a part that has them."""
    return channel_check(claim, part=WRITING_PART, operations=WRITES, **arguments)
