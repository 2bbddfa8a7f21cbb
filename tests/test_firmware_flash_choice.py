"""Which command a flash channel gets next: classes of work, idle LUNs, and the bound of waits."""

from collections import Counter, deque
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import simpy

from cosim.config.platform import FlashPriority
from firmware_model.flash_choice import ORDERS, PRIORITIES, ChannelChoice, FlashOrder
from firmware_model.flash_queues import FlashClass, Read
from rtl.contract.kernel import Cause
from rtl.contract.striping import PhysicalPage
from tests.firmware_bench import COSTS, PARAMETERS, slowed
from tests.test_firmware_time import busy, rows

NOW = Cause(0, 0)
HOST, SAMPLING, BACKGROUND = FlashClass
WAYS, LUNS = 3, 2


def channel(order="idle-first", priority="equal", patience=100):
    chosen = FlashOrder(order=order, priority=priority, patience=patience)
    return ChannelChoice(simpy.Environment(), WAYS, LUNS, chosen)


def put(queues, way, lun=0, kind=HOST, row=0):
    read = Read(PhysicalPage(0, way, lun, row), 0, 64, NOW, 0, None, kind=kind)
    queues.put(read)
    return read


def taken(queues, number):
    return [queues.take()[0] for _ in range(number)]


@pytest.mark.parametrize("order", ORDERS)
def test_a_lun_without_a_command_goes_before_one_with_one(order):
    queues = channel(order, "host sampling background")
    for way in (2, 0):
        put(queues, way)
        taken(queues, 1)
    busy_lun, idle = put(queues, 2, 0), put(queues, 2, 1)  # the turn is at way 0, LUN 1
    expected = [idle, busy_lun] if order == "idle-first" else [busy_lun, idle]
    assert taken(queues, 2) == expected


def test_luns_with_equal_claims_take_turns():
    queues = channel()
    reads = {way: [put(queues, way, row=row) for row in range(3)] for way in (0, 1, 2)}
    for row in range(3):
        assert taken(queues, 3) == [reads[way][row] for way in (0, 1, 2)]
        for way in (0, 1, 2):
            queues.end(reads[way][row].place, NOW)


@pytest.mark.parametrize("priority", [name for name in PRIORITIES if name != "equal"])
def test_classes_go_in_the_order_that_was_asked_for(priority):
    queues = channel("round-robin", priority)
    reads = {kind: put(queues, way, kind=kind) for way, kind in enumerate(FlashClass)}
    kinds = [FlashClass[name.upper()] for name in priority.split()]
    assert taken(queues, 3) == [reads[kind] for kind in kinds]


def test_a_class_that_goes_first_does_so_even_where_its_lun_is_busy():
    queues = channel(priority="host sampling background")
    (first,) = (put(queues, 0),)
    taken(queues, 1)
    idle, busy_one = put(queues, 1, kind=BACKGROUND), put(queues, 0, kind=HOST)
    assert taken(queues, 2) == [busy_one, idle]
    assert first.place == busy_one.place


def test_a_full_lun_and_a_held_way_get_nothing():
    queues = channel()
    full = [put(queues, 0) for _ in range(3)]
    taken(queues, 2)
    assert not queues.has_work
    queues.end(full[0].place, NOW)
    assert queues.has_work
    queues.hold(queues.ways[0])
    assert not queues.has_work
    queues.release(queues.ways[0], Cause(5, 5))
    assert taken(queues, 1) == full[2:]
    with pytest.raises(RuntimeError, match="only where one waits for a LUN with room"):
        queues.take()


def test_after_patience_the_oldest_one_goes():
    queues = channel("round-robin", "host sampling background", patience=3)
    old = put(queues, 0, kind=BACKGROUND)
    last = put(queues, 0, 1, kind=BACKGROUND)
    hosts = [put(queues, way, lun) for way in (1, 2) for lun in (0, 1)]
    assert taken(queues, 6) == [*hosts[:3], old, hosts[3], last]


