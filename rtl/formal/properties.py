"""The properties, each with the circuit that states it, and how far it is checked."""

from dataclasses import dataclass, replace

from amaranth.hdl import Assert
from amaranth.lib import data

from rtl.axi4 import Axi4Read
from rtl.formal import claims
from rtl.formal.channel_part import (
    CLOCK,
    LONGEST_BUSY,
    LONGEST_STALL,
    PART,
    READ_CLOCKS,
    WRITE_CLOCKS,
    WRITES,
    WRITING_PART,
    channel_check,
    writing_check,
)
from rtl.formal.free import FreeCheck
from rtl.formal.gather_part_properties import GATHER_PART_PROPERTIES
from rtl.formal.gather_properties import GATHER_PROPERTIES
from rtl.formal.monitors import claim_stable
from rtl.formal.property import Property
from rtl.formal.queues import MailboxCheck, QueueCheck
from rtl.formal.shared_properties import SHARED_PROPERTIES
from rtl.formal.slots import LandingCheck, LaunchCheck
from rtl.gather.arbiter import ReadArbiter
from rtl.gather.control import LaunchControl
from rtl.gather.ids import IdRequester
from rtl.gather.mailbox import Mailbox as GatherMailbox
from rtl.gather.queue import Pair, Queue
from rtl.mixer import PositionMixer
from rtl.nand.landing import Landing
from rtl.nand.launch import Launch
from rtl.nand.mailbox import Mailbox as ChannelMailbox

__all__ = ["DISTANCES", "PROPERTIES", "with_times"]

QUEUE_DEPTH = 4
WORD = data.StructLayout({"word": 2})


def _queue(design=Queue):
    return QueueCheck(design(WORD, QUEUE_DEPTH), QUEUE_DEPTH)


def _pair(design=Pair):
    return QueueCheck(design(WORD), 2)


def _gather_mailbox(design=GatherMailbox):
    mailbox = design(WORD, QUEUE_DEPTH)
    return MailboxCheck(mailbox, mailbox.messages, QUEUE_DEPTH)


def _channel_mailbox(design=ChannelMailbox):
    mailbox = design(WORD, depth=QUEUE_DEPTH)
    return MailboxCheck(mailbox, mailbox.output, QUEUE_DEPTH)


SLOT_WORDS = 3
"""The least that reaches into a second word of the memory, of :data:`SLOT_WORD_BITS`."""
SLOT_SIZES = {"slots": 2, "phases": 1}
SLOT_WORD_BITS = 16


def _slots(check, design):
    transfer_bytes = SLOT_WORDS * SLOT_SIZES["phases"]
    made = design(transfer_bytes=transfer_bytes, memory_bits=SLOT_WORD_BITS, **SLOT_SIZES)
    return check(made, words=SLOT_WORDS, **SLOT_SIZES)


def _landing(design=Landing):
    return _slots(LandingCheck, design)


def _launch(design=Launch):
    return _slots(LaunchCheck, design)


def _stable(name, component, output, depth=3, queue=None):
    """A property: the stream that ``output`` takes from the component keeps its payload.

    ``queue`` takes one from it whose registers have to agree for that, which is claimed as well.
    """

    def claim(m, made):
        claim_stable(m, output(made))
        if queue is not None:
            m.d.comb += Assert(queue(made).agree)

    def make(design=component):
        return FreeCheck(design(), claim)

    return Property(
        f"{name}-stable",
        f"{STABLE[name]} stays, unchanged, until it is taken",
        "prove",
        depth,
        make,
    )


STABLE = {
    "axi-request": "a read request on the gather unit's AXI port",
    "id-request": "a request for an id",
    "launch-done": "the end of a launch",
    "position": "a position of the mixer",
}


@dataclass(frozen=True)
class _Distance:
    """A time of the part, how many clocks it is made, and after how many it has been met."""

    clocks: int
    depth: int
    luns: int = 1
    also: tuple[tuple[str, int], ...] = ()
    is_of_writes: bool = False


DISTANCES = {
    "t_wp_ps": _Distance(3, 16, also=(("t_wc_ps", 4),)),
    "t_wh_ps": _Distance(3, 16, also=(("t_wc_ps", 4),)),
    "t_wc_ps": _Distance(5, 16),
    "t_cs_ps": _Distance(5, 16),
    "t_ch_ps": _Distance(5, 36),
    "t_cals_ps": _Distance(4, 24),
    "t_cah_ps": _Distance(4, 16),
    "t_wb_ps": _Distance(9, 36, also=(("poll_first_ps", 9),)),
    "t_whr_ps": _Distance(6, 40, luns=2),
    "t_ccs_ps": _Distance(6, 50),
    "t_rhw_ps": _Distance(16, 72),
    "t_rpre_ps": _Distance(3, 50),
    "t_rpst_ps": _Distance(5, 60),
    "t_adl_ps": _Distance(6, 36, is_of_writes=True),
    "t_wpre_ps": _Distance(4, 36, is_of_writes=True),
    "t_wpst_ps": _Distance(4, 40, is_of_writes=True),
}


def with_times(part, **times):
    """The part with other times, of those that it has beyond plain reads, too."""
    extended = {name: times.pop(name) for name in [*times] if not hasattr(part, name)}
    if extended:
        times["extended"] = replace(part.extended, **extended)
    return replace(part, **times)


