"""Quantities: exact, both ways, and refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from cosim.config import quantities as q


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (q.TIME, "50 us", 50_000_000),
        (q.TIME, "4156 ps", 4156),
        (q.TIME, "2.5us", 2_500_000),
        (q.TIME, "0 ns", 0),
        (q.TIME, "1 s", 10**12),
        (q.FREQUENCY, "1 GHz", 10**9),
        (q.FREQUENCY, "533.33 MHz", 533_330_000),
        (q.SIZE, "16 MiB", 16_777_216),
        (q.SIZE, "16 MB", 16_000_000),
        (q.SIZE, "1.5 KiB", 1536),
        (q.BANDWIDTH, "3213.9 MB/s", 3_213_900_000),
        (q.TRANSFERS, "200 MT/s", 200_000_000),
        (q.CYCLES, "20 cycles", 20),
        (q.SHARE, "12.5 %", 125_000),
        (q.SHARE, "5%", 50_000),
    ],
)
def test_text_becomes_base_units(kind, text, value):
    assert q.parse_quantity(kind, text) == value


TIME = "must be a time such as '50 us' (in ps, ns, us, ms or s), not "


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (q.TIME, "50 MHz", TIME + "'50 MHz', which is a frequency"),
        (q.TIME, "50 KiB", TIME + "'50 KiB', which is a size"),
        (q.TIME, "50", TIME + "'50', which has no unit"),
        (q.TIME, 50, TIME + "50"),
        (q.TIME, None, TIME + "None"),
        (q.TIME, "us", TIME + "'us'"),
        (q.TIME, "-5 us", TIME + "'-5 us'"),
        (q.TIME, "50 parsec", TIME + "'50 parsec'"),
        (q.TIME, "0.5 ps", "must be a whole number of ps, not '0.5 ps'"),
        (q.TIME, "1001 s", "must be at most 1000 s, not '1001 s'"),
        (q.TIME, "1e30 s", "must be at most 1000 s, not '1e30 s'"),
        (q.TIME, "1e99999999 s", TIME + "'1e99999999 s'"),
        (q.TIME, "\N{ARABIC-INDIC DIGIT FIVE} us", TIME + "'\N{ARABIC-INDIC DIGIT FIVE} us'"),
        (q.FREQUENCY, "0 Hz", "must be positive, not '0 Hz'"),
        (q.BANDWIDTH, "0 B/s", "must be positive, not '0 B/s'"),
        (q.TRANSFERS, "0 MT/s", "must be positive, not '0 MT/s'"),
        (q.SIZE, "0.3 B", "must be a whole number of B, not '0.3 B'"),
        (
            q.CYCLES,
            "4 ns",
            (
                "must be a number of cycles such as '4 cycles' (in cycles), "
                "not '4 ns', which is a time"
            ),
        ),
    ],
)
def test_what_is_no_such_quantity_is_refused(kind, text, message):
    with pytest.raises(ValueError, match="must be") as error:
        q.parse_quantity(kind, text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (q.TIME, 50_000_000, "50 us"),
        (q.TIME, 4156, "4156 ps"),
        (q.TIME, 0, "0 ps"),
        (q.SIZE, 1664, "1664 B"),
        (q.SIZE, 16_777_216, "16 MiB"),
        (q.SIZE, 16_000_000, "16 MB"),
        (q.SHARE, 125_000, "12.5 %"),
        (q.SHARE, 50_000, "5 %"),
        (q.SHARE, 1, "0.0001 %"),
    ],
)
def test_base_units_become_the_shortest_text(kind, value, text):
    assert q.format_quantity(kind, value) == text


@given(
    st.sampled_from([q.TIME, q.FREQUENCY, q.SIZE, q.BANDWIDTH, q.CYCLES, q.SHARE]),
    st.integers(1, 10**15),
)
def test_text_and_back_is_the_same(kind, value):
    assert q.parse_quantity(kind, q.format_quantity(kind, value)) == value


@pytest.mark.parametrize("value", ["1e9999999", "1e-9999999", "9" * 5000, "1/0", "0", True])
def test_a_ratio_out_of_bounds_is_refused_at_once(value):
    with pytest.raises(ValidationError, match=r"must be a positive ratio such as '4/5' or '0\.8'"):
        TypeAdapter(q.Ratio).validate_python(value)
