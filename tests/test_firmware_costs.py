"""Cost tables, and the C routines against the Python model."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from firmware_model import cost_table
from firmware_model.arm_machine import SOURCES, ArmProgram
from firmware_model.cost_table import COSTS, Linear, load_costs
from firmware_model.costing import CORE, fit, main, table_text
from firmware_model.ns_config import NsConfig, Refusal, SegmentList, parse_entry, target_of
from firmware_model.routine_cases import (
    BLOCKS,
    body_run,
    flash_run,
    group_counts,
    group_run,
    sqe_run,
)
from rtl.contract.channel import COMMANDS_PER_LUN
from rtl.contract.codec import pack
from rtl.contract.ns_config import BodyEntry, Mode
from rtl.contract.nvme import Opcode, Status, SubmissionEntry
from tests import firmware_bench


@pytest.mark.slow
def test_table_is_what_the_compiled_routines_cost(capsys):
    """Counts, fit and the file itself, byte for byte; results are compared on the way."""
    assert (COSTS / f"{CORE}.yaml").read_text(encoding="utf-8") == table_text()
    assert main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out


def test_counted_routines_fit_exactly_and_are_not_marked_assumed():
    text = (COSTS / f"{CORE}.yaml").read_text(encoding="utf-8")
    assert text.count("# residual 0\n") == text.count("# residual") == 6
    table = load_costs()
    counted = {"sqe_decode", "body_parse", "body_draw", "group_pieces", "gather", "flash_issue"}
    assert set(table.routines) - set(table.assumed) == counted
    assert all(reason for reason in table.assumed.values())


def test_sqe_decode_takes_sixteen_device_loads():
    assert load_costs().routines["sqe_decode"].loads["registers"] == Linear(Fraction(16))


def test_fit_is_exact_and_says_what_does_not_fit():
    rows = [({"n": n, "m": m}, 7 + 3 * n + 5 * m) for n in range(4) for m in range(3)]
    found = fit(rows)
    assert dict(found.coefficients) == {"base": 7, "n": 3, "m": 5}
    assert found.residual == 0
    bent = fit([({"n": 0}, 0), ({"n": 1}, 1), ({"n": 2}, 4)])
    assert dict(bent.coefficients) == {"base": Fraction(-1, 3), "n": 2}
    assert bent.residual == Fraction(2, 3)


@pytest.fixture(scope="module")
def body_program():
    return ArmProgram(SOURCES / "body_parse.c")


def test_sqe_decode_judges_as_the_model():
    program = ArmProgram(SOURCES / "sqe_decode.c")
    generator = np.random.default_rng(3)
    for _ in range(60):
        sqe_run(program, generator.bytes(64))
    for opcode in (Opcode.FLUSH, Opcode.WRITE, Opcode.READ, 3):
        for cdw12 in (0, 1 << 25, 0xFFFF):
            for flags in ({}, {"fuse": 1}, {"fuse": 2}, {"psdt": 1}, {"psdt": 2}):
                for nsid in (0, 1, 2):
                    raw = pack(SubmissionEntry, opcode=opcode, cdw12=cdw12, flags=flags, nsid=nsid)
                    sqe_run(program, raw)


def test_flash_issue_fills_a_lun_as_the_scheduler_does():
    program = ArmProgram(SOURCES / "flash_issue.c")
    for held in range(COMMANDS_PER_LUN + 2):
        for ready in (True, False):
            flash_run(program, held, ready=ready)


@pytest.mark.parametrize("degree", [0, 1, 9, 1 << 31])
@pytest.mark.parametrize("lba", [0, BLOCKS - 1, BLOCKS, 1 << 40, (1 << 64) - 1])
@pytest.mark.parametrize("offset", [0, 4088, 4096])
@pytest.mark.parametrize("position", [0, 8, 9])
def test_body_parse_refuses_as_the_model(body_program, degree, lba, offset, position):
    entry = pack(BodyEntry, lba=lba, degree=degree, offset=offset, fan_out=1)
    extra = position.to_bytes(4, "little")
    found = body_run(body_program, "body_parse", entry + extra, 1, 2).value
    empty = SegmentList(pieces=(), chain=None)
    config = NsConfig(
        mode=Mode.EXPLICIT,
        id_bytes=8,
        target_count=1,
        body_bytes=20,
        result_bytes=12,
        body=empty,
        result=empty,
    )
    expected = Status.SUCCESS
    try:
        target_of(
            parse_entry(entry, Mode.EXPLICIT),
            extra if degree else b"",
            config,
            lba_bytes=4096,
            namespace_blocks=BLOCKS,
        )
    except Refusal as refusal:
        expected = refusal.status
    assert found == expected


@pytest.mark.parametrize("function", ["body_parse", "body_draw"])
def test_body_parse_stores_counts_and_clears_the_upper_halves_of_narrow_ids(body_program, function):
    """Two lists of three and two 32-bit ids; between them one without any."""
    body = b""
    for degree, fan_out in ((9, 3), (0, 4), (5, 2)):
        body += pack(BodyEntry, lba=1, degree=degree, offset=0, fan_out=fan_out)
        body += bytes(4) if function == "body_draw" else bytes(4 * fan_out if degree else 0)
    run = body_run(body_program, function, body, 3, 5, id_log2=2)
    ones, zero = 0xFFFF_FFFF, 0  # the lower halves are for the gather
    expected = [3, *[ones, zero] * 3, 0, 2, *[ones, zero] * 2]
    assert np.frombuffer(run.memory["page_buffer:subgraph"], "<u4").tolist() == expected


def test_grouping_costs_what_the_table_says_for_any_order_of_pages():
    """And its jobs and pieces are the model's, which :func:`group_run` compares."""
    program = ArmProgram(SOURCES / "group_pieces.c")
    cost = load_costs().routines["group_pieces"]
    generator = np.random.default_rng(6)
    for pieces in (1, 2, 7, 40):
        for spread in (1, 2, 9, 1000):
            pages = generator.integers(0, spread, pieces).tolist()
            run = group_run(program, pages)
            counts = group_counts(pages)
            assert run.instructions == cost.instructions(counts)
            assert run.loads == {name: form(counts) for name, form in cost.loads.items()}


