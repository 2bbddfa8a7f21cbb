# amaranth: UnusedElaboratable=no
"""Who uses the bus when: pieces of a page, whole ways, lost LUNs, and streams that stall."""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.onfi import FEATURE_BYTES
from rtl.nand.controller import FlashChannelController
from tests.controller_bench import FULL, FULL_TWO_LUNS, Command, ControllerBench
from tests.scenarios.nand import PERIOD_PS, TINY
from tests.scenarios.nand_reads import page_image

pytestmark = pytest.mark.slow

DATA = random.Random(1).randbytes(304)


def commands(*fields):
    """Commands with a page's row and ten bytes, tagged in order, offered 20 clocks apart."""
    common = {"row": 5, "length": 10}
    return [
        Command(**common | {"tag": tag, "edge": 3 + 20 * tag, "operation": operation} | others)
        for tag, (operation, others) in enumerate(fields)
    ]


def opcodes(bench):
    """Way and first command of each bus operation."""
    return [(operation.way, operation.text.split()[0]) for operation in bench.target.log]


def test_pieces_of_a_page_follow_each_other():
    """Another way's read waits, however late the pieces come."""
    bench = ControllerBench(ways=2, launch={0: DATA})
    bench.run(
        commands(
            (ChannelOperation.LOAD, {}),
            (ChannelOperation.READ, {"way": 1}),
            (ChannelOperation.LOAD_MORE, {"column": 20, "edge": 300}),
            (ChannelOperation.PROGRAM_MORE, {"column": 40, "edge": 600}),
        )
    )
    first = [(0, "80"), (0, "85"), (0, "85"), (1, "00")]
    assert opcodes(bench)[:4] == first
    assert bench.log_of("00").begin > bench.target.log[2].marks["end"]


def test_pieces_of_a_page_keep_polls_and_transfers_away():
    bench = ControllerBench(FULL_TWO_LUNS, ways=2, launch={0: DATA})
    bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.READ, {"way": 1}),
            (ChannelOperation.LOAD, {"lun": 1}),
            (ChannelOperation.PROGRAM_MORE, {"lun": 1, "column": 20, "edge": 900}),
        )
    )
    found = opcodes(bench)
    assert found[2:4] == [(0, "80"), (0, "85")]
    assert {(0, "78"), (1, "78"), (1, "05")} <= set(found[4:])


def test_a_page_that_became_ready_waits_for_the_pieces_of_another():
    """Way 1's R/B# rises while way 0's first piece is on the bus."""
    bench = ControllerBench(ways=2, launch={0: DATA})
    bench.run(
        commands(
            (ChannelOperation.READ, {"way": 1}),
            (ChannelOperation.LOAD, {"edge": 100}),
            (ChannelOperation.PROGRAM_MORE, {"column": 20, "edge": 900}),
        )
    )
    assert opcodes(bench)[:4] == [(1, "00"), (0, "80"), (0, "85"), (1, "05")]


def test_what_is_about_a_way_needs_the_way_to_itself():
    """LUN 1's features wait for LUN 0's read, and LUN 0's next read for the features."""
    bench = ControllerBench(FULL_TWO_LUNS, ways=2, busy={0x30: 200, 0xEE: 300})
    bench.run(
        commands(
            (ChannelOperation.READ, {}),
            (ChannelOperation.GET_FEATURES, {"lun": 1}),
            (ChannelOperation.READ, {"lun": 0}),
            (ChannelOperation.READ, {"way": 1, "edge": 400}),
        )
    )
    here = [first for way, first in opcodes(bench) if way == 0 and first != "78"]
    assert here == ["00", "05", "EE", "out", "00", "05"]
    features, output = bench.log_of("EE"), bench.log_of("out")
    assert any(features.begin < other.begin < output.begin for other in bench.target.log)


def test_ready_of_a_whole_way_is_read_from_its_line():
    bench = ControllerBench(FULL_TWO_LUNS, busy={0xEE: 300})
    (done,) = bench.run(commands((ChannelOperation.GET_FEATURES, {"lun": 1}))).values()
    assert done["polls"] == 0
    assert done["ready"] == done["issued"] + 10 + 300


