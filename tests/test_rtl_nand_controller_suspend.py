# amaranth: UnusedElaboratable=no
"""Reads that overtake programs and erases, on a channel with real dies and the bus checker."""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation, ChannelOperation, ChannelStatus
from rtl.nand.controller import FlashChannelController
from tests.controller_bench import FULL, Command
from tests.scenarios.nand import PERIOD_PS
from tests.scenarios.onfi_die_luns import KINDS, RESUMES, SUSPENDS
from tests.scenarios.onfi_operations import SUSPEND
from tests.unit_operations_bench import OperationUnitBench

READ, PROGRAM, ERASE = ChannelOperation.READ, ChannelOperation.PROGRAM, ChannelOperation.ERASE
PART = replace(
    FULL,
    blocks_per_lun=4,
    t_r_ps=300_000,
    suspend=replace(SUSPEND, t_program_suspend_ps=210_000, t_erase_suspend_ps=320_000),
    extended=replace(FULL.extended, t_prog_ps=1_500_000, t_bers_ps=2_000_000),
)
TWO_LUNS = replace(PART, name="two LUNs", luns=2)
PLANES = replace(PART, name="planes", planes=2)
DATA = random.Random(1).randbytes(304)
TWB = 10
BY_NAME = {"ids": lambda value: getattr(value, "name", None)}


def commands(*fields):
    """Commands for block 0 of the first LUN, tagged in order."""
    return [
        Command(operation=operation, **{"edge": 3, "length": 304, "tag": tag} | others)
        for tag, (operation, others) in enumerate(fields)
    ]


def play(part, played, *, ways=1, suspends=2, limit_edges=20_000, **options):
    """The bench after ``played``, with the completions by tag; no rule is broken."""
    bench = OperationUnitBench(part, ways, launch={0: DATA}, suspends=suspends, **options)
    done = {found["tag"]: found for found in bench.run(played, limit_edges=limit_edges)}
    assert bench.violations == []
    return bench, done


def kinds(bench):
    return [operation for _, operation, *_ in bench.begins]


@pytest.mark.slow
@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize(
    ("part", "operation", "first", "whole_ps"),
    [
        (PART, PROGRAM, ArrayOperation.PROGRAM, 1_500_000),
        (TWO_LUNS, ERASE, ArrayOperation.ERASE, 2_000_000),
    ],
    **BY_NAME,
)
def test_a_read_does_not_wait(part, operation, first, whole_ps, stopping):
    """What is put aside ends as late as it was put aside, and is right; so is the page read."""
    played = commands(
        (ERASE, {}), (operation, {"edge": 300}), (READ, {"edge": 400, "row": 5, "column": 6})
    )
    played[2] = replace(played[2], length=10)
    bench, done = play(part, played, stopping=stopping)
    names = [name for name in kinds(bench) if name is not ArrayOperation.ERASE]
    begins = {name: edge for edge, name, *_ in bench.begins}
    suspend, resume = KINDS[first]
    assert names[-3:] == [suspend, ArrayOperation.READ, resume]
    assert bench.counters["suspends"] == 1
    assert {found["status"] for found in done.values()} == {ChannelStatus.OK}
    assert bench.data[2] == bench.page(0, 0, 5)[6:16]
    if operation is PROGRAM:
        assert bench.page(0, 0, 0) == DATA
    # The array has worked as long as ever, but for the time between suspend and resume.
    aside = begins[resume] - begins[suspend]
    end = begins[first] + whole_ps // PERIOD_PS + aside
    polls = 0 if part.luns == 1 else 40
    assert end < done[1]["ready"] <= end + 2 + polls
    assert done[2]["last"] < begins[resume] < done[1]["last"]
    assert done[1]["issued"] == begins[first] - TWB
    assert done[2]["command"] > done[1]["issued"]


@pytest.mark.slow
@pytest.mark.parametrize("suspends", [1, 3])
def test_no_more_suspends_than_are_allowed(suspends):
    reads = [(READ, {"row": 4 + tag, "length": 10, "edge": 40}) for tag in range(4)]
    bench, done = play(PART, commands((ERASE, {}), *reads), suspends=suspends)
    assert bench.counters["suspends"] == suspends
    assert [tag for tag in done if tag < 1 or tag > suspends] == [0, *range(suspends + 1, 5)]
    assert list(done)[:suspends] == list(range(1, suspends + 1))


@pytest.mark.slow
def test_the_count_begins_anew_with_each_operation():
    steps = [(ERASE, {}), (READ, {"row": 4, "length": 10})] * 2
    bench, _ = play(PART, commands(*steps), suspends=1)
    assert bench.counters["suspends"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "steps"),
    [
        # The block under work, a page that another command counts on, and no read at all.
        (PART, [(ERASE, {}), (READ, {"row": 3})]),
        (PART, [(ERASE, {}), (ChannelOperation.SENSE, {"row": 4})]),
        (PART, [(ERASE, {}), (ERASE, {"row": 4})]),
        (PART, [(READ, {"row": 0}), (READ, {"row": 4})]),
        # Blocks of other planes may be under work, too.
        (PLANES, [(ChannelOperation.ERASE_PLANE, {}), (ERASE, {"row": 4}), (READ, {"row": 9})]),
    ],
)
def test_what_is_not_suspended(part, steps):
    bench, done = play(part, commands((ERASE, {}), *steps)[1:], are_erased=True)
    assert not {*SUSPENDS, *RESUMES} & set(kinds(bench))
    assert list(done) == sorted(done)