def test_arguments_beyond_the_fourth_are_on_the_stack(tmp_path):
    source = tmp_path / "many.c"
    source.write_text(
        "unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f) "
        "{ return (a | b << 4 | c << 8 | d << 12 | e << 16) + f; }"
    )
    run = ArmProgram(source).run("many", 1, 2, 3, 4, 5, 0x60_0000, objects={})
    assert run.value == 0x65_4321


def test_code_with_relocations_is_refused(tmp_path):
    source = tmp_path / "calls.c"
    source.write_text("extern int other(int); int routine(int x) { return other(x) + 1; }")
    with pytest.raises(ValueError, match=r"calls\.c must not need relocations"):
        ArmProgram(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{one: {instructions: {base: x}}}", "bad.yaml: one must have whole numbers"),
        ("{one: {instructions: {base: 1}, load: {}}}", r"must not have the keys \['load'\]"),
        ("{one: {instructions: {base: -1}}}", "Counts must not be negative"),
    ],
)
def test_bad_table_is_refused(tmp_path, monkeypatch, text, message):
    (tmp_path / "bad.yaml").write_text(f"routines: {text}")
    monkeypatch.setattr(cost_table, "COSTS", tmp_path)
    with pytest.raises(ValueError, match=message):
        load_costs(["bad"])
    (tmp_path / "one.yaml").write_text("routines: {one: {instructions: {base: 1/2}}}")
    with pytest.raises(ValueError, match="one must be in one table only"):
        load_costs(["one", "one"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_jobs": 0}, "page_jobs must be a positive integer, not 0"),
        ({"cores": ()}, r"cores must be at least one, with different names, not \[\]"),
        ({"binding": {}}, r"binding\['front-end'\] must be one of core0, core1, not None"),
        (
            {"nvme": replace(firmware_bench.PARAMETERS.nvme, namespace_blocks=1 << 20)},
            "namespace_blocks must be at most the 2048",
        ),
    ],
)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(firmware_bench.PARAMETERS, **change)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("core", {"period_ps": 0}, "period_ps must be a positive integer, not 0"),
        ("core", {"issue_rate": Fraction(0)}, "issue_rate must be positive"),
        ("core", {"load_ps": {"stack": 0}}, r"load_ps\['stack'\] must be a positive integer"),
        ("core", {"name": ""}, "name must not be empty"),
        ("dma", {"slots": 0}, "slots must be a positive integer, not 0"),
        ("nvme", {"transfer_limit_bytes": 5000}, "must be a multiple of 4096, not 5000"),
        ("queue", {"submission_entries": 1}, "submission_entries must be in 2 to 65536, not 1"),
        ("queue", {"completion_address": 8}, "completion_address must be aligned to 4096 bytes"),
    ],
)
def test_bad_part_is_refused(part, change, message):
    parts = {
        "core": firmware_bench.CORE,
        "dma": firmware_bench.PARAMETERS.dma,
        "nvme": firmware_bench.PARAMETERS.nvme,
        "queue": firmware_bench.Bench([0, 1], np.arange(1)).host.registers,
    }
    with pytest.raises(ValueError, match=message):
        replace(parts[part], **change)
