"""Clock grid, stopped clocks and the exchange rules, on echo units in both simulators."""

import json

import pytest

from cosim.engines.build import build
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from tests.benches.echo import PAUSE
from tests.echo_design import echo_design

pytestmark = pytest.mark.hdl

PERIODS_PS = (10_000, 10_000, 4_000, 6_666)
ARRAY_PS = 123_457

# Times of commands: between edges, on an edge, one before and one after it; ties between units;
# far apart (all clocks stop between) and while another unit runs.
SCRIPT = [
    [1_000_000, 0, 0],
    [1_000_000, 1, 0],
    [1_003_000, 2, 5],
    [1_050_000, 3, 2],
    [1_400_000, 0, 3],
    [1_409_999, 1, 3],
    [1_800_001, 2, 40],
    [1_800_001, 0, 16],
    [9_990_000, 0, 1000],
    [9_990_000, 1, 1000],
    [11_111_111, 3, 900],
]


def expected_reports(script):
    """(unit, edge time, tag or begin number) by the rules alone, without any simulator."""
    reports = []
    numbers = [0] * len(PERIODS_PS)
    for at_ps, unit, tag in script:
        period = PERIODS_PS[unit]
        accepted = at_ps // period + 1
        issued = accepted + 1 + tag
        numbers[unit] += 1
        reports.append((issued * period, unit, "begin", numbers[unit]))
        ready = (issued * period + ARRAY_PS) // period + 1
        last = ready + PAUSE
        reports.append((last * period, unit, "end", (tag, accepted, issued, ready, last)))
    return sorted(reports)


def decode(log):
    reports = []
    for source, unit, edge_ps, word in log:
        if source != "rtl":
            continue
        if word & 2:
            reports.append((edge_ps, unit, "begin", word >> 24 & 0xFF))
        else:
            stamps = word >> 88
            fields = (
                stamps & 0xFFFF,
                *(stamps >> shift & (1 << 48) - 1 for shift in (64, 160, 208, 304)),
            )
            reports.append((edge_ps, unit, "end", fields))
    return reports


@pytest.fixture(scope="session")
def echo(simulator):
    return build(echo_design(PERIODS_PS), Simulator(simulator))


def play(echo, tmp_path, *, stop_clocks, script=SCRIPT):
    result = tmp_path / "result.json"
    job = {
        "units": [f"u{index}" for index in range(len(PERIODS_PS))],
        "stop_clocks": stop_clocks,
        "script": script,
        "array_ps": ARRAY_PS,
        "result": str(result),
    }
    run_job(echo, "tests.benches.echo:play", job, tmp_path, time_limit_s=120)
    return json.loads(result.read_text())


@pytest.mark.parametrize("stop_clocks", [True, False])
def test_events_have_the_times_that_the_rules_give(echo, tmp_path, stop_clocks):
    result = play(echo, tmp_path, stop_clocks=stop_clocks)
    assert decode(result["log"]) == expected_reports(SCRIPT)


def test_stopped_and_running_clocks_give_the_same_log(echo, tmp_path):
    stopped = play(echo, tmp_path / "stopped", stop_clocks=True)
    running = play(echo, tmp_path / "running", stop_clocks=False)
    assert stopped["log"] == running["log"]
    assert stopped["end_ps"] == running["end_ps"]


def test_stopped_clocks_save_edges_and_visits(echo, tmp_path):
    stopped = play(echo, tmp_path / "stopped", stop_clocks=True)
    running = play(echo, tmp_path / "running", stop_clocks=False)
    ends = [running["end_ps"] // period for period in PERIODS_PS]
    for edges, end in zip(running["edges"], ends, strict=True):
        assert edges in (end, end - 1)
    assert all(edges < 100 for edges in stopped["edges"])
    assert stopped["skips"] > 0
    assert running["skips"] == 0


def test_rtl_comes_before_the_kernel_at_equal_times(echo, tmp_path):
    # Unit 0 reports at 1,030,000 ps, unit 1 too; the kernel acts at that very time.
    script = [[1_000_000, 1, 1], [1_000_000, 0, 1], [1_030_000, 2, 3]]
    result = play(echo, tmp_path, stop_clocks=True, script=script)
    at_tie = [entry[:2] for entry in result["log"] if entry[2] == 1_030_000]
    assert at_tie == [["rtl", 0], ["rtl", 1], ["kernel", 2]]


@pytest.mark.parametrize("stop_clocks", [True, False])
def test_a_run_may_begin_where_another_one_ended_with_a_write(echo, tmp_path, stop_clocks):
    result = tmp_path / "result.json"
    job = {
        "units": [f"u{index}" for index in range(len(PERIODS_PS))],
        "stop_clocks": stop_clocks,
        "array_ps": ARRAY_PS,
        "result": str(result),
    }
    run_job(echo, "tests.benches.echo:run_twice", job, tmp_path, time_limit_s=60)
    found = json.loads(result.read_text())
    assert decode(found["log"]) == expected_reports([[found["start_ps"], 0, 5]])


@pytest.mark.parametrize("stop_clocks", [True, False])
def test_deadlock_names_what_is_outstanding(echo, tmp_path, stop_clocks):
    job = {"units": [f"u{index}" for index in range(4)], "stop_clocks": stop_clocks}
    with pytest.raises(SimulationFailed, match="at 1000000 ps; outstanding: an echo") as caught:
        run_job(echo, "tests.benches.echo:hang", job, tmp_path, time_limit_s=60)
    assert caught.value.kind == "Deadlock"


def test_user_errors_pass_through_the_child(echo, tmp_path):
    job = {"message": "Line 3 must be better, not worse"}
    with pytest.raises(UserError, match=r"^Line 3 must be better, not worse$"):
        run_job(echo, "tests.benches.echo:complain", job, tmp_path, time_limit_s=60)


def test_time_limit_ends_a_run(echo, tmp_path):
    with pytest.raises(SimulationFailed, match=r"within 0\.01 s"):
        run_job(echo, "tests.benches.echo:complain", {}, tmp_path, time_limit_s=0.01)


def test_words_move_whole(echo, tmp_path):
    result = tmp_path / "result.json"
    job = {"units": [f"u{index}" for index in range(4)], "result": str(result)}
    run_job(echo, "tests.benches.echo:move", job, tmp_path, time_limit_s=60)
    assert len(json.loads(result.read_text())) == 2
