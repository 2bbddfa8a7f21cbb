"""The plot of the gather unit's benchmark: what is in it, by hand, and that its bytes repeat."""

import pytest
from matplotlib.figure import Figure

from cosim.bench.gather import sweep_cases
from cosim.bench.gather_plot import draw_against, save_plot
from cosim.errors import UserError

MEASURED = [
    {
        "platform": "smartssd",
        "fan_out": 25,
        "lanes": lanes,
        "outstanding": reads,
        "id_bytes": id_bytes,
        "ids_per_s": 1e6 * lanes * reads * (3 if id_bytes == 4 else 2),
        "share_of_dram_bound": 0.5 if lanes == 1 else 0.25,
    }
    for lanes in (1, 2)
    for reads in (16, 4)
    for id_bytes in (8, 4)
]


def lines(key):
    axes = draw_against(MEASURED, key, Figure().subplots())
    return {line.get_label(): line.get_xydata().tolist() for line in axes.lines}


def test_ids_against_reads_in_flight():
    found = lines("outstanding")
    assert set(found) == {
        *("1 lane, 8-byte ids", "2 lanes, 8-byte ids", "bare trace, 8-byte ids"),
        *("1 lane, 4-byte ids", "2 lanes, 4-byte ids", "bare trace, 4-byte ids"),
    }
    assert found["1 lane, 8-byte ids"] == [[4, 8], [16, 32]]
    assert found["2 lanes, 4-byte ids"] == [[4, 24], [16, 96]]
    # 16 at a quarter of the bound, 8 at half of it.
    assert found["bare trace, 8-byte ids"] == [[4, 64], [16, 256]]


def test_ids_against_lanes():
    found = lines("lanes")
    assert found["4 reads in flight, 8-byte ids"] == [[1, 8], [2, 16]]
    assert found["16 reads in flight, 4-byte ids"] == [[1, 48], [2, 96]]


def test_the_plot_repeats(tmp_path):
    for name in ("a.png", "b.png"):
        save_plot(MEASURED, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with pytest.raises(UserError, match=r"none/a.png: must be writable"):
        save_plot(MEASURED, tmp_path / "none" / "a.png")


def test_what_is_swept():
    chosen = sweep_cases(outstanding=(4, 16))
    swept = [(case.build.lanes, case.build.outstanding, case.id_bytes) for case in chosen]
    # Each lane has two reads in flight at least.
    assert swept == [
        *((1, 4, 8), (1, 4, 4), (1, 16, 8), (1, 16, 4)),
        *((2, 4, 8), (2, 4, 4), (2, 16, 8), (2, 16, 4)),
        *((4, 16, 8), (4, 16, 4)),
    ]
    assert {case.build.memory for case in chosen} == {"dram"}
