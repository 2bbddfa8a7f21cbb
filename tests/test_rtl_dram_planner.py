# amaranth: UnusedElaboratable=no
"""When an access to the DRAM is done: by hand, and against the plain model."""

from dataclasses import replace

import pytest

from rtl.gather.dram_planner import DramPlanner
from tests.gather_bench import simulate
from tests.scenarios.dram import PLANNED, ROUND, DramModel, planned

pytestmark = pytest.mark.slow

BANK, ROW = 1024, 4096  # bytes from a bank to the next, and from a row to the next of its bank


def plan(times, accesses):
    """(done, hit) of (time, address, write[, id]) accesses, one a clock."""
    dut, out = DramPlanner(times), []

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        for time, address, write, *id in accesses:
            ctx.set(dut.time, time)
            ctx.set(dut.address, address)
            ctx.set(dut.write, write)
            ctx.set(dut.id, *(id or [0]))
            out.append((ctx.get(dut.done), ctx.get(dut.hit)))
            await ctx.tick()

    simulate(dut, bench)
    return out


def ends(times, accesses):
    """When they are done, by the circuit and by the model."""
    model = DramModel(times)
    modelled = [
        model.access(time, address, write=bool(write), **dict(zip(["id"], id, strict=False)))
        for time, address, write, *id in accesses
    ]
    return [end for end, _ in plan(times, accesses)], modelled


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # closed: tRCD 13 + tCL 14 + beat 4
        ([(0, 0, 0)], [31_000]),
        ([(0, 0, 1)], [27_000]),
        # open row: tCL + beat from its own time on; the bus alone where it comes at once
        ([(0, 0, 0), (100_000, 64, 0)], [31_000, 118_000]),
        ([(0, 0, 0), (4_000, 64, 0)], [31_000, 35_000]),
        # row conflict, bank long quiet: tRP 12 + 31
        ([(0, 0, 0), (100_000, ROW, 0)], [31_000, 143_000]),
        # at once: tRAS 32 first
        ([(0, 0, 0), (4_000, ROW, 0)], [31_000, 32_000 + 43_000]),
        # a late read of the row: its column command at 30, tRTP 7 to 37
        ([(0, 0, 0), (30_000, 64, 0), (31_000, ROW, 0)], [31_000, 48_000, 37_000 + 43_000]),
        # a write: data ends at 27, tWR 15 to 42
        ([(0, 0, 1), (4_000, ROW, 0)], [27_000, 42_000 + 43_000]),
        # another bank: activates side by side, data in order of the bus
        ([(0, 0, 0), (1_000, BANK, 0)], [31_000, 35_000]),
        # a write behind a read: the bus turns for 1 between their data
        ([(0, 0, 0), (0, BANK, 1)], [31_000, 36_000]),
        # a read behind a write: tWTR 6 after its data, then tCL
        ([(0, 0, 1), (0, 64, 0)], [27_000, 27_000 + 6_000 + 14_000 + 4_000]),
        # five activates: the fifth at tFAW 21 after the first
        (
            [
                (0, 0, 0),
                (0, BANK, 0),
                (0, 2 * BANK, 0),
                (0, 3 * BANK, 0),
                (100_000, ROW, 0),
                (100_000, ROW + BANK, 0),
                (100_000, ROW + 2 * BANK, 0),
                (100_000, ROW + 3 * BANK, 0),
                (100_000, 2 * ROW, 0),
            ],
            # conflicts at 112 (tRP), 115, 118, 121; bank 0 then waits tRAS: 112 + 32 + 12
            [31_000, 35_000, 39_000, 43_000, 143_000, 147_000, 151_000, 155_000, 187_000],
        ),
        # refresh at 1,000,000 closes the row: its end 1,100 + 31
        ([(0, 0, 0), (1_050_000, 64, 0)], [31_000, 1_131_000]),
        ([(0, 0, 0), (1_200_000, 64, 0)], [31_000, 1_231_000]),
        # does not fit before it: after it. 986 + 14 + 4 = 1,004 is too late; 982 fits exactly
        ([(0, 0, 0), (982_000, 64, 0)], [31_000, 1_000_000]),
        ([(0, 0, 0), (982_002, 64, 0)], [31_000, 1_131_000]),
        # and what comes behind, still before it, is a hit on the row opened after it
        ([(0, 0, 0), (982_002, 64, 0), (982_004, 128, 0)], [31_000, 1_131_000, 1_135_000]),
        # many refreshes slept through
        ([(0, 0, 0), (57_500_000, 64, 0)], [31_000, 57_531_000]),
    ],
)
def test_times_by_hand(accesses, done):
    assert ends(ROUND, accesses) == (done, done)


