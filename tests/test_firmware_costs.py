"""Cost tables, and the C routines against the Python model."""

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from firmware_model import cost_table, costing
from firmware_model.arm_machine import CORES, SOURCES, ArmProgram
from firmware_model.buffer_cases import tell
from firmware_model.cost_table import COSTS, Linear, load_costs
from firmware_model.costing import main
from firmware_model.fits import entered, fit
from firmware_model.flash_cases import flash_rows
from firmware_model.flash_choice_cases import choice_rows
from firmware_model.header_cases import block_of, judge_block, slots_of
from firmware_model.mismatch import words
from firmware_model.ns_config import NsConfig, Refusal, SegmentList, parse_entry, target_of
from firmware_model.nvme_cases import decode_run, prp_run
from firmware_model.replacement import POLICIES
from firmware_model.replacement_cases import POLICY_HEADERS
from firmware_model.routine_cases import BLOCKS, body_run, group_counts, group_run, sqe_run
from firmware_model.tables import NONE, empty_tables
from rtl.contract.codec import pack
from rtl.contract.ns_config import BodyEntry, Mode
from rtl.contract.nvme import Opcode, Status, SubmissionEntry
from tests import firmware_bench

pytestmark = pytest.mark.slow

RESIDUALS = {"cortex_a9": 0, "cortex_a53": 1, "cortex_m7": 3}
"""Largest deviation of a count from its fit; see docs/firmware.md."""


@pytest.mark.parametrize("core", CORES)
def test_table_is_what_the_compiled_routines_cost(core, capsys):
    """Counts, fit and the file itself, byte for byte; results are compared on the way."""
    assert main(["--check", "--core", core]) == 0
    assert f"{core}.yaml is up to date" in capsys.readouterr().out


def test_a_stale_table_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(costing, "COSTS", tmp_path)
    monkeypatch.setattr(costing, "table_text", lambda core: f"of {core.name}\n")
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert (tmp_path / "cortex_a53.yaml").read_text() == "of cortex_a53\n"
    assert main(["--check"]) == 0
    (tmp_path / "cortex_m7.yaml").write_text("old")
    assert main(["--check"]) == 1
    assert "cortex_m7.yaml must be made again" in capsys.readouterr().out


@pytest.mark.parametrize("core", CORES)
def test_counted_routines_fit_and_assumed_ones_say_why(core):
    text = (COSTS / f"{core}.yaml").read_text(encoding="utf-8")
    residuals = [float(word) for word in re.findall(r"# residual (\S+)", text)]
    table = load_costs((core, "assumed"))
    counted = len(table.routines) - len(table.assumed)
    assert len(residuals) == counted + 2 * (len(POLICIES) - 1)  # claim and release
    assert counted >= 24
    assert max(residuals) <= RESIDUALS[core]
    assert all(table.assumed.values())


def test_sqe_decode_takes_sixteen_device_loads():
    assert load_costs().routines["sqe_decode"].loads["registers"] == Linear(Fraction(16))


def test_fit_is_exact_and_says_what_does_not_fit():
    rows = [({"n": n, "m": m}, 7 + 3 * n + 5 * m) for n in range(4) for m in range(3)]
    found = fit("one", rows)
    assert dict(found.coefficients) == {"base": 7, "n": 3, "m": 5}
    assert found.residual == 0
    bent = fit("one", [({"n": 0}, 0), ({"n": 1}, 1), ({"n": 2}, 4)])
    assert dict(bent.coefficients) == {"base": Fraction(-1, 3), "n": 2}
    assert bent.residual == Fraction(2, 3)
    of_two = fit("one", [({"yes": 1, "no": 0}, 3), ({"yes": 0, "no": 1}, 4)], base=False)
    assert dict(of_two.coefficients) == {"yes": 3, "no": 4}


def test_fit_of_inputs_that_do_not_tell_counts_apart_is_refused():
    rows = [({"n": n, "m": 2 * n}, n) for n in range(4)]
    with pytest.raises(ValueError, match="one must be run so that 'm' varies apart from"):
        fit("one", rows)


def test_to_enter_a_loop_may_cost_something_of_its_own():
    assert entered({"turn": 3, "other": 1}, ["turn", "absent"]) == {
        "turn": 3,
        "other": 1,
        "turn>0": 1,
    }
    form = Linear(Fraction(5), {"turn": Fraction(2), "turn>0": Fraction(-4)})
    assert form.counts == {"turn"}
    assert [form({"turn": turn}) for turn in range(3)] == [5, 3, 5]
    with pytest.raises(ValueError, match="Counts must not be negative, not -1"):
        Linear(Fraction(1), {"turn": Fraction(-1)})({"turn": 2})


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


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("core", CORES)
def test_page_buffer_tells_the_model_s_story_at_its_cost(core, policy):
    """Frame by frame, with other seeds than the cost tables are made with."""
    program = ArmProgram(SOURCES / "page_buffer.c", CORES[core], POLICY_HEADERS[policy])
    for seed, hot, pages in ((1000, 0.3, 20), (1001, 0.9, 20), (1002, 0, 9)):
        rows = tell(program, seed, 120, hot=hot, wide=4, pages=pages, policy=policy)
        compare_with_table(rows, core, policy)


@pytest.mark.parametrize("core", CORES)
def test_flash_queues_tell_the_model_s_story_at_its_cost(core):
    """Read by read."""
    compare_with_table(flash_rows(ArmProgram(SOURCES / "flash.c", CORES[core]), 300), core)
    program = ArmProgram(SOURCES / "flash_choice.c", CORES[core])
    compare_with_table(choice_rows(program, 150), core)


