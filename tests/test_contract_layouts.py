"""Every layout of the contract against bytes worked out by hand, and what its forms agree on."""

import importlib
import pkgutil
from operator import attrgetter

import numpy as np
import pytest
from amaranth.lib import data
from amaranth.lib.data import Layout

import rtl.contract
from rtl.contract.channel import ArrayDone, ChannelCommand, ChannelCounters
from rtl.contract.codec import byte_size, pack, record_dtype, unpack
from rtl.contract.gather import (
    GatherCounters,
    GatherDescriptor,
    GatherLaunch,
    ResultHeader,
    StageRequest,
)
from rtl.contract.ns_config import BodyEntry, Header, Segment
from rtl.contract.nvme import CompletionEntry, SubmissionEntry
from rtl.contract.nvme_admin import IdentifyController, IdentifyNamespace
from rtl.contract.parameter_page import ParameterPage
from tests.scenarios.layouts import GOLDEN, golden_bytes

COUNTERS = [ChannelCounters, GatherCounters]
"""Thirty-two-bit words in the order of their declaration, and nothing else."""
ELSEWHERE = [ParameterPage, IdentifyController, IdentifyNamespace]
"""Long ones: test_contract_parameter_page, test_firmware_admin."""

shapes = pytest.mark.parametrize(
    ("shape", "fields", "text"), GOLDEN, ids=[shape.__name__ for shape, _, _ in GOLDEN]
)


def test_every_layout_has_a_golden_string():
    declared = set()
    for module in pkgutil.iter_modules(rtl.contract.__path__, "rtl.contract."):
        members = vars(importlib.import_module(module.name)).values()
        declared |= {
            member
            for member in members
            if isinstance(member, type(data.Struct)) and member.__module__ == module.name
        }
    assert declared == {shape for shape, _, _ in GOLDEN} | set(COUNTERS) | set(ELSEWHERE)


@shapes
def test_pack(shape, fields, text):
    assert pack(shape, **fields).hex(" ") == golden_bytes(text).hex(" ")


@shapes
def test_unpack(shape, fields, text):
    view = unpack(shape, golden_bytes(text))

    def compare(view, fields):
        for name, expected in fields.items():
            found = getattr(view, name)
            if isinstance(expected, dict):
                compare(found, expected)
            else:
                assert (name, int(found)) == (name, expected)

    compare(view, fields)
    untouched = {name for name, _ in Layout.cast(shape)} - fields.keys()
    assert all(attrgetter(name)(view) == 0 for name in untouched)


@shapes
def test_record_dtype_agrees_or_refuses(shape, fields, text):
    words = all(
        field.offset % 8 == 0 and field.width in (8, 16, 32, 64) for _, field in Layout.cast(shape)
    )
    if not words:
        with pytest.raises(TypeError, match=r"must be 8, 16, 32 or 64 bits|must start at a byte"):
            record_dtype(shape)
        return
    record = np.frombuffer(golden_bytes(text), dtype=record_dtype(shape))[0]
    assert record.dtype.itemsize == byte_size(shape) == len(golden_bytes(text))
    for name, expected in fields.items():
        if isinstance(expected, dict):
            layout = Layout.cast(shape)[name].shape
            expected = int.from_bytes(pack(layout, **expected), "little")
        assert (name, int(record[name])) == (name, expected)
    written = np.zeros(1, dtype=record_dtype(shape))
    written[0] = record
    assert written.tobytes() == golden_bytes(text)


@pytest.mark.parametrize("shape", COUNTERS)
def test_counters_are_words_in_order(shape):
    layout = Layout.cast(shape)
    assert [(field.offset, field.width) for _, field in layout] == [
        (32 * place, 32) for place in range(len(list(layout)))
    ]
    names = list(record_dtype(shape).names)
    values = dict(zip(names, range(1, len(names) + 1), strict=True))
    assert np.frombuffer(pack(shape, **values), "<u4").tolist() == list(values.values())


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (SubmissionEntry, 64),
        (CompletionEntry, 16),
        (Header, 64),
        (Segment, 16),
        (BodyEntry, 16),
        (GatherDescriptor, 32),
        (ResultHeader, 8),
        (GatherLaunch, 16),
        (StageRequest, 16),
        (ChannelCommand, 16),
        (ArrayDone, 2),
    ],
)
def test_sizes_of_the_words_on_the_ports(shape, size):
    assert byte_size(shape) == size
