# amaranth: UnusedElaboratable=no
import numpy as np
import pytest

from rtl.contract.gather import GatherMode, GatherStatus
from rtl.contract.mixer import positions
from rtl.contract.sampling import distinct_positions
from rtl.gather.core import GatherUnit
from tests.gather_core_bench import GatherBench, header
from tests.scenarios.gather import FAULTS, GatherScenario, Launch, random_scenario

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("stalls", "latency"), [(0, 0), (3, 0), (0, 20)])
def test_random_descriptors_equal_the_reference(seed, stalls, latency):
    scenario = random_scenario(seed, targets=24)
    GatherBench(scenario, stalls=stalls, latency=latency, seed=seed).run().check()


@pytest.mark.parametrize(("data_bits", "lanes"), [(64, 1), (64, 2), (128, 2), (256, 1), (1024, 2)])
def test_other_bus_widths(data_bits, lanes):
    scenario = random_scenario(11, targets=16)
    scenario.beat_bytes = data_bits // 8
    GatherBench(scenario, stalls=1, seed=5, lanes=lanes).run().check()


def test_words_by_hand():
    scenario = GatherScenario()
    scenario.store_list(0x8008, [100, 101, 102, 103], 8)
    scenario.store_list(0x9004, [200, 201, 0xFFFF_FFFF], 4)
    scenario.store_list(0x4000, [3, 0, 3], 4)
    scenario.store_list(0x403C, [2, 1], 4)
    scenario.launch(
        0x1000,
        [
            {"fan_out": 3, "degree": 4, "list_address": 0x8008, "positions_address": 0x4000},
            {
                "fan_out": 2,
                "degree": 3,
                "list_address": 0x9004,
                "positions_address": 0x403C,
                "id_log2": 2,
            },
            {"fan_out": 2, "degree": 0, "list_address": 0x8008, "positions_address": 0x4000},
        ],
    )
    bench = GatherBench(scenario).run()
    bench.check()
    assert bench.words == [[3, 103, 100, 103, 2, 0xFFFF_FFFF, 201, 0]]


def test_drawn_positions_by_the_published_mixer():
    scenario = GatherScenario()
    ids = np.arange(5000, 5060)
    scenario.store_list(0x8000, ids, 8)
    scenario.launch(
        0x1000,
        [
            {
                "mode": GatherMode.DRAW,
                "fan_out": 25,
                "degree": 60,
                "list_address": 0x8000,
                "key": 0x1234_5678,
            }
        ],
    )
    bench = GatherBench(scenario).run()
    assert bench.words == [[25, *ids[positions(0x1234_5678, 60, 25)]]]


@pytest.mark.parametrize(("degree", "fan_out"), [(26, 25), (60, 25), (65, 64), (9, 10), (64, 64)])
def test_positions_without_replacement(degree, fan_out):
    scenario = GatherScenario()
    ids = np.arange(5000, 5000 + degree)
    scenario.store_list(0x8000, ids, 8)
    fields = {"mode": GatherMode.DRAW_DISTINCT, "fan_out": fan_out, "degree": degree}
    keys = range(4)
    scenario.launch(0x1000, [{**fields, "list_address": 0x8000, "key": key} for key in keys])
    bench = GatherBench(scenario, latency=8).run()
    taken = [ids[distinct_positions(key, degree, fan_out)] for key in keys]
    assert bench.words == [[word for some in taken for word in (header(len(some)), *some)]]
    assert all(len(set(some)) == len(some) == min(degree, fan_out) for some in taken)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_refused_descriptor_does_not_stop_the_next(fault):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(70, 80), 8)
    good = {
        "mode": GatherMode.DRAW,
        "fan_out": 4,
        "degree": 10,
        "list_address": 0x8000,
        "key": 5,
        "positions_address": 0x4000,
    }
    scenario.launch(0x1000, [good, {**good, **fault}, good])
    bench = GatherBench(scenario).run()
    ids = [70 + int(p) for p in positions(5, 10, 4)]
    bad = header(0, GatherStatus.BAD_DESCRIPTOR)
    assert bench.words == [[header(4), *ids, bad, header(4), *ids]]
    assert bench.done[0].status == GatherStatus.BAD_DESCRIPTOR
    assert bench.pulses["seen"] == 3
    assert bench.pulses["refused"] == 1
    assert bench.pulses["issued"] + bench.pulses["merged"] == 8