@pytest.mark.slow
def test_the_last_plane_alone_is_suspended_if_it_was_alone():
    planes = [(ChannelOperation.ERASE_PLANE, {}), (ERASE, {"row": 4})]
    bench, _ = play(PLANES, commands(*planes, (ERASE, {"row": 4}), (READ, {"row": 9})))
    assert kinds(bench)[-3:] == [
        ArrayOperation.ERASE_SUSPEND,
        ArrayOperation.READ,
        ArrayOperation.ERASE_RESUME,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("part", [PART, TWO_LUNS], **BY_NAME)
def test_a_suspend_that_comes_too_late_changes_nothing(part):
    """The erase ends while the suspend is on the bus, or within the time that it takes."""
    for edge in (193, 224):
        played = commands((ERASE, {}), (READ, {"edge": edge, "row": 4, "length": 10}))
        bench, done = play(part, played)
        assert not set(RESUMES) & set(kinds(bench))
        assert bench.counters["suspends"] == 0
        assert list(done) == [0, 1]
        assert {found["status"] for found in done.values()} == {ChannelStatus.OK}


@pytest.mark.slow
def test_what_is_about_a_way_waits_until_all_is_resumed():
    played = commands(
        (ERASE, {}),
        (READ, {"row": 4, "edge": 40}),
        (ChannelOperation.GET_FEATURES, {"lun": 1, "row": 1, "length": 4, "edge": 100}),
        (READ, {"row": 8, "edge": 400}),
    )
    bench, done = play(TWO_LUNS, played)
    # The second read does not keep the way waiting.
    assert list(done) == [1, 0, 2, 3]
    assert kinds(bench).count(ArrayOperation.ERASE_SUSPEND) == 1


@pytest.mark.slow
def test_a_lun_that_hangs_in_a_suspended_read_is_given_up_with_all_that_it_holds(monkeypatch):
    answer = OperationUnitBench._begin

    def begin(bench, ctx, edge, found):
        if int(found.operation) != ArrayOperation.READ:
            answer(bench, ctx, edge, found)

    monkeypatch.setattr(OperationUnitBench, "_begin", begin)
    played = commands(
        (ERASE, {}),
        (READ, {"row": 4, "edge": 40}),
        (ChannelOperation.RESET, {"edge": 900}),
        (ERASE, {"row": 4, "edge": 901}),
    )
    _, done = play(PART, played, watchdog_ps=3_000_000)
    statuses = [done[tag]["status"] for tag in range(4)]
    assert statuses == [ChannelStatus.TIMEOUT] * 2 + [ChannelStatus.OK] * 2
    assert done[0]["issued"] < done[1]["issued"] < done[1]["ready"]


def random_commands(rng, part, ways, count):
    """Reads of blocks that stay as they are, and programs and erases of the other two."""
    pages = {}
    for tag in range(count):
        place = rng.randrange(ways), rng.randrange(part.luns)
        fields = {"tag": tag, "way": place[0], "lun": place[1], "edge": 3 + 40 * tag}
        page = pages.setdefault(place, 0)
        if rng.random() < 0.6:
            column = 2 * rng.randrange(100)
            yield Command(
                operation=READ, row=rng.randrange(8, 16), column=column, length=20, **fields
            )
        elif page % 5 == 0:
            pages[place] += 1
            yield Command(operation=ERASE, row=4 * (page % 2), **fields)
        else:
            pages[place] += 1
            yield Command(
                operation=PROGRAM, row=page // 5 % 2 * 4 + page % 5 - 1, length=304, **fields
            )


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["round-robin", "reads-first", "oldest-ready-first"])
def test_mixed_traffic_is_right_whatever_is_put_aside(policy):
    part = TWO_LUNS if policy == "reads-first" else PART
    played = list(random_commands(random.Random(policy), part, 2, 16))
    bench, done = play(part, played, ways=2, policy=policy, stopping=True, limit_edges=60_000)
    assert bench.counters["suspends"] > 0
    assert {found["status"] for found in done.values()} == {ChannelStatus.OK}
    for command in played:
        if command.operation is READ:
            page = bench.page(command.way, command.lun, command.row)
            assert bench.data[command.tag] == page[command.column :][: command.length]
        if command.operation is PROGRAM:
            assert bench.page(command.way, command.lun, command.row) in (DATA, b"\xff" * 304)
        found = done[command.tag]
        stamps = ["accepted", "command", "issued", "ready", "transfer", "last"]
        assert sorted(stamps, key=found.__getitem__) == stamps


@pytest.mark.parametrize("suspends", [-1, 17, 1.5, "2"])
def test_the_number_of_suspends_is_checked(suspends):
    with pytest.raises(ValueError, match="Suspends must be an integer from 0 to 16, not"):
        FlashChannelController(PART, period_ps=PERIOD_PS, ways=1, suspends=suspends)


def test_a_part_without_opcodes_is_refused():
    with pytest.raises(ValueError, match="must be 0 for a part without opcodes to suspend, not 1"):
        FlashChannelController(FULL, period_ps=PERIOD_PS, ways=1, suspends=1)