@pytest.mark.parametrize(("patience", "others"), [(4, 4), (1000, 300)])
def test_only_patience_keeps_a_class_from_starving(patience, others):
    queues = channel("idle-first", "host sampling background", patience)
    old = put(queues, 0, kind=BACKGROUND)
    for count in range(300):
        host = put(queues, count % WAYS)
        (read,) = taken(queues, 1)
        if read is old:
            break
        queues.end(host.place, NOW)
    else:
        count = 300
    assert count == others


def test_the_oldest_one_waits_for_room_and_then_goes_first():
    queues = channel("round-robin", "host sampling background", patience=1)
    full = [put(queues, 0, kind=HOST) for _ in range(2)]
    taken(queues, 2)
    old = put(queues, 0, kind=BACKGROUND)
    hosts = [put(queues, way, lun) for way in (1, 2) for lun in (0, 1)]
    assert taken(queues, 2) == hosts[:2]
    put(queues, 0, kind=HOST)
    queues.end(full[0].place, NOW)
    assert taken(queues, 1) == [old]


@pytest.mark.parametrize("priority", ["equal", "host sampling background"])
@pytest.mark.parametrize("patience", [1, 3, 8])
@pytest.mark.parametrize("order", ORDERS)
def test_no_command_waits_for_more_than_the_bound(order, priority, patience):
    """Of the commands given while the oldest one's LUN has room; and a LUN's queues keep order."""
    generator = np.random.default_rng(patience)
    queues = channel(order, priority, patience)
    older, passed = {}, Counter()
    flying, served = deque(), []
    for turn in range(6000):
        draining = turn % 600 > 500
        choice = generator.integers(5)
        if choice > 1 and not draining and len(older) < 30:
            # Most work is of the host, for one way: others would starve.
            is_host = generator.random() < 0.85
            way = 0 if is_host else int(generator.integers(WAYS))
            kind = HOST if is_host else FlashClass(1 + int(generator.integers(2)))
            count = len(older)
            older[put(queues, way, int(generator.integers(LUNS)), kind, turn)] = count
        elif choice == 1 and queues.has_work:
            oldest = next(iter(queues.oldest))
            lun = queues.lun(oldest.place)
            has_room = not lun.full
            read, _ = queues.take()
            bound = (older[read] + 1) * patience + older[read]
            assert passed[read] <= bound
            del older[read], passed[read]
            if has_room:
                passed.update(list(older))
            flying.append(read)
            served.append(read)
        elif flying and (generator.random() < 0.5 or not queues.has_work):
            queues.end(flying.popleft().place, NOW)
    assert len(served) > 1000
    rank = PRIORITIES[priority]
    for place in queues.luns:
        for one in set(rank.values()):
            mine = [
                read.place.row
                for read in served
                if (read.place.way, read.place.lun) == place and rank[read.kind] == one
            ]
            assert mine == sorted(mine)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "fifo"}, "flash_order must be one of round-robin, idle-first, not 'fifo'"),
        ({"priority": "host"}, "flash_priority must be one of equal, host sampling"),
        ({"patience": 0}, "flash_patience must be positive, not 0"),
    ],
)
def test_an_order_that_is_none_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        FlashOrder(**change)


def test_configurations_know_all_priorities():
    assert set(FlashPriority.__args__) == set(PRIORITIES)


def test_every_order_is_another_story_with_the_same_subgraphs():
    orders = [
        FlashOrder(),
        FlashOrder(order="idle-first"),
        FlashOrder(order="idle-first", patience=1),
        FlashOrder(priority="host sampling background"),
        FlashOrder(priority="sampling host background"),
    ]
    stories = [rows(busy(replace(PARAMETERS, flash_order=order))) for order in orders]
    assert all(one != other for one, other in combinations(stories, 2))


@pytest.mark.parametrize("routine", ChannelChoice.routines)
def test_a_slower_routine_takes_longer(routine):
    parameters = replace(PARAMETERS, flash_order=FlashOrder(order="idle-first"))
    busy_ps = [
        sum(
            span.end_ps - span.start_ps
            for span in busy(parameters, costs=costs).kernel.spans
            if span.stage == f"firmware.{routine}"
        )
        for costs in (COSTS, slowed(COSTS, routine, 2))
    ]
    assert busy_ps[1] > busy_ps[0] * 3 // 2
