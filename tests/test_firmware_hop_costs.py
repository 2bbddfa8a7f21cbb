"""The C routines for chains of hops judge as the model does, good and bad alike."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.arm_machine import CORES, SOURCES, ArmProgram
from firmware_model.hop_cases import (
    CHAIN,
    CONFIG,
    chain_run,
    entry_run,
    roots_run,
    table_run,
    targets_run,
)
from firmware_model.mismatch import words
from firmware_model.routine_cases import BLOCKS
from rtl.contract.ns_config import KeyRule, Mode
from rtl.contract.nvme import Status

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=CORES)
def program(request):
    return ArmProgram(SOURCES / "hops.c", CORES[request.param])


BAD_HALVES = [
    ({"keys": 2}, Status.NS_CONFIG_MODE),
    ({"row_pointers": 2}, Status.NS_CONFIG_MODE),
    ({"reserved0": 1}, Status.INVALID_FIELD),
    ({"reserved1": 1 << 31}, Status.INVALID_FIELD),
    ({"hops": 0}, Status.NS_CONFIG_COUNT),
    ({"hops": 1025}, Status.NS_CONFIG_COUNT),
    ({"hops": 3}, Status.NS_CONFIG_LENGTH),
    ({"nodes": 0}, Status.NS_CONFIG_COUNT),
    ({"nodes": 4999}, Status.NS_CONFIG_ADDRESS),
    ({"pointer_lba": 1}, Status.NS_CONFIG_ADDRESS),
    ({"pointer_lba": 1 << 32}, Status.NS_CONFIG_ADDRESS),
    ({"edge_lba": BLOCKS}, Status.LBA_OUT_OF_RANGE),
    ({"edge_lba": 1 << 63}, Status.LBA_OUT_OF_RANGE),
    ({"row_pointers": 1, "pointer_lba": BLOCKS - 9}, Status.LBA_OUT_OF_RANGE),
    ({"row_pointers": 1, "pointer_lba": (1 << 64) - 5}, Status.LBA_OUT_OF_RANGE),
    ({"row_pointers": 1, "pointer_lba": BLOCKS - 10}, Status.SUCCESS),
    ({"edge_lba": BLOCKS - 1}, Status.SUCCESS),
    ({"keys": 1}, Status.SUCCESS),
]


@pytest.mark.parametrize(("fields", "status"), BAD_HALVES)
def test_chain_check_judges_as_the_model(program, fields, status):
    assert chain_run(program, CONFIG, CHAIN.nodes, **fields).value == status


def test_keys_are_not_carried_without_replacement(program):
    config = replace(CONFIG, mode=Mode.DRAW_DISTINCT)
    assert chain_run(program, config, CHAIN.nodes, keys=1).value == Status.NS_CONFIG_MODE


def test_hop_table_judges_as_the_model(program):
    generator = np.random.default_rng(4)
    found = set()
    for _ in range(300):
        fan_outs = generator.choice([0, 1, 1, 1, 2, 3, 256, 257, 65_535], 2, p=[0.04] + [0.12] * 8)
        reserved = generator.choice([0, 1 << 16], 2, p=[0.95, 0.05])
        body = b"".join(words(int(f) | int(r), 7) for f, r in zip(fan_outs, reserved, strict=True))
        first = int(fan_outs[0])
        result = 4 * 3 + 8 * 3 * first + 4 * 3 * first + 8 * 3 * first * int(fan_outs[1])
        result += int(generator.choice([0, -4, 4], p=[0.8, 0.1, 0.1]))
        mode = Mode(int(generator.choice([1, 2])))
        keys = KeyRule(int(generator.choice([0, 1])))
        config = replace(CONFIG, target_count=3, mode=mode, result_bytes=result % (1 << 32))
        found.add(Status(table_run(program, body, config, replace(CHAIN, keys=keys)).value))
    assert found == {
        Status.SUCCESS,
        Status.NS_CONFIG_COUNT,
        Status.NS_CONFIG_LENGTH,
        Status.INVALID_FIELD,
    }


def test_a_result_beyond_32_bits_is_refused(program):
    body = words(65_535, 1) * 8
    chain = replace(CHAIN, hops=8)
    config = replace(CONFIG, target_count=(1 << 32) - 1, result_bytes=(1 << 32) - 1)
    assert table_run(program, body, config, chain).value == Status.NS_CONFIG_LENGTH


@pytest.mark.parametrize("node", [CHAIN.nodes, (1 << 32) - 1])
def test_targets_that_are_no_nodes_are_refused(program, node):
    assert roots_run(program, [3, node, 4], 0).value == Status.LBA_OUT_OF_RANGE
    for walks in (False, True):
        lists = [[1], [], [node]]
        assert targets_run(program, lists, walks=walks).value == Status.LBA_OUT_OF_RANGE
        high = [[1 << 32], [2]]
        assert targets_run(program, high, walks=walks).value == Status.LBA_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("start", "end", "status"),
    [
        (5, 4, Status.LBA_OUT_OF_RANGE),
        (0, 1 << 32, Status.LBA_OUT_OF_RANGE),
        (0, (1 << 32) - 1, Status.SUCCESS),
        (1 << 48, 1 << 48, Status.LBA_OUT_OF_RANGE),
        ((1 << 48) - 1, (1 << 48) - 1, Status.SUCCESS),
        ((1 << 64) - 1, (1 << 64) - 1, Status.LBA_OUT_OF_RANGE),
        (1 << 33, (1 << 33) + 5, Status.SUCCESS),
    ],
)
def test_row_entry_judges_as_the_model(program, start, end, status):
    assert entry_run(program, start, end).value == status
