# amaranth: UnusedElaboratable=no
import random
from dataclasses import replace

import pytest

from rtl.nand.die import NandDie
from tests.die_bench import WAY, Play
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus, one_lun
from tests.scenarios.onfi_sdr import SDR_PART, SdrBus

pytestmark = pytest.mark.slow


def page(part, seed):
    return random.Random(seed).randbytes(part.raw_page_bytes)


def whole_read(bus, lun, row, column, count, sense=40):
    """Read, wait, transfer; returns (confirm edge, answer edge, burst start)."""
    confirm = bus.read(WAY, lun, row, column)
    ready = confirm + bus.limit("wb") + sense
    bus.until(ready + bus.limit("rr"))
    start = bus.transfer(WAY, lun, row, column, count)
    bus.tick(8)
    return confirm, ready, start


@pytest.mark.parametrize("phases", [1, 2, 4])
@pytest.mark.parametrize("lun", [0, 1])
@pytest.mark.parametrize(("column", "count"), [(0, 576), (126, 4), (254, 260), (574, 2), (10, 66)])
def test_a_read_brings_the_bytes_of_the_page(phases, lun, column, count):
    bus = OnfiBus(phases=phases)
    _, ready, start = whole_read(bus, lun, 7, column, count)
    content = page(PART, 1)
    play = Play(bus, {ready: [(lun, 1, content)]}).check()
    assert play.data(start, count) == content[column : column + count]
    assert play.begins == [(play.begins[0][0], lun, 1, 7)]


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"t_rea_ps": 55_000, "t_rhoh_ps": 30_000},
        {"t_rhoh_ps": 0, "t_rea_ps": 10_000},
        # Cycles below 30 ns: each byte lasts until RE# falls for the next one, or longer.
        {"t_rc_ps": 20_000, "t_rp_ps": 10_000, "t_reh_ps": 10_000, "t_rea_ps": 20_000},
        {
            "t_rc_ps": 20_000,
            "t_rp_ps": 10_000,
            "t_reh_ps": 10_000,
            "t_rea_ps": 15_000,
            "t_rloh_ps": 10_000,
        },
    ],
)
@pytest.mark.parametrize(("column", "count"), [(126, 4), (575, 1), (10, 66)])
def test_pulses_of_read_enable_bring_the_bytes_of_the_page(times, column, count):
    bus = SdrBus(replace(SDR_PART, sdr=replace(SDR_PART.sdr, **times)))
    _, ready, _ = whole_read(bus, 1, 7, column, count)
    falls = bus.falls
    bus.status(WAY)
    bus.tick(8)
    content = page(PART, 1)
    play = Play(bus, {ready: [(1, 1, content)]}).check()
    rea = bus.limit("rea")
    found = bytes(play.pins[fall + rea]["dq_i"] for fall in falls)
    assert found == content[column : column + count]
    assert [play.pins[fall + rea]["dq_i"] for fall in bus.falls] == [0xE0, 0xE0]
    assert all(play.pins[fall + rea]["oe"] for fall in (*falls, *bus.falls))