def test_position_beyond_the_list_refuses_its_target_alone():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(70, 80), 8)
    scenario.store_list(0x4000, [0, 1, 10, 2, 9, 9], 4)
    explicit = {"degree": 10, "list_address": 0x8000}
    scenario.launch(
        0x1000,
        [
            {**explicit, "fan_out": 4, "positions_address": 0x4000},
            {**explicit, "fan_out": 2, "positions_address": 0x4010},
        ],
    )
    bench = GatherBench(scenario, latency=9).run()
    assert bench.words == [[header(0, GatherStatus.BAD_DESCRIPTOR), header(2), 79, 79]]
    taken = bench.pulses["issued"] + bench.pulses["merged"]
    assert taken == 4, "nothing is read behind the position that is refused"


@pytest.mark.parametrize("where", ["id", "positions", "descriptor"])
def test_failed_read_gives_no_id_of_its_target(where):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(100), 8)
    scenario.store_list(0x4000, [0, 50, 1], 4)
    fields = {"fan_out": 3, "degree": 100, "list_address": 0x8000, "positions_address": 0x4000}
    later = {"mode": GatherMode.DRAW, "fan_out": 1, "degree": 1, "list_address": 0x8000}
    scenario.launch(0x1000, [fields, later, later])
    scenario.faulty = {
        "id": [range(0x8000 + 400, 0x8000 + 408)],
        "positions": [range(0x4000, 0x4001)],
        "descriptor": [range(0x1000, 0x1020)],
    }[where]
    bench = GatherBench(scenario, latency=5).run()
    bench.check()
    bad = header(0, GatherStatus.BUS_ERROR)
    first = [bad, bad] if where == "descriptor" else [bad, header(1), 0]
    assert bench.words == [[*first, header(1), 0]]
    assert bench.done[0].status == GatherStatus.BUS_ERROR


def test_first_failure_of_a_target_is_its_status():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(100), 8)
    scenario.store_list(0x4000, [50, 100, 0], 4)
    fields = {"degree": 100, "list_address": 0x8000, "positions_address": 0x4000}
    scenario.launch(0x1000, [{**fields, "fan_out": 3}, {**fields, "fan_out": 1}])
    scenario.faulty = [range(0x8000 + 400, 0x8000 + 408)]
    bench = GatherBench(scenario, latency=5).run()
    assert bench.words == [[header(0, GatherStatus.BUS_ERROR)] * 2]


@pytest.mark.parametrize(
    ("result_words", "ids"),
    [
        # A ring of 16 rows, and 8 transfers on their way out: a header and 7 ids.
        (1, 16 + 7),
        # Targets of 5 rows, the first with its header and an id: 8 rows have left, the ring holds
        # 16, which makes four targets and the first four rows of the next.
        (2, 4 * 8 + 1 + 3 * 2),
    ],
)
def test_reads_stop_while_results_are_not_taken(result_words, ids):
    scenario = draws_scenario(40, 8)
    scenario.max_fan_out = 8
    bench = GatherBench(scenario, hold=400, result_words=result_words).run()
    bench.check()
    before = [clock for clock, id, *_ in bench.memory.requests if id > 1 and clock < 400]
    assert len(before) == ids


def test_failed_targets_give_their_places_back():
    scenario = GatherScenario(max_fan_out=8)
    scenario.store_list(0x8000, range(64), 8)
    scenario.faulty = [range(0x8000 + 64 * 7, 0x8000 + 512)]
    draws = [
        {"mode": GatherMode.DRAW, "fan_out": 8, "degree": 64, "list_address": 0x8000, "key": key}
        for key in range(60)
    ]
    scenario.launch(0x1000, draws)
    bench = GatherBench(scenario, latency=12).run()
    bench.check()
    headers = sum(word == header(0, GatherStatus.BUS_ERROR) for word in bench.words[0])
    assert headers > 16, "more failed ids than the ring holds"


@pytest.mark.parametrize(
    ("launch", "status"),
    [(Launch(0x1000, 0), GatherStatus.OK), (Launch(0x1010, 3), GatherStatus.BAD_DESCRIPTOR)],
)
def test_launch_of_no_words(launch, status):
    scenario = GatherScenario()
    scenario.launches = [launch, launch]
    bench = GatherBench(scenario).run()
    bench.check()
    for done in bench.done:
        assert (done.status, done.words) == (status, 0)
        assert done.started == done.first == done.last