def test_a_reset_between_pieces_of_a_page_waits_for_no_poll_that_may_not_come():
    bench = ControllerBench(FULL_TWO_LUNS, launch={0: DATA}, busy={0xD0: 500})
    done = bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.LOAD, {"lun": 1}),
            (ChannelOperation.RESET, {"lun": 1}),
        )
    )
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.OK}
    assert opcodes(bench)[-1] == (0, "FF")


@pytest.mark.parametrize("luns", [1, 2])
def test_plain_reads_are_the_same_on_a_part_that_does_more(luns):
    rng = random.Random(luns)
    part = replace(FULL, luns=luns, poll_period_ps=700_000)
    reads = random_commands(rng, part, 2, 12, [ChannelOperation.READ])
    full = ControllerBench(part, ways=2)
    plain = ControllerBench(replace(part, extended=None), ways=2)
    found, expected = full.run(reads), plain.run(reads)
    assert {tag: done | {"nand_status": 0} for tag, done in found.items()} == expected
    assert full.target.log == plain.target.log


FOREVER = 10**9
LIMIT = {"watchdog_ps": 2_000_000}


def test_a_lun_that_hangs_is_given_up_until_a_reset():
    bench = ControllerBench(busy={0xD0: FOREVER}, **LIMIT)
    done = bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.READ, {}),
            (ChannelOperation.READ_STATUS, {}),
            (ChannelOperation.RESET, {}),
            (ChannelOperation.READ, {}),
        )
    )
    statuses = [done[tag]["status"] for tag in range(5)]
    assert statuses == [ChannelStatus.TIMEOUT] * 3 + [ChannelStatus.OK] * 2
    assert done[0]["ready"] == done[0]["issued"] + 200
    assert opcodes(bench) == [(0, "60"), (0, "FF"), (0, "00"), (0, "05")]
    assert int(bench.counters.timeouts) == 3


def test_a_lun_that_was_given_up_tells_its_status_and_nothing_else_changes():
    bench = ControllerBench(busy={0xD0: 400}, **LIMIT)
    done = bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.READ_TARGET_STATUS, {}),
            (ChannelOperation.READ_TARGET_STATUS, {"edge": 600}),
            (ChannelOperation.READ, {"edge": 601}),
            (ChannelOperation.RESET, {"edge": 602}),
            (ChannelOperation.READ, {"edge": 603}),
        )
    )
    assert [done[tag]["status"] for tag in range(6)] == [
        ChannelStatus.TIMEOUT,
        *[ChannelStatus.OK] * 2,
        ChannelStatus.TIMEOUT,
        *[ChannelStatus.OK] * 2,
    ]
    # Busy, then ready long after.
    assert [done[tag]["nand_status"] for tag in (1, 2)] == [0x80, 0xE0]
    assert [first for _, first in opcodes(bench)] == ["60", "70", "70", "FF", "00", "05"]
    assert int(bench.counters.polls_busy) == 1


def test_a_reset_that_hangs_leaves_the_lun_lost():
    bench = ControllerBench(busy={0xD0: FOREVER, 0xFF: FOREVER}, **LIMIT)
    done = bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.RESET, {}),
            (ChannelOperation.READ, {}),
        )
    )
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.TIMEOUT}
    assert opcodes(bench) == [(0, "60"), (0, "FF")]


def test_a_lost_lun_leaves_its_neighbour_alone_and_any_reset_of_the_way_frees_it():
    bench = ControllerBench(FULL_TWO_LUNS, busy={0xD0: FOREVER, 0x30: 100}, **LIMIT)
    done = bench.run(
        commands(
            (ChannelOperation.ERASE, {}),
            (ChannelOperation.READ, {"lun": 1, "edge": 400}),
            (ChannelOperation.GET_FEATURES, {"lun": 1, "edge": 500}),
            (ChannelOperation.RESET, {"lun": 1, "edge": 1000}),
            (ChannelOperation.READ, {"edge": 2000}),
        )
    )
    statuses = [done[tag]["status"] for tag in (1, 3, 4)]
    assert statuses == [ChannelStatus.OK] * 3
    assert done[0]["polls"] > 1
    assert done[0]["status"] == done[2]["status"] == ChannelStatus.TIMEOUT
    assert (0, "EE") not in opcodes(bench)
    assert done[1]["last"] < done[3]["command"] < done[4]["command"]