@pytest.mark.parametrize("t_wb_ps", [10_000, 20_000, 95_000, 100_000, 101_000])
def test_ready_busy_falls_exactly_twb_after_the_confirm_cycle(t_wb_ps):
    part = replace(PART, t_wb_ps=t_wb_ps)
    bus = OnfiBus(part)
    confirm = bus.read(WAY, 1, 3, 0)
    bus.tick(30)
    play = Play(bus).check()
    fall = confirm + -(-t_wb_ps // PERIOD_PS)
    assert play.begins == [(fall, 1, 1, 3)]
    levels = [pins["rb_n"] for pins in play.pins]
    assert levels == [1] * fall + [0] * (len(levels) - fall)


@pytest.mark.parametrize("t_dqsre_ps", [5_000, 10_000, 15_000, 25_000, 55_000])
def test_dqs_repeats_read_enable_after_tdqsre(t_dqsre_ps):
    part = replace(PART, t_dqsre_ps=t_dqsre_ps, t_rpst_ps=60_000)
    bus = OnfiBus(part)
    _, ready, start = whole_read(bus, 0, 0, 0, 6)
    content = page(part, 2)
    play = Play(bus, {ready: [(0, 1, content)]}).check()
    delay = -(-t_dqsre_ps // PERIOD_PS)
    re_n = [clock["re_n"] for clock in bus.clocks[start : start + 2 + 3 + 6]]
    assert re_n == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    answer = play.pins[start + delay : start + delay + len(re_n)]
    assert [pins["dqs_i"] for pins in answer] == re_n
    assert [pins["oe"] for pins in play.pins[: start + delay + 12]] == (
        [0] * (start + delay) + [1] * 11 + [0]
    )
    assert play.data(start, 6) == content[:6]


def test_ready_is_seen_at_the_edge_that_sees_the_answer():
    bus = OnfiBus()
    _, ready, _ = whole_read(bus, 0, 0, 0, 2)
    play = Play(bus, {ready: [(0, 1, page(PART, 3))]}).check()
    assert [play.pins[edge]["rb_n"] for edge in (ready - 1, ready)] == [0, 1]


def test_luns_share_the_line_and_are_told_apart_by_status():
    bus = OnfiBus()
    first = bus.read(WAY, 0, 1, 0)
    second = bus.read(WAY, 1, 2, 4)
    bus.until(second + 60)
    starts = [bus.status_enhanced(WAY, lun, 0) for lun in (0, 1)]
    seventy = bus.status(WAY)
    bus.tick(40)
    end = bus.edge
    bus.tick(20)
    answers = {second + 40: [(1, 1, page(PART, 4))], end: [(0, 1, page(PART, 5))]}
    play = Play(bus, answers).check()
    wb = bus.limit("wb")
    assert play.begins == [(first + wb, 0, 1, 1), (second + wb, 1, 1, 2)]
    assert [play.data(start, 2) for start in starts] == [b"\x80\x80", b"\xe0\xe0"]
    assert play.data(seventy, 2) == b"\xe0\xe0"
    assert [play.pins[edge]["rb_n"] for edge in (second + 40, end - 1, end)] == [0, 0, 1]


def test_a_lun_still_looks_ready_until_twb_is_over():
    part = replace(PART, t_wb_ps=900_000, poll_first_ps=900_000)
    bus = OnfiBus(part)
    confirm = bus.read(WAY, 0, 1, 0)
    early = bus.status_enhanced(WAY, 0, 1)
    assert bus.edge < confirm + 90
    bus.until(confirm + 95)
    late = bus.status_enhanced(WAY, 0, 1)
    bus.tick(8)
    play = Play(bus).check()
    assert (play.data(early, 2), play.data(late, 2)) == (b"\xe0\xe0", b"\x80\x80")


def test_a_lun_about_to_be_busy_takes_no_command_and_gives_no_data():
    bus = OnfiBus(replace(PART, t_wb_ps=2_000_000, poll_first_ps=2_000_000))
    confirm = bus.read(WAY, 0, 1, 0)
    bus.read(WAY, 0, 2, 0)
    early = bus.transfer(WAY, 0, 1, 0, 8)
    bus.until(confirm + 230)
    play = Play(bus).check()
    assert play.begins == [(confirm + 200, 0, 1, 1)]
    assert play.data(early, 8) == bytes(8)


def test_answers_with_another_number_are_dropped():
    bus = OnfiBus()
    confirm = bus.read(WAY, 0, 1, 0)
    bus.tick(60)
    stale = page(PART, 6)
    play = Play(bus, {confirm + 20: [(0, 0, stale)], confirm + 30: [(0, 2, stale)]}).check()
    assert all(not pins["rb_n"] for pins in play.pins[confirm + bus.limit("wb") :])


def test_operation_numbers_count_up_for_each_lun():
    bus = OnfiBus()
    answers = {}
    for turn in range(3):
        confirm = bus.read(WAY, 1, turn, 0)
        bus.tick(30)
        answers[bus.edge] = [(1, turn + 1, page(PART, turn))]
        assert confirm < bus.edge
    bus.read(WAY, 0, 9, 0)
    bus.tick(20)
    play = Play(bus, answers).check()
    assert [begin[1:] for begin in play.begins] == [(1, 1, 0), (1, 2, 1), (1, 3, 2), (0, 1, 9)]


@pytest.mark.parametrize("wait", [0, 2, 40])
def test_reset_aborts_and_makes_the_late_answer_stale(wait):
    bus = OnfiBus(replace(PART, t_wb_ps=200_000))
    bus.read(WAY, 0, 1, 0)
    bus.tick(wait)
    taken = bus.reset(WAY)
    bus.tick(5)
    again = bus.read(WAY, 0, 2, 0)
    fall = again + bus.limit("wb")
    bus.until(fall + 30)
    play = Play(
        bus, {fall + 5: [(0, 1, page(PART, 7))], fall + 20: [(0, 3, page(PART, 8))]}
    ).check()
    assert play.begins[-1] == (fall, 0, 3, 2)
    assert len(play.begins) == (2 if wait == 40 else 1)
    levels = [pins["rb_n"] for pins in play.pins]
    assert all(levels[taken + 1 : fall])
    assert [levels[edge] for edge in (fall, fall + 5, fall + 19, fall + 20)] == [0, 0, 0, 1]


def test_reset_of_an_idle_die_does_nothing_but_count():
    bus = OnfiBus()
    bus.reset(WAY)
    bus.read(WAY, 1, 5, 0)
    bus.tick(20)
    play = Play(bus).check()
    assert [begin[1:] for begin in play.begins] == [(1, 2, 5)]


def test_data_from_a_busy_lun_and_past_the_end_of_the_page_is_zero():
    bus = OnfiBus()
    confirm = bus.read(WAY, 0, 1, 0)
    bus.until(confirm + 20)
    busy = bus.transfer(WAY, 0, 1, 0, 4)
    bus.tick(10)
    ready = bus.edge
    past = bus.transfer(WAY, 0, 1, 572, 8)
    bus.tick(8)
    content = page(PART, 9)
    play = Play(bus, {ready: [(0, 1, content)]}).check()
    assert play.data(busy, 4) == bytes(4)
    assert play.data(past, 8) == content[572:] + bytes(4)


def test_a_second_burst_goes_on_where_the_first_ended():
    bus = OnfiBus()
    _, ready, first = whole_read(bus, 0, 1, 120, 8)
    bus.select(WAY, cs=10)
    second = bus.burst(6)
    bus.tick(8)
    content = page(PART, 10)
    play = Play(bus, {ready: [(0, 1, content)]}).check()
    assert (play.data(first, 8), play.data(second, 6)) == (content[120:128], content[128:134])


def test_after_a_confirm_the_register_is_put_out_from_its_column():
    bus = OnfiBus()
    confirm = bus.read(WAY, 1, 1, 66)
    bus.until(confirm + 60)
    bus.select(WAY, cs=10)
    start = bus.burst(4)
    bus.tick(8)
    content = page(PART, 11)
    play = Play(bus, {confirm + 50: [(1, 1, content)]}).check()
    assert play.data(start, 4) == content[66:70]


def broken(name):
    """A waveform with a read that must not happen."""
    bus = OnfiBus()
    bus.begin(WAY if name != "other way" else 0)
    bus.command(0x00 if name != "no first cycle" else 0x77)
    row = 2 << 4 if name == "no such lun" else 3
    row = 3 << 4 if name == "lun three" else row
    bus.address(row << 16, {"four addresses": 4, "six addresses": 6}.get(name, 5))
    bus.command(0x30 if name != "wrong confirm" else 0xE0)
    bus.tick(40)
    return bus


@pytest.mark.parametrize(
    "name",
    [
        "other way",
        "no first cycle",
        "no such lun",
        "lun three",
        "four addresses",
        "six addresses",
        "wrong confirm",
    ],
)
def test_incomplete_commands_do_nothing(name):
    play = Play(broken(name)).check()
    assert play.begins == []
    assert all(pins["rb_n"] for pins in play.pins)


def test_the_same_waveform_unbroken_reads():
    assert len(Play(broken("nothing")).check().begins) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("luns", [1, 2])
def test_random_commands_agree_with_the_model(seed, luns):
    rng = random.Random(seed)
    t_wb_ps = rng.choice([95_000, 700_000])
    part = replace(PART, t_wb_ps=t_wb_ps, poll_first_ps=t_wb_ps)
    bus = OnfiBus(part if luns == 2 else one_lun(part))
    answers = {}
    numbers = [0] * luns
    for _ in range(14):
        lun, row, column = rng.randrange(luns), rng.randrange(12), 2 * rng.randrange(288)
        way = rng.choice([WAY, WAY, WAY, 0])
        act = rng.choice(["read", "read", "transfer", "transfer", "status", "78h", "reset", "wait"])
        if act == "read":
            bus.read(way, lun, row, column)
            numbers[lun] += 1
        elif act == "transfer":
            bus.transfer(way, lun, row, column, 2 * rng.randrange(1, 90))
        elif act == "status":
            bus.status(way, count=4)
        elif act == "78h":
            bus.status_enhanced(way, lun, row)
        elif act == "reset":
            bus.reset(way)
        bus.tick(rng.randrange(40))
        number = max(0, numbers[lun] - rng.choice([0, 0, 0, 1]))
        answers[bus.edge] = [(lun, number, page(bus.part, rng.random()))]
        bus.tick(rng.choice([1, 5, 30]))
    Play(bus, answers).check()


def test_a_stopped_clock_changes_nothing():
    bus = OnfiBus()
    answers = {}
    for turn in range(3):
        confirm = bus.read(WAY, turn % 2, turn, 0)
        bus.until(confirm + 200)
        answers[bus.edge] = [(turn % 2, turn // 2 + 1, page(PART, turn))]
        bus.tick(100)
        bus.transfer(WAY, turn % 2, turn, 0, 64)
        bus.tick(50)
    running = Play(bus, answers).check()
    stopped = Play(bus, answers, stop=True).check()
    assert stopped.pins == running.pins
    assert stopped.edges_run < running.edges_run - 900


def test_quiet_is_high_only_while_nothing_is_under_way():
    bus = OnfiBus()
    confirm, ready, start = whole_read(bus, 0, 1, 0, 16)
    play = Play(bus, {ready: [(0, 1, page(PART, 1))]}).check()
    quiet = play.quiet
    assert not any(quiet[confirm - 10 : confirm + 1])
    assert all(quiet[confirm + 4 : ready])
    assert not quiet[ready]
    end = start + 2 + 8 + 4
    assert not any(quiet[start : end + bus.limit("dqsre")])
    assert quiet[-1]


def test_a_write_cycle_cut_off_by_chip_enable_is_still_under_way():
    bus = OnfiBus()
    bus.select(WAY)
    bus.tick(2, we_n=0)
    bus.tick(2, ce_n=0b11)
    assert Play(bus).check().quiet[-2:] == [0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_bytes": 65536, "spare_bytes": 64}, "at most 65536 bytes, not 65600"),
        ({"blocks_per_lun": 1 << 22}, "fit in 24 bits, not 2 LUNs"),
    ],
)
def test_parts_beyond_the_address_cycles_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        NandDie(replace(PART, **change), period_ps=PERIOD_PS, ways=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"ways": 0}, "Ways must be 1 to 256, not 0"), ({"phases": 3}, "1, 2 or 4, not 3")],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        NandDie(PART, **{"period_ps": PERIOD_PS, "ways": 2} | arguments)
