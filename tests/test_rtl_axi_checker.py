# amaranth: UnusedElaboratable=no
"""Each rule of the AXI checkers, broken once and nothing else."""

import pytest

from rtl.axi4 import Axi4Read, Axi4Write
from rtl.contract.axi import AxiRule, Burst
from rtl.gather.axi_checker import AxiOrderChecker, AxiReadChecker, AxiWriteChecker
from tests.gather_bench import simulate

READ, WRITE = Axi4Read(64, 32, 2), Axi4Write(64, 32, 2)


def offer(ready=1, **payload):
    return {"valid": 1, "ready": ready, "payload": payload}


def ar(addr=0, len=0, ready=1, **fields):
    return {"ar": offer(ready, **{"addr": addr, "len": len, "size": 2, "burst": 1, **fields})}


def r(last=1, ready=1, **fields):
    return {"r": offer(ready, last=last, **fields)}


def aw(addr=0, len=0, ready=1, **fields):
    return {"aw": offer(ready, **{"addr": addr, "len": len, "size": 2, "burst": 1, **fields})}


def w(last=1, ready=1, **fields):
    return {"w": offer(ready, last=last, **fields)}


def b(ready=1, **fields):
    return {"b": offer(ready, **fields)}


IDLE = {}
FROM_MANAGER = ("ar", "aw", "w")


def watch(checker, clocks):
    """Rules named in each clock, where ``clocks`` says what each channel does in it."""
    names = [name for name in ("ar", "r", "aw", "w", "b") if hasattr(checker.manager, name)]
    rules = []

    async def bench(ctx):
        for clock in clocks:
            for name in names:
                ours = checker.manager if name in FROM_MANAGER else checker.subordinate
                theirs = checker.subordinate if name in FROM_MANAGER else checker.manager
                what = clock.get(name, {"valid": 0, "ready": 0, "payload": {}})
                ctx.set(getattr(ours, name).valid, what["valid"])
                ctx.set(getattr(ours, name).payload, what["payload"])
                ctx.set(getattr(theirs, name).ready, what["ready"])
            rules.append(AxiRule(ctx.get(checker.rule)))
            await ctx.tick()

    simulate(checker, bench)
    return rules


GOOD_READS = [
    [ar(), r()],
    [ar(ready=0), ar(), r(ready=0), r()],
    [ar(len=2), r(last=0), IDLE, r(last=0), r()],
    [ar(len=1, id=1), ar(id=2), r(last=0, id=1), r(id=2), r(id=1)],  # IDs interleave
    [ar(0xFFC), r()],
    [ar(0xFC0, len=15), *[r(last=0)] * 15, r()],
    [ar(0xFFF, size=0), r()],
    [ar(0xFFC, len=3, burst=Burst.FIXED), *[r(last=0)] * 3, r()],
    [ar(len=255), *[r(last=0)] * 255, r()],
    [{**ar(), **r()} if n else ar() for n in range(300)] + [r()],
]
BAD_READS = [
    ([ar(ready=0), IDLE], AxiRule.ADDRESS_UNSTABLE),
    ([ar(0, ready=0), ar(4)], AxiRule.ADDRESS_UNSTABLE),
    ([ar(0, ready=0), ar(0, ready=0), ar(0, id=1)], AxiRule.ADDRESS_UNSTABLE),
    ([ar(), r(ready=0), IDLE], AxiRule.DATA_UNSTABLE),
    ([ar(), r(ready=0, data=1), r(data=2)], AxiRule.DATA_UNSTABLE),
    ([ar(0xFC4, len=15)], AxiRule.CROSSES_BOUNDARY),
    ([ar(0x1FFC, len=1)], AxiRule.CROSSES_BOUNDARY),
    ([r()], AxiRule.UNREQUESTED),
    ([ar(), r(), r()], AxiRule.UNREQUESTED),
    ([ar(id=1), r(id=2)], AxiRule.UNREQUESTED),
    ([ar(len=1), r(last=1)], AxiRule.LAST_WRONG),
    ([ar(len=1), r(last=0), r(last=0)], AxiRule.LAST_WRONG),
    ([ar(), r(last=0)], AxiRule.LAST_WRONG),
    ([ar(len=1), ar(), r()], AxiRule.LAST_WRONG),  # the second burst first, with one ID
    ([ar()] * 9, AxiRule.TOO_MANY),
]
GOOD_WRITES = [
    [aw(), w(), b()],
    [aw(len=1, ready=0), aw(len=1), w(last=0, ready=0), w(last=0), w(), b(ready=0), b()],
    [aw(id=1), aw(id=2), w(), w(), b(id=2), b(id=1)],
    [aw(), {**aw(), **w()}, {**w(), **b()}, b()],
]
BAD_WRITES = [
    ([aw(ready=0), IDLE], AxiRule.ADDRESS_UNSTABLE),
    ([aw(), w(ready=0, data=1), w(data=3)], AxiRule.DATA_UNSTABLE),
    ([aw(), w(ready=0, strb=1), w(strb=3)], AxiRule.DATA_UNSTABLE),
    ([aw(), w(), b(ready=0), IDLE], AxiRule.RESPONSE_UNSTABLE),
    ([aw(), w(), b(ready=0), b(resp=2)], AxiRule.RESPONSE_UNSTABLE),
    ([aw(0xFFC, len=1)], AxiRule.CROSSES_BOUNDARY),
    ([w()], AxiRule.UNREQUESTED),
    ([aw(), b()], AxiRule.UNREQUESTED),
    ([aw(len=1), w(last=0), b()], AxiRule.UNREQUESTED),
    ([aw(id=1), w(), b(id=2)], AxiRule.UNREQUESTED),
    ([aw(), w(), b(), b()], AxiRule.UNREQUESTED),
    ([aw(len=1), w()], AxiRule.LAST_WRONG),
    ([aw(), w(last=0)], AxiRule.LAST_WRONG),
    ([aw()] * 9, AxiRule.TOO_MANY),
]


