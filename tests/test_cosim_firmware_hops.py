"""Systems whose firmware goes from hop to hop: what is refused before anything is simulated."""

from types import SimpleNamespace

import pytest

from cosim import compare as compare_module
from cosim.compare import compare
from cosim.config.load import load_config
from cosim.config.model import FirmwareCsd
from cosim.errors import UserError
from cosim.systems import firmware_hops
from host.reference import sample
from host.trace import Trace
from tests.firmware_bench import LAYOUT
from tests.system_runs import as_text, configuration, systems
from tests.test_firmware_with_host import Setting

HOPS = {"positions": "device", "hops": "device", "coalescing": 1024}
TABLE = "platform_overrides.ssd.firmware.row_pointer_memory"
TARGETS = "platform_overrides.ssd.firmware.hop_targets"


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """Message of the refusal of the small example, its first system changed; none built."""

    class Built(Exception):
        pass

    def build(*arguments, **options):
        raise Built

    monkeypatch.setattr(compare_module, "build", build)
    monkeypatch.setattr(compare_module, "require", lambda simulator: None)

    def refusal(keys, **changes):
        path = tmp_path / "c.yaml"
        path.write_text(as_text(configuration(**{"systems": systems(firmware=keys), **changes})))
        try:
            compare(load_config(path), out=tmp_path / "run")
        except UserError as error:
            return str(error)
        except Built:
            return ""
        raise AssertionError("it must not come so far")

    return refusal


def test_good_ones_are_not_refused(refusal):
    assert refusal(HOPS) == ""
    assert refusal(HOPS | {"row_pointers": "flash"}) == ""


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"positions": "host"}, "must give positions: device where hops is device"),
        ({"coalescing": 3}, "must not give coalescing where hops is device"),
        (
            {"hops": "host", "row_pointers": "flash"},
            "must not give row_pointers: flash where hops is host",
        ),
    ],
)
def test_switches_that_contradict_each_other(refusal, keys, rule):
    assert refusal(HOPS | keys).endswith(f"systems[0] {rule}")


def test_unknown_places_of_row_pointers(refusal):
    found = refusal(HOPS | {"row_pointers": "host"})
    assert "systems[0].row_pointers must be" in found


def test_row_pointers_must_fit_the_memory_of_the_ssd(refusal):
    found = refusal(HOPS, platform_overrides={"ssd.firmware.row_pointer_memory": "4 KiB"})
    assert f"{TABLE} must hold" in found
    assert found.endswith("bytes of row pointers, not 4096")
    assert "\n" not in found
    # On flash a page of them is enough.
    changes = {"ssd.firmware.row_pointer_memory": "16 KiB"}
    assert refusal(HOPS | {"row_pointers": "flash"}, platform_overrides=changes) == ""
    changes = {"ssd.firmware.row_pointer_memory": "1 KiB"}
    found = refusal(HOPS | {"row_pointers": "flash"}, platform_overrides=changes)
    assert f"{TABLE} must hold at least one page of" in found
    assert refusal({}, platform_overrides=changes) == ""


def test_targets_of_the_largest_hop_must_fit(refusal):
    trace = {"batches": 1, "targets": 5, "fan_outs": [4, 3, 2], "seed": 1}
    changes = {"platform_overrides": {"ssd.firmware.hop_targets": "480 B"}, "run__trace": trace}
    assert refusal(HOPS, **changes) == ""
    changes["platform_overrides"] = {"ssd.firmware.hop_targets": "479 B"}
    rule = "must hold 480 bytes for 60 targets of a hop, not 479"
    assert refusal(HOPS, **changes).endswith(f"{TARGETS} {rule}")
    assert refusal({}, **changes) == ""


def test_the_whole_subgraph_must_fit(refusal):
    trace = {"batches": 1, "targets": 5, "fan_outs": [4, 3], "seed": 1}
    # 5 and 20 counts of 4 bytes, 20 and 60 ids of 8.
    changes = {"platform_overrides": {"ssd.firmware.subgraph_buffer": "739 B"}, "run__trace": trace}
    found = refusal(HOPS, **changes)
    assert found.endswith(
        "subgraph_buffer must hold 740 bytes for a mini-batch's subgraph, not 739"
    )


def test_row_pointers_must_fit_the_flash_behind_the_lists(refusal, monkeypatch):
    keys = HOPS | {"row_pointers": "flash"}
    monkeypatch.setattr(firmware_hops, "host_pages", lambda ssd, places: 40)
    found = refusal(keys)
    assert "run.graph must fit the flash array of 40 pages with its row pointers, not need" in found
    assert refusal(HOPS) == ""


@pytest.mark.parametrize("place", ["dram", "flash"])
@pytest.mark.parametrize("area", [None, {"writes_in_flight": 1, "write_area": "9000 B"}])
def test_row_pointers_are_loaded_where_the_system_has_them(place, area):
    """Behind the lists, and behind what another process may write."""
    setting = Setting(base_lba=0)
    more = {} if area is None else {"reads_in_flight": 0, "size": "4 KiB", "seed": 1, **area}
    system = FirmwareCsd(
        kind="firmware-csd",
        positions="device",
        hops="device",
        row_pointers=place,
        background=more or None,
    )
    graph = setting.graph
    inputs = SimpleNamespace(graph=graph, edge_bytes=8 * graph.edges)
    device, medium, driver = setting.device, setting.medium, setting.driver
    host = firmware_hops.firmware_hops(
        system, inputs, LAYOUT, device, medium, driver, setting.placement
    )
    first = -(-8 * graph.edges // LAYOUT.page_bytes) + 2 * bool(more)
    assert host.parameters.pointer_lba == (place == "flash") * first * LAYOUT.lbas
    trace = Trace.generate(graph, seed=5, batches=1, targets=9, fan_outs=(3, 2))
    origin = setting.kernel.origin("host", "host.start")
    found, _ = setting.run(host.sample(trace.batches[0], origin))
    assert found.sha256 == sample(graph, trace.batches[0]).sha256
    assert (device.counts()["pointer_misses"] > 0) == (place == "flash")


def test_a_host_that_goes_from_hop_to_hop_has_no_such_half():
    system = FirmwareCsd(kind="firmware-csd", positions="device")
    nothing = [None] * 6
    assert firmware_hops.firmware_hops(system, *nothing) is None