def distance_part(name):
    """The part on which the time ``name`` is long enough to be told from its neighbours."""
    distance = DISTANCES[name]
    clocks = {name: distance.clocks, **dict(distance.also)}
    times = {key: count * CLOCK for key, count in clocks.items()}
    part = WRITING_PART if distance.is_of_writes else PART
    return with_times(replace(part, luns=distance.luns), **times)


def _distances():
    for name, distance in DISTANCES.items():
        time = name.removesuffix("_ps")
        more = {"operations": WRITES} if distance.is_of_writes else {}
        yield Property(
            f"gap-{time.replace('_', '-')}",
            f"{time[0]}{time[2:].upper()} is never short",
            "bmc",
            distance.depth,
            channel_check(claims.distance_claim(name), part=distance_part(name), **more),
            is_quick=name in ("t_wp_ps", "t_wb_ps"),
        )


PROPERTIES = (
    Property(
        "queue",
        "a queue neither loses, repeats, reorders nor overflows; its head is stable",
        "bmc",
        12,
        _queue,
        is_quick=True,
    ),
    Property(
        "pair",
        "two registers in turns neither lose, repeat nor reorder; their head is stable",
        "bmc",
        12,
        _pair,
        is_quick=True,
    ),
    Property(
        "gather-mailbox",
        "so with the gather unit's mailbox, whose writer keeps to its depth",
        "bmc",
        12,
        _gather_mailbox,
    ),
    Property(
        "channel-mailbox",
        "so with the channel's",
        "bmc",
        12,
        _channel_mailbox,
        is_quick=True,
    ),
    Property(
        "landing",
        "data lands in its slot, each word once and in order; a slot is free until it is taken",
        "bmc",
        16,
        _landing,
    ),
    Property(
        "launch",
        "data is launched from its slot, each word once and in order; a word on offer is stable",
        "bmc",
        16,
        _launch,
    ),
    _stable(
        "axi-request",
        lambda: ReadArbiter(Axi4Read(64, 512, 2), 3),
        lambda made: made.axi.ar,
        queue=lambda made: made.kept,
    ),
    _stable(
        "id-request",
        lambda: IdRequester(512),
        lambda made: made.requests,
        12,
        queue=lambda made: made.run_up.pair,
    ),
    _stable("launch-done", LaunchControl, lambda made: made.done),
    _stable(
        "position",
        lambda: PositionMixer(8),
        lambda made: made.positions,
        16,
        queue=lambda made: made.run_up.pair,
    ),
    *GATHER_PROPERTIES,
    *GATHER_PART_PROPERTIES,
    Property(
        "chip-enable",
        "at most one CE# is low",
        "prove",
        8,
        channel_check(claims.one_chip_enable, ways=2),
        is_quick=True,
    ),
    Property(
        "drivers",
        "controller and dies never drive DQ or DQS together, nor do two dies",
        "bmc",
        64,
        channel_check(claims.drivers_never_fight, ways=2),
    ),
    *_distances(),
    Property(
        "completion-stable",
        "a completion stays, unchanged, until it is taken",
        "bmc",
        60,
        channel_check(claims.completions_are_stable),
    ),
    Property(
        "completion-reached",
        "a read completes",
        "cover",
        56,
        channel_check(claims.reaches_a_completion),
        is_quick=True,
    ),
    Property(
        "completes-once",
        "completions never outnumber the commands that were taken",
        "bmc",
        56,
        channel_check(claims.completes_once),
    ),
    Property(
        "completes-in-time",
        f"a command that comes alone completes once, by its tag, within {READ_CLOCKS} clocks",
        "bmc",
        READ_CLOCKS + 6,
        channel_check(
            claims.completes_within(READ_CLOCKS),
            longest_busy=LONGEST_BUSY,
            longest_stall=LONGEST_STALL,
            one_at_a_time=True,
        ),
    ),
    Property(
        "writes-reached",
        "a program, plain or cached, an erase, and one that queues a plane complete",
        "cover",
        WRITE_CLOCKS + 6,
        writing_check(claims.finishes_each(WRITES)),
    ),
    Property(
        "writing-chip-enable",
        "at most one CE# is low, with programs and erases",
        "prove",
        8,
        writing_check(claims.one_chip_enable, ways=2),
    ),
    Property(
        "writing-drivers",
        "controller and dies never drive DQ or DQS together, with programs and erases",
        "bmc",
        64,
        writing_check(claims.drivers_never_fight, ways=2),
    ),
    Property(
        "writing-completion-stable",
        "a completion stays, unchanged, until it is taken, with programs and erases",
        "bmc",
        48,
        writing_check(claims.completions_are_stable),
    ),
    Property(
        "write-completes-in-time",
        "a program or erase, be it cached or queue a plane, that comes alone completes once, by "
        f"its tag, within {WRITE_CLOCKS} clocks",
        "bmc",
        WRITE_CLOCKS + 6,
        writing_check(
            claims.completes_within(WRITE_CLOCKS),
            longest_busy=LONGEST_BUSY,
            longest_stall=LONGEST_STALL,
            one_at_a_time=True,
            legal=True,
        ),
    ),
    *SHARED_PROPERTIES,
)
