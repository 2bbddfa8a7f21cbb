"""Random bytes where a host could put them: each command gets its status, the device serves on.

``make firmware-fuzz`` has many more cases.
"""

import pytest

from rtl.contract.nvme import Status
from tests.firmware_fuzz import fuzz
from tests.scenarios.command_oracle import judge
from tests.scenarios.firmware_fuzz import CASES, make_bench, sampling, serve

pytestmark = pytest.mark.slow

EXAMPLES = {"ns_config": 250, "submission_entry": 150, "chain": 250, "prp_list": 200, "several": 80}


@pytest.fixture(scope="module")
def bench():
    return make_bench()


@pytest.mark.parametrize("case", CASES)
def test_whatever_the_bytes(bench, case):
    fuzz(case, bench, EXAMPLES[case])


@pytest.mark.parametrize(
    ("at", "value", "broken"),
    [
        (0, 0, Status.NS_CONFIG_MAGIC),
        (4, 3, Status.NS_CONFIG_VERSION),
        (6, 1, Status.NS_CONFIG_LENGTH),
        (12, 3, Status.NS_CONFIG_MODE),
        (16, 0, Status.NS_CONFIG_COUNT),
        (76, 2, Status.NS_CONFIG_ADDRESS),
    ],
)
def test_the_oracle_names_the_one_rule_that_is_broken(bench, at, value, broken):
    request = bench.request([1, 2], 3)
    bench.patch(request.header, at, value, 2)
    raw = sampling(bench, request)
    assert broken in judge(raw, bench).broken
    serve(bench, [raw])
