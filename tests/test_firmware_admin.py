"""The admin queue: Identify, features, queues made and deleted, Abort; and who is served next."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.admin_state import AdminState, Refused
from rtl.contract.codec import pack, unpack
from rtl.contract.nvme import Opcode, Status, SubmissionEntry
from rtl.contract.nvme_admin import AdminOpcode, Feature, IdentifyWhat
from tests.fakes import FakeHost
from tests.firmware_bench import COSTS, LAYOUT, PARAMETERS, Bench, slowed

CONTIGUOUS, INTERRUPTS = 1, 2


class AdminBench(Bench):
    """A device with an admin queue, and I/O queues that admin commands make."""

    def __init__(self, *, lists=1, queues=0, **named):
        super().__init__(
            np.arange(lists + 1) * 100, np.arange(100 * lists), queues=max(queues, 1), **named
        )
        self.admin = FakeHost(self.kernel, self.port, number=0, entries=16)
        self.device.attach_queue(self.admin.registers)

    def do(self, opcode, **fields):
        """Carry out one admin command; returns its completion."""
        self.admin.put(opcode=opcode, **({"nsid": 0} | fields))
        return self.admin.wait(1)[0]

    def status(self, opcode, **fields):
        return Status(int(self.do(opcode, **fields).status.status))

    def make(self, host, *, completions=None, flags=CONTIGUOUS | INTERRUPTS):
        """Create the queues of a ``FakeHost``; with ``completions`` only the submission queue."""
        registers, found = host.registers, []
        if completions is None:
            found.append(
                self.status(
                    AdminOpcode.CREATE_COMPLETION_QUEUE,
                    prp1=registers.completion_address,
                    cdw10=host.number | registers.completion_entries - 1 << 16,
                    cdw11=flags,
                )
            )
        found.append(
            self.status(
                AdminOpcode.CREATE_SUBMISSION_QUEUE,
                prp1=registers.submission_address,
                cdw10=host.number | registers.submission_entries - 1 << 16,
                cdw11=CONTIGUOUS | (completions or host.number) << 16,
            )
        )
        assert found == [Status.SUCCESS] * len(found)
        return host

    def fetched(self):
        """Numbers of the queues whose entries were fetched, in order."""
        places = {host.submission: host.number for host in (*self.hosts, self.admin)}
        return [
            number
            for way, kind, address, _ in self.port.transfers
            if kind == "sqe"
            for start, number in places.items()
            if start <= address < start + 64 * 64
        ]


def word(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


def identify(bench, what, nsid=0, shift=0):
    place = bench.memory.allocate(8192) + shift
    page = bench.memory.allocate(4096)
    status = bench.status(AdminOpcode.IDENTIFY, prp1=place, prp2=page, cdw10=what, nsid=nsid)
    first = bench.memory.load(place, 4096 - shift)
    return status, first + bench.memory.load(page, shift)


@pytest.mark.parametrize("shift", [0, 64])
def test_identify_tells_what_the_specification_puts_where(shift):
    bench = AdminBench()
    status, data = identify(bench, IdentifyWhat.CONTROLLER, shift=shift)
    assert status == Status.SUCCESS
    assert len(data) == 4096
    assert data[24:64] == b"csd-cosim".ljust(40)  # MN
    assert 4096 << data[77] == PARAMETERS.nvme.transfer_limit_bytes  # MDTS
    assert word(data, 80, 4) == 0x1_0400  # VER
    assert data[258] >= 3  # ACL, minus one
    assert (data[512], data[513]) == (0x66, 0x44)  # SQES, CQES
    assert word(data, 516, 4) == 1  # NN
    status, data = identify(bench, IdentifyWhat.NAMESPACE, nsid=1, shift=shift)
    assert status == Status.SUCCESS
    assert [word(data, at, 8) for at in (0, 8, 16)] == [PARAMETERS.nvme.namespace_blocks] * 3
    assert 1 << data[130] == LAYOUT.lba_bytes  # LBADS of format 0
    status, data = identify(bench, IdentifyWhat.ACTIVE_NAMESPACES)
    assert (status, data) == (Status.SUCCESS, (1).to_bytes(4, "little").ljust(4096, b"\0"))
    assert identify(bench, IdentifyWhat.ACTIVE_NAMESPACES, nsid=1)[1] == bytes(4096)
    assert identify(bench, IdentifyWhat.NAMESPACE, nsid=2)[0] == Status.INVALID_NAMESPACE
    assert identify(bench, 0x10)[0] == Status.INVALID_FIELD
    assert identify(bench, IdentifyWhat.CONTROLLER, shift=2)[0] == Status.PRP_OFFSET_INVALID


def test_identify_to_nowhere_is_a_transfer_error_and_the_device_goes_on():
    bench = AdminBench()
    asked = {"prp1": 0xDEAD_0000, "cdw10": IdentifyWhat.CONTROLLER}
    assert bench.status(AdminOpcode.IDENTIFY, **asked) == Status.DATA_TRANSFER_ERROR
    assert identify(bench, IdentifyWhat.CONTROLLER)[0] == Status.SUCCESS


def test_queues_are_made_used_and_deleted():
    bench = AdminBench()
    entry = bench.do(AdminOpcode.SET_FEATURES, cdw10=Feature.NUMBER_OF_QUEUES, cdw11=0x7_0007)
    assert int(entry.result) == (PARAMETERS.nvme.io_queues - 1) * 0x1_0001
    host = bench.make(FakeHost(bench.kernel, bench.port, number=2, entries=4))
    for _ in range(6):
        host.put(opcode=Opcode.FLUSH)
        assert host.wait(1)[0].status.status == Status.SUCCESS
    late = bench.do(AdminOpcode.SET_FEATURES, cdw10=Feature.NUMBER_OF_QUEUES, cdw11=0)
    assert late.status.status == Status.COMMAND_SEQUENCE_ERROR
    asked = bench.do(AdminOpcode.GET_FEATURES, cdw10=Feature.NUMBER_OF_QUEUES)
    assert int(asked.result) == (PARAMETERS.nvme.io_queues - 1) * 0x1_0001
    in_use = bench.status(AdminOpcode.DELETE_COMPLETION_QUEUE, cdw10=2)
    assert in_use == Status.INVALID_QUEUE_DELETION
    assert bench.status(AdminOpcode.DELETE_SUBMISSION_QUEUE, cdw10=2) == Status.SUCCESS
    host.put(opcode=Opcode.FLUSH)
    bench.kernel.env.run(until=bench.kernel.env.now + 10**9)
    assert host.reap() == []
    assert bench.device.counters.bad_doorbells == 1
    assert bench.status(AdminOpcode.DELETE_COMPLETION_QUEUE, cdw10=2) == Status.SUCCESS
    again = bench.make(FakeHost(bench.kernel, bench.port, number=2, entries=6))
    again.put(opcode=Opcode.FLUSH)
    assert again.wait(1)[0].sqhd == 1


def test_submission_queues_can_share_a_completion_queue_that_is_polled():
    bench = AdminBench()
    first = bench.make(FakeHost(bench.kernel, bench.port, number=2, entries=4), flags=CONTIGUOUS)
    second = FakeHost(bench.kernel, bench.port, number=3, entries=4)
    bench.make(second, completions=2)
    for host in (first, second):
        host.put(opcode=Opcode.FLUSH, cid=host.number)
    bench.kernel.env.run(until=bench.kernel.env.now + 10**9)
    assert sorted((entry.sqid, entry.cid) for entry in first.reap()) == [(2, 2), (3, 3)]
    assert second.reap() == []
    assert not bench.port.interrupts.items


def _state(*made):
    state = AdminState(3, 64)
    for opcode, fields in made:
        state.execute(unpack(SubmissionEntry, pack(SubmissionEntry, opcode=opcode, **fields)))
    return state


SIZE = 7 << 16
COMPLETION = (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 1 | SIZE, "cdw11": CONTIGUOUS})
SUBMISSION = (
    AdminOpcode.CREATE_SUBMISSION_QUEUE,
    {"cdw10": 1 | SIZE, "cdw11": CONTIGUOUS | 1 << 16},
)


@pytest.mark.parametrize(
    ("opcode", "fields", "status"),
    [
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 0 | SIZE}, "INVALID_QUEUE_IDENTIFIER"),
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 1 | SIZE}, "INVALID_QUEUE_IDENTIFIER"),
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 4 | SIZE}, "INVALID_QUEUE_IDENTIFIER"),
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 2}, "INVALID_QUEUE_SIZE"),
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 2 | 64 << 16}, "INVALID_QUEUE_SIZE"),
        (AdminOpcode.CREATE_COMPLETION_QUEUE, {"cdw10": 2 | SIZE, "cdw11": 2}, "INVALID_FIELD"),
        (
            AdminOpcode.CREATE_COMPLETION_QUEUE,
            {"cdw10": 2 | SIZE, "cdw11": 1, "prp1": 8},
            "PRP_OFFSET_INVALID",
        ),
        (
            AdminOpcode.CREATE_COMPLETION_QUEUE,
            {"cdw10": 2 | SIZE, "cdw11": 1 | 4 << 16},
            "INVALID_INTERRUPT_VECTOR",
        ),
        (
            AdminOpcode.CREATE_SUBMISSION_QUEUE,
            {"cdw10": 2 | SIZE, "cdw11": 1 | 2 << 16},
            "COMPLETION_QUEUE_INVALID",
        ),
        (
            AdminOpcode.CREATE_SUBMISSION_QUEUE,
            {"cdw10": 2 | SIZE, "cdw11": 1},
            "COMPLETION_QUEUE_INVALID",
        ),
        (AdminOpcode.DELETE_SUBMISSION_QUEUE, {"cdw10": 2}, "INVALID_QUEUE_IDENTIFIER"),
        (AdminOpcode.DELETE_COMPLETION_QUEUE, {"cdw10": 2}, "INVALID_QUEUE_IDENTIFIER"),
        (AdminOpcode.DELETE_COMPLETION_QUEUE, {"cdw10": 1}, "INVALID_QUEUE_DELETION"),
        (AdminOpcode.SET_FEATURES, {"cdw10": 2}, "INVALID_FIELD"),
        (AdminOpcode.SET_FEATURES, {"cdw10": 7, "cdw11": 0xFFFF}, "INVALID_FIELD"),
        (AdminOpcode.GET_FEATURES, {"cdw10": 2}, "INVALID_FIELD"),
        (AdminOpcode.IDENTIFY, {"cdw10": 1, "flags": 1}, "INVALID_FIELD"),
        (0x0C, {}, "INVALID_OPCODE"),
    ],
)
def test_malformed_admin_command_is_refused_and_changes_nothing(opcode, fields, status):
    state = _state(COMPLETION, SUBMISSION)
    before = dict(vars(state)) | {"completion_of": dict(state.completion_of)}
    before["completion_queues"] = set(state.completion_queues)
    entry = unpack(SubmissionEntry, pack(SubmissionEntry, opcode=opcode, **fields))
    with pytest.raises(Refused) as refused:
        state.execute(entry)
    assert refused.value.status.name == status
    assert vars(state) == before


@pytest.mark.parametrize(
    ("burst", "order"),
    [
        (0, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]),
        (1, [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]),
        (7, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),
    ],
)
def test_io_queues_take_turns_by_the_arbitration_burst(burst, order):
    bench = AdminBench(queues=3)
    entry = bench.do(AdminOpcode.SET_FEATURES, cdw10=Feature.ARBITRATION, cdw11=burst)
    assert entry.status.status == Status.SUCCESS
    assert bench.do(AdminOpcode.GET_FEATURES, cdw10=Feature.ARBITRATION).result == burst
    for host in bench.hosts:
        for number in range(4):
            host.put(opcode=Opcode.FLUSH, ring=number == 3)
    bench.kernel.env.run(until=bench.kernel.env.now + 10**9)
    assert [number for number in bench.fetched() if number] == order


def busy_bench():
    """Two slots, both taken by sampling commands of many lists, a third command waiting."""
    parameters = replace(PARAMETERS, nvme=replace(PARAMETERS.nvme, command_slots=2))
    bench = AdminBench(lists=300, parameters=parameters)
    requests = [bench.request(range(300), 5) for _ in range(2)]
    requests.append(bench.request([1, 2], 5))
    for number, request in enumerate(requests):
        bench.submit(request, cid=number)
    bench.kernel.env.run(until=bench.kernel.env.now + 2 * 10**8)
    assert bench.device.counters.sampling_commands == 2
    return bench, requests


def statuses(bench, count):
    return {int(entry.cid): Status(int(entry.status.status)) for entry in bench.host.wait(count)}


def test_abort_is_heard_while_all_slots_are_taken():
    bench, requests = busy_bench()
    entry = bench.do(AdminOpcode.ABORT, cdw10=1 | 1 << 16)
    assert (entry.status.status, entry.result) == (Status.SUCCESS, 0)
    # The end of the command is there when that of its Abort is.
    bench.host.reap()
    assert [int(found.cid) for found in bench.host.completions] == [1]
    found = statuses(bench, 2)
    assert found == {0: Status.SUCCESS, 2: Status.SUCCESS}
    assert bench.host.completions[0].status.status == Status.ABORT_REQUESTED
    assert bench.result(requests[0]) == requests[0].expected
    assert bench.result(requests[2]) == requests[2].expected
    assert bench.result(requests[1]) == bytes(len(requests[1].expected))
    assert bench.device.counters.targets < 602
    counts = bench.device.counts()
    assert counts["failed_commands"] == 1


@pytest.mark.parametrize("target", [1 | 2 << 16, 1 | 77 << 16, 5, 0])
def test_abort_of_what_is_not_in_the_device_says_so(target):
    bench, _ = busy_bench()
    entry = bench.do(AdminOpcode.ABORT, cdw10=target)
    assert (entry.status.status, entry.result) == (Status.SUCCESS, 1)
    assert set(statuses(bench, 3).values()) == {Status.SUCCESS}


def test_aborts_beyond_the_limit_are_refused():
    bench, _ = busy_bench()
    for _ in range(6):
        bench.admin.put(opcode=AdminOpcode.ABORT, nsid=0, cdw10=1 | 0 << 16)
    entries = bench.admin.wait(6)
    found = [Status(int(entry.status.status)) for entry in entries]
    assert found.count(Status.ABORT_LIMIT_EXCEEDED) == 2
    assert found.count(Status.SUCCESS) == 4
    assert bench.status(AdminOpcode.ABORT, cdw10=1) == Status.SUCCESS


def test_deleted_queue_ends_its_commands_first():
    bench, _ = busy_bench()
    # Made by the bench, so the judge of admin commands does not know of it: it is told.
    bench.device._admin.state.completion_queues.add(1)
    bench.device._admin.state.completion_of[1] = 1
    assert bench.status(AdminOpcode.DELETE_SUBMISSION_QUEUE, cdw10=1) == Status.SUCCESS
    bench.host.reap()
    ended = {int(entry.cid): int(entry.status.status) for entry in bench.host.completions}
    assert ended == dict.fromkeys((0, 1), Status.ABORTED_WITH_QUEUE)
    bench.kernel.env.run(until=bench.kernel.env.now + 10**9)
    assert bench.host.reap() == []  # the third was never fetched
    counts = bench.device.counts()
    assert counts["commands"] == 3


def test_identifier_that_is_in_use_is_a_conflict():
    bench, _ = busy_bench()
    bench.admin.put(opcode=AdminOpcode.ABORT, nsid=0, cdw10=1, cid=9)
    bench.admin.put(opcode=AdminOpcode.ABORT, nsid=0, cdw10=1, cid=9)
    found = [int(entry.status.status) for entry in bench.admin.wait(2)]
    assert sorted(found) == [Status.SUCCESS, Status.COMMAND_ID_CONFLICT]


def test_judging_a_command_takes_its_counted_time():
    def judged(costs):
        bench = AdminBench(costs=costs)
        identify(bench, IdentifyWhat.CONTROLLER)
        bench.make(FakeHost(bench.kernel, bench.port, number=2, entries=4))
        return [
            span.end_ps - span.start_ps
            for span in bench.check_spans()
            if span.stage == "firmware.admin_command"
        ]

    base = judged(COSTS)
    assert len(base) == 3
    assert len(set(base)) == 3  # each kind has its own cost
    assert judged(slowed(COSTS, "admin_command", 2)) == [2 * duration for duration in base]