GROUPED = replace(
    ROUND, banks=8, groups=2, t_ccd_l_ps=5_000, t_rrd_l_ps=9_000, t_wtr_l_ps=9_000, reorder=2
)
SECOND = 2 * BANK  # bytes to the next bank, where a row of each of two groups lies before it


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # 64 bytes on is the other group; its row is opened tRRD_S 3 later, its data need not wait
        ([(0, 0, 0), (0, 64, 0)], [31_000, 35_000]),
        # the same row of the same group: tCCD_L 5
        ([(0, 0, 0), (0, 128, 0)], [31_000, 36_000]),
        # the other bank of the group: tRRD_L 9
        ([(0, 0, 0), (0, SECOND, 0)], [31_000, 40_000]),
        # behind a write, a read of the other group (tWTR_S 2), and one of the same (tWTR_L 9)
        ([(0, 0, 1), (0, 64, 0)], [27_000, 27_000 + 2_000 + 18_000]),
        ([(0, 0, 1), (0, 128, 0)], [27_000, 27_000 + 9_000 + 18_000]),
        # a write of the other group in between: tWTR_L 9 still counts from the first
        ([(0, 0, 1), (0, 64, 1), (0, 128, 0)], [27_000, 31_000, 27_000 + 9_000 + 18_000]),
    ],
)
def test_groups_by_hand(accesses, done):
    assert ends(GROUPED, accesses) == (done, done)


LATE, ROWS = 200_000, 8 * BANK  # all is quiet by then; bytes from a row to the next of its bank


def conflict(id, bank=0):
    """An access at ``LATE`` to another row of a bank: tRP 12 + 31."""
    return (LATE, ROWS + SECOND * bank, 0, id)


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # a row that is open goes before one that must be opened, with another ID: tCL + beat
        ([conflict(0), (LATE, 64, 0, 1)], [243_000, 218_000]),
        # with the same ID behind it
        ([conflict(0), (LATE, 64, 0, 0)], [243_000, 247_000]),
        # a write has an order of its own: tCWL + beat
        ([conflict(0), (LATE, 64, 1, 0)], [243_000, 214_000]),
        # a write fits before the late read: from 219 (the bus turns) tWTR_S 2 + tCL 14 to 239
        (
            [conflict(0), (LATE, 64, 0, 1), (LATE, 192, 1, 2), (LATE, 192, 1, 3)],
            [243_000, 218_000, 223_000, 248_000],
        ),
        # two may be passed, not three
        ([conflict(0), conflict(1), (LATE, 64, 0, 3)], [243_000, 248_000, 218_000]),
        (
            [conflict(0), conflict(1), conflict(2), (LATE, 64, 0, 3)],
            [243_000, 248_000, 253_000, 257_000],
        ),
        # activates, too: bank 1 is closed, so its row is opened at once; bank 0 waits tRP
        ([conflict(0), conflict(1, bank=1)], [243_000, 231_000]),
    ],
)
def test_reordering_by_hand(accesses, done):
    """Behind two accesses that open the first row of two groups."""
    both = ends(GROUPED, [(0, 0, 0), (0, 64, 0), *accesses])
    assert [found[2:] for found in both] == [done, done]


def test_four_activate_window_by_hand():
    times = replace(ROUND, banks=8, t_beat_ps=1_000, t_ccd_l_ps=1_000, t_faw_ps=40_000)
    accesses = [(0, bank * BANK, 0) for bank in range(6)]
    # Activates at 0, 3, 6, 9 (tRRD), then 40 and 43 (tFAW after the first and the second).
    activates = [0, 3_000, 6_000, 9_000, 40_000, 43_000]
    assert [end for end, _ in plan(times, accesses)] == [a + 28_000 for a in activates]


def test_an_activate_in_front_of_others_is_in_their_window():
    times = replace(ROUND, banks=8, t_faw_ps=40_000, reorder=4)
    row = 8 * BANK
    opened = [(0, bank * BANK, 0) for bank in range(4)]
    conflicts = [(LATE, row + bank * BANK, 0, min(bank, 2)) for bank in range(4)]
    # Activates at 212 (tRP), 215, 218, 221: one at 200 would be the fifth within 40.
    accesses = [*opened, *conflicts, (LATE, 4 * BANK, 0, 3)]
    done = [243_000, 246_000 + 1_000, 251_000, 255_000, 252_000 + 31_000]
    assert [found[4:] for found in ends(times, accesses)] == [done, done]


@pytest.mark.parametrize("times", PLANNED, ids=lambda times: f"{times.groups}-{times.reorder}")
def test_random_accesses_equal_the_model(times):
    accesses, expected, model = planned(times, 400, seed=1)
    assert plan(times, accesses) == expected
    assert min(model.hits, model.misses) > 50
    assert min(model.refreshes, model.turns) > 5
    assert bool(model.passed) == bool(times.reorder)