def test_the_watchdog_lets_work_in_time_be():
    """Ready is seen at the last edge that counts."""
    bench = ControllerBench(busy={0xD0: 190}, **LIMIT)
    done = bench.run(commands((ChannelOperation.ERASE, {}), (ChannelOperation.READ, {})))
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.OK}
    assert done[0]["ready"] == done[0]["issued"] + 200


KINDS = [
    ChannelOperation.READ,
    ChannelOperation.PROGRAM,
    ChannelOperation.ERASE,
    ChannelOperation.SENSE,
    ChannelOperation.TRANSFER,
    ChannelOperation.READ_STATUS,
    ChannelOperation.READ_TARGET_STATUS,
    ChannelOperation.READ_ID,
    ChannelOperation.GET_FEATURES,
    ChannelOperation.SET_FEATURES,
    ChannelOperation.RESET,
    7,
]
"""All but the pieces of a page, and one that does not exist."""


def random_commands(rng, part, ways, count, kinds):
    """Commands for any LUN."""
    made = [
        Command(
            operation=rng.choice(kinds),
            tag=tag,
            way=rng.randrange(ways),
            lun=rng.randrange(part.luns),
            row=rng.randrange(part.rows),
            column=2 * rng.randrange(100),
            length=2 * rng.randint(1, 50),
            slot=rng.randrange(2),
        )
        for tag in range(count)
    ]
    return [
        replace(one, length=FEATURE_BYTES)
        if one.operation == ChannelOperation.SET_FEATURES
        else one
        for one in made
    ]


@pytest.mark.parametrize("part", [FULL, FULL_TWO_LUNS], ids=lambda part: part.name)
def test_all_operations_with_stalls_at_every_end(part):
    rng = random.Random(7)
    slots = {slot: rng.randbytes(304) for slot in range(2)}
    bench = ControllerBench(part, ways=2, launch=slots, stalls=rng)
    played = random_commands(rng, part, 2, 30, KINDS)
    done = bench.run(played)
    loads = [text for text in bench.texts if text.startswith("80")]
    for command in played:
        completion = done[command.tag]
        is_alone = command.operation == ChannelOperation.READ_TARGET_STATUS
        if command.operation == 7 or (is_alone and part.luns > 1):
            assert completion["status"] == ChannelStatus.BAD_COMMAND
            continue
        assert completion["status"] == ChannelStatus.OK, command
        stamps = ["accepted", "command", "issued", "ready", "transfer", "last"]
        assert sorted(stamps, key=completion.__getitem__) == stamps, completion
        if command.operation in (ChannelOperation.READ, ChannelOperation.TRANSFER):
            page = page_image(part, command.way, command.lun, command.row)
            assert bench.data[command.tag] == page[command.column :][: command.length]
        if command.operation == ChannelOperation.PROGRAM:
            assert f"<{slots[command.slot][: command.length].hex()}> 10" in " ".join(loads)
    assert int(bench.counters.landing_full) > 0


@pytest.mark.parametrize("watchdog", [300_000, 2e6, True])
def test_watchdog_is_checked(watchdog):
    message = r"Watchdog must be an integer of picoseconds above poll_first_ps \(300000\), not"
    with pytest.raises(ValueError, match=message):
        FlashChannelController(FULL, period_ps=PERIOD_PS, ways=1, watchdog_ps=watchdog)


def test_a_part_of_plain_reads_has_no_watchdog():
    with pytest.raises(ValueError, match="A watchdog needs a part with extended times"):
        FlashChannelController(TINY, period_ps=PERIOD_PS, ways=1, watchdog_ps=10**9)
