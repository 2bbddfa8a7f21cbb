# amaranth: UnusedElaboratable=no
"""Read ports that share a bus: whose turn it is, and whose beats are whose."""

import random

import pytest

from rtl.axi4 import Axi4Read
from rtl.gather.arbiter import ReadArbiter
from tests.gather_bench import Stalls, simulate

AXI = Axi4Read(32, 64, 4)


def grants(ports, wanted, *, stalls=0, limit=2000, **parameters):
    """Ports of the requests in the order of the bus, and the most that one request let pass.

    ``wanted(port, number, clock)``: whether its request of that number is there in that clock.
    """
    dut, served, asked = ReadArbiter(AXI, ports, **parameters), [], [0] * ports
    pause, left, passed, most = Stalls(stalls), 0, [0] * ports, 0

    async def drive(ctx):
        nonlocal left, most
        offered = [False] * ports
        for clock in range(limit):
            for port in range(ports):
                ar = getattr(dut, f"port{port}").ar
                offered[port] = offered[port] or wanted(port, asked[port], clock)
                ctx.set(ar.valid, offered[port])
                ctx.set(ar.payload, {"addr": 1000 * port + asked[port], "id": port})
            left = left - 1 if left else pause()
            ctx.set(dut.axi.ar.ready, left == 0)
            ready = [ctx.get(getattr(dut, f"port{port}").ar.ready) for port in range(ports)]
            assert sum(ready) <= 1
            if ctx.get(dut.axi.ar.valid) and left == 0:
                request = ctx.get(dut.axi.ar.payload)
                assert request.addr == 1000 * request.id + served.count(request.id)
                served.append(request.id)
            await ctx.tick()
            for port in range(ports):
                passed[port] += any(ready)
                if ready[port] or not offered[port]:
                    most = max(most, passed[port] - 1)
                    asked[port] += ready[port]
                    offered[port], passed[port] = False, 0

    simulate(dut, drive, limit_cycles=limit + 10)
    return served, most


def runs(served):
    """(port, how many in a row)."""
    found = []
    for port in served:
        if found and found[-1][0] == port:
            found[-1][1] += 1
        else:
            found.append([port, 1])
    return [tuple(each) for each in found]


@pytest.mark.parametrize("run", [1, 4])
@pytest.mark.parametrize("stalls", [0, 3])
def test_ports_go_on_for_a_run_and_then_take_turns(run, stalls):
    served, _ = grants(
        3, lambda port, number, clock: number < 16, stalls=stalls, urgent=0, run=run, limit=300
    )
    assert runs(served) == [(port, run) for _ in range(16 // run) for port in range(3)]


def test_a_run_ends_with_the_requests_of_its_port():
    """The run behind it is a whole one."""
    starts = {0: (0, 6), 1: (3, 200), 2: (3, 10)}

    def wanted(port, number, clock):
        begin, count = starts[port]
        return clock >= begin and number < count

    served, _ = grants(3, wanted, urgent=0, run=4, limit=100)
    found = [(0, 4), (1, 4), (2, 4), (0, 2), (1, 4), (2, 4), (1, 4), (2, 2)]
    assert runs(served)[: len(found)] == found


def test_an_urgent_port_comes_first_and_ends_no_run():
    def wanted(port, number, clock):
        return clock % 10 == 5 if port == 0 else True

    served, _ = grants(3, wanted, urgent=1, run=16, limit=90)
    urgent = [number for number, port in enumerate(served) if port == 0]
    assert urgent == [5 + 10 * n for n in range(len(urgent))]
    assert len(urgent) > 5
    others = [port for port in served if port]
    assert runs(others)[:4] == [(1, 16), (2, 16), (1, 16), (2, 16)]


def test_nobody_waits_longer_than_the_runs_of_the_others():
    rng = random.Random(1)
    _, most = grants(4, lambda port, *_: rng.random() < 0.9 - 0.2 * port, urgent=0, run=8)
    assert 8 < most <= 3 * 8


@pytest.mark.parametrize("held", [None, 5, 3, 0])
def test_beats_go_to_the_port_whose_id_they_have(held):
    ids = [range(1), range(1, 2), range(2, 4), range(4, 8), range(8, 16)]
    dut = ReadArbiter(AXI, 5, held=held, ids=ids)
    direct = 5 if held is None else held

    def check(ctx, asked, owner, id):
        """Of the ports in ``asked``, the owner alone has a beat now, and it is the right one."""
        for number in asked:
            r = getattr(dut, f"port{number}").r
            assert ctx.get(r.valid) == (number == owner)
            if number == owner:
                beat = ctx.get(r.payload)
                assert (beat.data, beat.id, beat.resp) == (77 + id, id, id % 4)

    async def answer(ctx):
        owners = [next(n for n, each in enumerate(ids) if id in each) for id in range(16)]
        for id in random.Random(1).choices(range(16), k=80):
            comes = id % 3 != 0
            ctx.set(dut.axi.r.valid, comes)
            ctx.set(dut.axi.r.payload, {"data": 77 + id, "id": id, "last": 1, "resp": id % 4})
            owner = owners[id] if comes else None
            check(ctx, range(direct, 5), owner, id)
            await ctx.tick()
            check(ctx, range(direct), owner, id)
            assert ctx.get(dut.axi.r.ready)

    simulate(dut, answer)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"ports": 17}, "ID width"),
        ({"ports": 1, "ids": [range(8, 24)]}, "ID width"),
        ({"ports": 1, "ids": [range(2, 6)]}, "multiple"),
        ({"ports": 1, "ids": [range(3)]}, "multiple"),
        ({"ports": 1, "ids": [range(0)]}, "multiple"),
        ({"ports": 2, "run": 3}, "power of two"),
        ({"ports": 2, "run": 0}, "power of two"),
    ],
)
def test_what_cannot_be_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        ReadArbiter(AXI, **parameters)