@pytest.mark.parametrize("clocks", GOOD_READS)
def test_good_reads_pass(clocks):
    assert set(watch(AxiReadChecker(READ, depth=8), clocks)) == {AxiRule.NONE}


@pytest.mark.parametrize(("clocks", "rule"), BAD_READS)
def test_bad_read_is_named_in_its_clock(clocks, rule):
    rules = watch(AxiReadChecker(READ, depth=8), clocks)
    assert rules == [AxiRule.NONE] * (len(clocks) - 1) + [rule]


@pytest.mark.parametrize(
    ("beats", "broken"),
    [
        ([(0, 0), (0, 1), (0, 2)], []),
        ([(0, 0), (2, 0), (1, 0), (2, 1), (0, 1)], []),
        ([(3, number % 4) for number in range(9)], []),  # numbers have two bits
        ([(0, 1)], [0]),
        ([(0, 0), (1, 1), (1, 0)], [1, 2]),
        ([(0, 0), (0, 0)], [1]),
    ],
)
def test_order_within_an_id_is_watched(beats, broken):
    checker, rules = AxiOrderChecker(READ, 2), []

    async def bench(ctx):
        for id, order in beats:
            ctx.set(checker.taken, 1)
            ctx.set(checker.id, id)
            ctx.set(checker.order, order)
            rules.append(ctx.get(checker.rule))
            await ctx.tick()
        ctx.set(checker.taken, 0)
        assert not ctx.get(checker.rule)

    simulate(checker, bench)
    assert [place for place, rule in enumerate(rules) if rule] == broken
    assert set(rules) <= {AxiRule.NONE, AxiRule.REORDERED}


@pytest.mark.parametrize("clocks", GOOD_WRITES)
def test_good_writes_pass(clocks):
    assert set(watch(AxiWriteChecker(WRITE, depth=8), clocks)) == {AxiRule.NONE}


@pytest.mark.parametrize(("clocks", "rule"), BAD_WRITES)
def test_bad_write_is_named_in_its_clock(clocks, rule):
    rules = watch(AxiWriteChecker(WRITE, depth=8), clocks)
    assert rules == [AxiRule.NONE] * (len(clocks) - 1) + [rule]


def test_checkers_pass_everything_through():
    checker, seen = AxiReadChecker(READ), []

    async def bench(ctx):
        ctx.set(checker.manager.ar.payload, {"addr": 0x40, "id": 3})
        ctx.set(checker.manager.ar.valid, 1)
        ctx.set(checker.subordinate.r.payload, {"data": 77, "last": 1})
        seen.append(ctx.get(checker.subordinate.ar.payload.addr))
        seen.append(ctx.get(checker.subordinate.ar.valid))
        seen.append(ctx.get(checker.manager.r.payload.data))
        seen.append(ctx.get(checker.manager.ar.ready))

    simulate(checker, bench)
    assert seen == [0x40, 1, 77, 0]
