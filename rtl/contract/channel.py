"""Words that pass between the kernel and one flash-channel unit.

A *mailbox* is an input word with a toggle bit: a changed toggle hands the word over at the first
clock edge strictly after the change. Events go the other way: the unit flips its event toggle at
the edge and holds the event word until the next event.
"""

from amaranth.lib import data, enum

__all__ = [
    "COMMANDS_PER_LUN",
    "MOST_SLOTS",
    "MOST_SUSPENDS",
    "NEVER",
    "STAMP_BITS",
    "ArrayDone",
    "ArrayOperation",
    "ChannelCommand",
    "ChannelCompletion",
    "ChannelCounters",
    "ChannelEvent",
    "ChannelOperation",
    "ChannelStatus",
    "DieBegin",
    "Violation",
]

STAMP_BITS = 48
NEVER = (1 << STAMP_BITS) - 1
"""Number of an edge that does not come."""

COMMANDS_PER_LUN = 2
"""Commands of a LUN that a channel holds: one active, one pending."""
MOST_SLOTS = 256
"""Landing slots of a channel at most, and launch slots."""
MOST_SUSPENDS = 16
"""How often one program or erase may be put aside, at most."""


class ChannelOperation(enum.IntEnum, shape=8):
    """What a command asks of the channel; its steps are in ``rtl.contract.operations``."""

    READ = 0
    SENSE = 1
    """A page into the page register, without a transfer: begins a sequence of cache reads."""
    SENSE_PLANE = 2
    """Queue a plane's page for the read that follows."""
    TRANSFER = 3
    """Data of a plane or page that was read before."""
    READ_CACHE_RANDOM = 4
    READ_CACHE_SEQUENTIAL = 5
    READ_CACHE_END = 6
    PROGRAM = 8
    PROGRAM_CACHE = 9
    PROGRAM_PLANE = 10
    """Queue a plane's page for the program that follows."""
    LOAD = 11
    """The beginning of a page, without a confirm cycle."""
    LOAD_MORE = 12
    """More of that page, at another column."""
    PROGRAM_MORE = 13
    """The last piece of that page, and program it."""
    ERASE = 16
    ERASE_PLANE = 17
    """Queue a plane's block for the erase that follows."""
    READ_STATUS = 24
    RESET = 25
    READ_ID = 26
    READ_PARAMETER_PAGE = 27
    GET_FEATURES = 28
    SET_FEATURES = 29
    READ_TARGET_STATUS = 30
    """Status by 70h, which has no address: of a way of one LUN, even if that has timed out."""


class ChannelStatus(enum.IntEnum, shape=8):
    """How a command ended."""

    OK = 0
    BAD_COMMAND = 1
    UNCORRECTABLE = 2
    FAILED = 3
    """The die says that its program or erase failed."""
    PREVIOUS_FAILED = 4
    """The die says that the cached program before this one failed."""
    TIMEOUT = 5
    """The LUN did not become ready in time; it takes nothing but a reset and 70h."""


class ArrayOperation(enum.IntEnum, shape=8):
    """Array operation whose time the kernel keeps, by its confirm cycle."""

    READ = 0
    READ_PLANE = 1
    READ_CACHE_RANDOM = 2
    READ_CACHE_SEQUENTIAL = 3
    READ_CACHE_END = 4
    PROGRAM = 5
    PROGRAM_CACHE = 6
    PROGRAM_PLANE = 7
    ERASE = 8
    ERASE_PLANE = 9
    RESET = 10
    PARAMETER_PAGE = 11
    GET_FEATURES = 12
    SET_FEATURES = 13
    PROGRAM_SUSPEND = 14
    """What runs in the LUN is put aside: begins with its number, and is answered by it."""
    PROGRAM_RESUME = 15
    """It goes on, under a number of its own."""
    ERASE_SUSPEND = 16
    ERASE_RESUME = 17


class ChannelCommand(data.Struct):
    """Order to the flash channel: ``length`` bytes from ``column`` of page ``row``; both even.

    ``slot`` is the launch slot of what goes to the die. Operations of one cycle of address (see
    ``rtl.contract.operations``) take it from the low byte of ``row``.
    """

    operation: 8
    way: 8
    lun: 8
    slot: 8
    row: 32
    column: 16
    length: 16
    tag: 16
    is_raw: 1
    """Page data bypasses ECC: that of a program the encoder, if the channel has one, that of a read
    the decoder; else the ``column`` of a read is a codeword's first.
    """
    reserved: 15


