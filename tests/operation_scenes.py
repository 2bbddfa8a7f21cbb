"""Parts of short times, and commands on them in which a controller's slips show."""

import random
from dataclasses import replace

from rtl.contract.channel import ChannelOperation
from tests.controller_bench import FULL as SLOW
from tests.controller_bench import Command
from tests.scenarios.onfi_operations import SUSPEND

FULL = replace(
    SLOW,
    t_r_ps=300_000,
    extended=replace(
        SLOW.extended, t_prog_ps=1_000_000, t_bers_ps=300_000, t_rcbsy_ps=100_000, t_dbsy_ps=100_000
    ),
)
FULL_TWO_LUNS = replace(FULL, name="full two LUNs", luns=2)
FULL_TWO_PLANES = replace(FULL, name="full two planes", planes=2, blocks_per_lun=4)
SUSPENDING = replace(FULL, name="full and suspends", suspend=SUSPEND)
DATA = bytearray(random.Random(1).randbytes(304))
DATA[4:6] = bytes(2)
ERASE = (ChannelOperation.ERASE, {})


def commands(*fields):
    """Commands for the first LUN, one after the other; whole pages if nothing else is said."""
    common = {"edge": 3, "length": 304}
    return tuple(
        Command(operation=operation, **common | {"tag": tag} | others)
        for tag, (operation, others) in enumerate(fields)
    )


PROGRAM = commands(ERASE, (ChannelOperation.PROGRAM, {}), (ChannelOperation.READ, {}))
PIECES = commands(
    ERASE,
    (ChannelOperation.LOAD, {"length": 10}),
    (ChannelOperation.PROGRAM_MORE, {"column": 40, "length": 20}),
    (ChannelOperation.READ, {"column": 40, "length": 20}),
)
FEATURE = commands(
    (ChannelOperation.SET_FEATURES, {"row": 1, "length": 4}),
    (ChannelOperation.GET_FEATURES, {"row": 1, "length": 4}),
)
CACHED_READS = commands(
    (ChannelOperation.SENSE, {}),
    (ChannelOperation.READ_CACHE_SEQUENTIAL, {}),
    (ChannelOperation.READ_CACHE_END, {}),
    (ChannelOperation.READ, {"row": 8}),
)
INTO_THE_NEXT_BLOCK = commands(
    (ChannelOperation.SENSE, {"row": 3}),
    (ChannelOperation.READ_CACHE_RANDOM, {"row": 4}),
    (ChannelOperation.READ_CACHE_END, {"row": 4}),
)
OTHER_PLANE = commands(
    (ChannelOperation.ERASE, {"row": 4}),
    (ChannelOperation.SENSE, {}),
    (ChannelOperation.PROGRAM, {"row": 4}),
    (ChannelOperation.READ, {"row": 4}),
)
IN_A_ROW = commands(
    ERASE,
    (ChannelOperation.READ, {"way": 1, "edge": 200}),
    (ChannelOperation.PROGRAM, {"edge": 350}),
    (ChannelOperation.PROGRAM, {"edge": 350, "row": 1, "slot": 1}),
)
"""Both programs come while the bus is busy with a page of the other way."""
