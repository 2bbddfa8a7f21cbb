"""Queues: wrap, phase, doorbells, full completion queue, several queues, command slots."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.nvme_controller import QueueError
from firmware_model.parameters import QueueRegisters
from rtl.contract.nvme import Opcode, doorbell_offset
from tests.firmware_bench import PARAMETERS, Bench


def bench(**named):
    return Bench([0, 100], np.arange(100), **named)


def flush(host, **fields):
    return host.put(opcode=Opcode.FLUSH, **fields)


def test_queues_of_different_sizes_wrap_many_times():
    device = bench(entries=5, completion_entries=3)
    for number in range(20):
        flush(device.host, cid=100 + number)
        (entry,) = device.host.wait(1)
        assert entry.cid == 100 + number
        assert entry.sqid == 1
        assert entry.sqhd == (number + 1) % 5
        assert entry.status.status == 0
    assert device.device.counters.phase_turns == 20 // 3


def test_full_submission_queue_is_fetched_in_order():
    device = bench(entries=8)
    for number in range(7):
        flush(device.host, ring=number == 6, cid=number)
    entries = device.host.wait(7)
    assert [entry.cid for entry in entries] == list(range(7))
    # The head that the first completion reports is behind the tail that the host has rung.
    heads = [entry.sqhd for entry in entries]
    assert 1 <= heads[0] < 7 == heads[-1]
    assert heads == sorted(heads)
    assert device.device.counters.doorbells > 1
    reads = [entry for entry in device.port.transfers if entry[1] == "sqe"]
    assert [at - device.host.submission for _, _, at, _ in reads] == [64 * n for n in range(7)]


def test_full_completion_queue_waits_for_the_host():
    device = bench(entries=8, completion_entries=3)
    for number in range(5):
        flush(device.host, cid=number)
    env = device.kernel.env
    env.run(until=env.now + 10**9)
    assert [entry.cid for entry in device.host.reap(acknowledge=False)] == [0, 1]
    env.run(until=env.now + 10**9)
    assert device.host.reap(acknowledge=False) == []
    device.host.acknowledge()
    env.run(until=env.now + 10**9)
    assert [entry.cid for entry in device.host.reap()] == [2, 3]
    env.run(until=env.now + 10**9)
    assert [entry.cid for entry in device.host.reap()] == [4]
    assert device.device.counts()["completion_queue_waits"] == 3


def test_two_queues_are_served_side_by_side():
    device = bench(queues=2)
    for number in range(3):
        for host in device.hosts:
            flush(host, cid=10 * host.number + number)
    device.kernel.env.run(until=device.kernel.env.now + 10**9)
    for host in device.hosts:
        found = host.reap()
        assert [entry.cid for entry in found] == [10 * host.number + n for n in range(3)]
        assert {entry.sqid for entry in found} == {host.number}


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (doorbell_offset(1, completion=False), 8),
        (doorbell_offset(1, completion=True), 1),  # no completion was posted yet
        (doorbell_offset(1, completion=True), 99),
        (doorbell_offset(2, completion=False), 1),
        (0, 1),
    ],
)
def test_bad_doorbell_is_counted_and_ignored(offset, value):
    device = bench()
    device.port.ring(offset, value, device.kernel.origin("host", "stray"))
    flush(device.host)
    assert device.host.wait(1)[0].status.status == 0
    assert device.device.counters.bad_doorbells == 1
    assert device.device.counters.commands == 1


def test_commands_beyond_the_slots_wait():
    parameters = replace(PARAMETERS, nvme=replace(PARAMETERS.nvme, command_slots=2))
    device = bench(parameters=parameters)
    request = device.request([0], 5)
    for _ in range(5):
        device.submit(request)
    assert len(device.host.wait(5)) == 5
    assert device.device.counts()["command_slot_waits"] == 3


def test_queue_outside_host_memory_is_an_error_of_the_run():
    device = bench()
    device.device.attach_queue(
        QueueRegisters(
            number=2,
            submission_address=0xDEAD_0000,
            submission_entries=8,
            completion_address=0xDEAD_1000,
            completion_entries=8,
        )
    )
    offset = doorbell_offset(2, completion=False)
    device.port.ring(offset, 1, device.kernel.origin("host", "ring"))
    with pytest.raises(QueueError, match="submission entries of queue 2 must lie in host memory"):
        device.kernel.env.run()
    with pytest.raises(ValueError, match="number of a queue must be a new one, not 2"):
        device.device.attach_queue(replace(device.host.registers, number=2))