def compare_with_table(story, core, policy="lru"):
    table = load_costs((core,), policy).routines
    for routine, rows in story.items():
        cost = table[routine]
        for counts, run in rows:
            assert abs(run.instructions - cost.instructions(counts)) <= RESIDUALS[core]
            for place, form in cost.loads.items():
                assert abs(run.loads.get(place, 0) - form(counts)) <= RESIDUALS[core]


def test_flash_issue_leaves_a_controller_alone_that_is_not_ready():
    run = ArmProgram(SOURCES / "flash.c").run(
        "flash_issue",
        "registers",
        "table",
        0,
        objects={"registers": bytes(20), "table": empty_tables(8, 7).tobytes()},
    )
    assert run.value == NONE
    assert run.memory["registers"] == bytes(20)


HEADERS = {
    "magic": (0, 1),
    "version": (0, 2),
    "length": (0, 4095),
    "crc": (0, 1 << 31),
    "mode": (0, 1, 2, 3),
    "id_bytes": (0, 4, 8, 16),
    "target_count": (0, 1, 5, 1 << 31),
    "body_bytes": (0, 99, 100, 101),
    "body_segments": (0, 2, 126, 127),
    "result_segments": (0, 126, 65_535),
}


@pytest.mark.parametrize("field", HEADERS)
def test_headers_are_judged_as_by_the_model(field):
    program = ArmProgram(SOURCES / "ns_config.c")
    lists = slots_of(2, 0), slots_of(3, 1, chain=4)
    for value in HEADERS[field]:
        judge_block(program, block_of(*lists, **{"body_bytes": 100, field: value}))


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("body_bytes", [159, 160, 199, 200])
def test_a_body_must_hold_its_targets(mode, body_bytes):
    """Ten of them, of 16 bytes each and a key where positions are drawn."""
    program = ArmProgram(SOURCES / "ns_config.c")
    judge_block(program, block_of(*[slots_of(1, 0)] * 2, mode=mode, body_bytes=body_bytes))


def test_a_list_goes_on_behind_its_last_slot_only():
    chain = slots_of(0, 0, chain=3)
    program = ArmProgram(SOURCES / "ns_config.c")
    for body in (slots_of(1, 0) + chain, chain, chain + slots_of(1, 0), chain + chain):
        judge_block(program, block_of(body, slots_of(1, 1), body_bytes=200))


def test_segments_are_judged_as_by_the_model():
    program = ArmProgram(SOURCES / "ns_config.c")
    chained = slots_of(2, 0, chain=7)
    for at, value in product(range(0, len(chained), 4), (0, 1, 2, 16, 4096, 4112)):
        broken = bytearray(chained)
        broken[at : at + 4] = value.to_bytes(4, "little")
        judge_block(program, block_of(slots_of(1, 1), bytes(broken), body_bytes=200))


@pytest.mark.parametrize("blocks", [1, 2, 3, 256, 257])
@pytest.mark.parametrize("block", [0, (1 << 33) - 256, (1 << 33) - 1, 1 << 33, (1 << 64) - 1])
@pytest.mark.parametrize("prp1", [0, 2, 4, 4095, (1 << 40) + 4092])
def test_read_commands_are_judged_as_by_the_model(blocks, block, prp1):
    program = _block_program()
    for prp2 in (0, 8, 1 << 33):
        decode_run(program, blocks, block, prp1, prp2)


@cache
def _block_program():
    return ArmProgram(SOURCES / "block_io.c")


@pytest.mark.parametrize("entries", [[4096, 8192, 0], [4096, 8, 0], [2]])
def test_prp_lists_are_judged_as_by_the_model(entries):
    command = words(0, 0, 20_000, 10_000, 1) + bytes(16 * 8)
    prp_run(_block_program(), command, entries, 10_000)


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


@pytest.mark.parametrize(
    ("degree", "fan_out", "status"),
    [
        (300, 256, Status.SUCCESS),
        (300, 257, Status.NS_CONFIG_COUNT),
        (257, 257, Status.SUCCESS),
    ],
)
def test_body_draw_distinct_has_room_for_so_many_positions(body_program, degree, fan_out, status):
    body = pack(BodyEntry, lba=1, degree=degree, offset=0, fan_out=fan_out) + bytes(4)
    run = body_run(body_program, "body_draw_distinct", body, 1, fan_out + 1)
    assert run.value == status


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
        ("{one: {instructions: {base: 1, n: 2}}}", r"counts must name \['n'\]"),
    ],
)
def test_bad_table_is_refused(tmp_path, monkeypatch, text, message):
    (tmp_path / "bad.yaml").write_text(f"routines: {text}")
    monkeypatch.setattr(cost_table, "COSTS", tmp_path)
    with pytest.raises(ValueError, match=message):
        load_costs(["bad"])
    (tmp_path / "odd.yaml").write_text("{routines: {}, policies: {fifo: {}}}")
    with pytest.raises(ValueError, match=r"odd.yaml: policy must be one of fifo, not 'lru'"):
        load_costs(["odd"])
    (tmp_path / "one.yaml").write_text("routines: {one: {instructions: {base: 1/2}}}")
    with pytest.raises(ValueError, match="one must be in one table only"):
        load_costs(["one", "one"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_jobs": 0}, "page_jobs must be a positive integer, not 0"),
        ({"page_buffer_policy": "fifo"}, "policy must be one of lru, clock, 2q, not 'fifo'"),
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
        ("core", {"kind": ""}, "kind must not be empty"),
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