class ChannelCompletion(data.Struct):
    """End of a command, with the edge numbers at which each of its phases began.

    accepted
        The command was taken into the way's slot.
    command
        The first clock of its first command cycle on the bus.
    issued
        The edge at which its last cycle was latched by the die (rising WE#), or at which the die
        had its data if no cycle follows that.
    ready
        The controller learnt that the die is ready (R/B# or status).
    transfer
        The first clock of the bus operation that finishes it: 05h or 06h, 78h, or RE# for data that
        comes without a choice.
    received
        The last data word came from the bus, or the status byte was read.
    last
        The last data word was handed to the data stream: as ``received``, or an ECC decoder's
        latency later.

    A phase that an operation does not have ends when the one before it does. ``slot`` is the
    landing slot of data that came, or the launch slot of data that went.

    ``nand_status`` is the last status byte read for the command, 0 if there was none. With an ECC
    decoder ``corrected`` counts the bits that it corrected, and ``failed`` the codewords, at most
    255, that it could not; both are 0 without one.
    """

    tag: 16
    status: 8
    slot: 8
    corrected: 16
    nand_status: 8
    failed: 8
    accepted: 48
    command: 48
    issued: 48
    ready: 48
    transfer: 48
    received: 48
    last: 48
    polls: 16
    reserved1: 16


class DieBegin(data.Struct):
    """A die's R/B# fell: the array operation ``number`` begins at this edge."""

    number: 8
    operation: 8
    way: 8
    lun: 8
    row: 32
    register: 1
    """Which of the two registers of the plane the array works with."""
    reserved: 7


class Violation(data.Struct):
    """The bus checker saw a rule broken."""

    rule: 8
    way: 8


class ChannelEvent(data.Struct):
    """What the channel has to say at one edge; each part counts only where its valid bit is set."""

    completion_valid: 1
    begin_valid: 1
    violation_valid: 1
    reserved: 5
    violation: Violation
    begin: DieBegin
    completion: ChannelCompletion


class ArrayDone(data.Struct):
    """Kernel to one LUN: operation ``number`` is done, its data is in the page register.

    ``toggle`` changes with each answer. One such 16-bit word a LUN, LUN l of way w at word
    w * luns + l of the mailbox vector. A cached operation is answered twice: first with
    ``is_cached``, which raises RDY and leaves ARDY low, and at the end of the array's work without.

    A suspend is answered with ``is_cached`` by the number of what it puts aside, which has no other
    answer then: that is held, and the LUN ready, its ARDY low, until a resume. What would be over
    by then is answered as if there were no suspend.
    """

    number: 8
    toggle: 1
    is_cached: 1
    fail: 1
    """Status bit FAIL from now on."""
    failc: 1
    """Status bit FAILC from now on."""
    reserved: 4


class ChannelCounters(data.Struct):
    """Free-running event counts of one channel since reset, for tests and statistics.

    All but ``clock_stops`` are the same whether the clock stops or runs on.
    """

    commands: 32
    """Commands taken into a LUN's slot."""
    bad_commands: 32
    """Commands refused without bus activity."""
    polls: 32
    """Status polls (78h, or 70h)."""
    polls_busy: 32
    """Of these, polls that found the LUN busy."""
    transfers: 32
    """Bursts of page data started."""
    ties: 32
    """Decisions with more than one candidate in the class that was served."""
    class_conflicts: 32
    """Decisions with candidates in more than one class."""
    pending_full: 32
    """Commands that gave a LUN its second command: one active, one pending."""
    landing_full: 32
    """Times a ready LUN began to wait for a landing slot on an otherwise idle bus."""
    clock_stops: 32
    """Edges before which the clock had been stopped."""
    programs: 32
    """Pages, queued or cached ones included, whose program was confirmed on the bus."""
    erases: 32
    """Blocks, queued ones included, whose erase was confirmed on the bus."""
    failed: 32
    """Commands that ended with ``FAILED`` or ``PREVIOUS_FAILED``."""
    timeouts: 32
    """Commands that ended with ``TIMEOUT``."""
    corrected: 32
    """Codewords that the ECC decoder corrected."""
    uncorrectable: 32
    """Codewords that it could not correct."""
    suspends: 32
    """Programs and erases that were put aside for a read."""