def test_bursts_stop_at_4_kb_and_cover_no_more_than_the_table():
    scenario = random_scenario(5, targets=60, launches=1, errors=False)
    bench = GatherBench(scenario).run()
    bench.check()
    start, end = 0x0FE0 & -64, 0x0FE0 + 60 * 32
    table = [(address, beats) for _, id, address, beats in bench.memory.requests if id == 0]
    assert [address for address, _ in table][:2] == [0xFC0, 0x1000]
    covered = [a + 64 * n for a, beats in table for n in range(beats)]
    assert covered == list(range(start, end, 64))


def draws_scenario(targets, fan_out, degree=1000):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(degree), 8)
    scenario.launch(
        0x1000,
        [
            {
                "mode": GatherMode.DRAW,
                "fan_out": fan_out,
                "degree": degree,
                "list_address": 0x8000,
                "key": key,
            }
            for key in range(targets)
        ],
    )
    return scenario


def test_id_reads_of_neighbouring_targets_follow_without_a_gap():
    bench = GatherBench(draws_scenario(16, 64), latency=12, outstanding=64).run()
    bench.check()
    clocks = [clock for clock, id, *_ in bench.memory.requests if id > 1]
    assert len(clocks) + bench.pulses["merged"] == 1024
    # One word a clock leaves the unit, headers too, and descriptors take request slots.
    assert clocks[-1] - clocks[0] < 1024 + 16 + 8


def test_ten_ids_a_target_with_explicit_positions():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1000), 8)
    rng = np.random.default_rng(1)
    descriptors = []
    for number in range(60):
        at = 0x4000 + 40 * number
        scenario.store_list(at, rng.integers(0, 1000, 10), 4)
        descriptors.append(
            {"fan_out": 10, "degree": 1000, "list_address": 0x8000, "positions_address": at}
        )
    scenario.launch(0x1000, descriptors)
    bench = GatherBench(scenario, latency=12, outstanding=64).run()
    bench.check()
    clocks = [clock for clock, *_ in bench.memory.requests]
    assert (clocks[-1] - clocks[0]) / 600 < 1.35


@pytest.mark.parametrize("outstanding", [2, 16, 64])
def test_reads_in_flight_are_bounded_and_used(outstanding):
    bench = GatherBench(draws_scenario(2, 64), latency=70, outstanding=outstanding).run(60_000)
    bench.check()
    assert bench.memory.in_flight == outstanding
    assert bench.pulses["blocked"] > 0


def test_stamps_are_the_edges_of_the_words():
    scenario = draws_scenario(1, 4)
    bench = GatherBench(scenario, latency=10).run()
    done = bench.done[0]
    # A descriptor beat, then the ids: header and four ids leave in three consecutive clocks.
    assert done.last - done.first == 2
    assert done.first - done.started > 2 * 10


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"data_bits": 96}, "Data width must be 64 to 1024 bits by doubling, not 96"),
        ({"id_bits": 1}, "ID width must be at least 2 bits, not 1"),
        ({"id_bits": 4, "lanes": 8}, "ID width must be at least 5 bits, not 4"),
        ({"lanes": 3}, "Lanes must be 1, 2, 4 or 8, not 3"),
        (
            {"lanes": 8, "outstanding": 8},
            r"Outstanding must be a power of two from 16 \(twice the lanes\) to 1024, not 8",
        ),
        ({"outstanding": 2048}, r"a power of two from 2 \(twice the lanes\) to 1024, not 2048"),
        ({"result_words": 3}, "result_words must be 1, 2, 4 or 8, not 3"),
        ({"outstanding": 12}, "Outstanding must be a power of two from 2 .* to 1024, not 12"),
        ({"max_distinct": 0}, "Largest fan-out without replacement must be 1 to 64, not 0"),
        ({"max_distinct": 65}, "Largest fan-out without replacement must be 1 to 64, not 65"),
        ({"max_fan_out": 0}, "Largest fan-out must be a power of two from 1 up, not 0"),
    ],
)
def test_refuses_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        GatherUnit(**parameters)
