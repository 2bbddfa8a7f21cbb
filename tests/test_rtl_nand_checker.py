# amaranth: UnusedElaboratable=no
import random
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from amaranth.sim import Simulator

from rtl.contract.nand_part import cycles
from rtl.contract.onfi import BusRule, Opcode, row_address
from rtl.nand.checker import BusChecker
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus, one_lun
from tests.scenarios.onfi_die import DieModel

WAYS = 2
CONTENT = bytes(range(256)) * 2 + bytes(64)


@dataclass
class Scene:
    """A waveform, the answers of its LUNs and the levels forced against everybody's will."""

    bus: OnfiBus
    answers: list = field(default_factory=list)
    """(edge, way, lun, number)"""
    forced: dict = field(default_factory=dict)
    """edge: levels of pins."""

    def pins(self):
        """Levels of all pins of the bus in each clock, dies by their reference model."""
        bus = self.bus
        dies = [DieModel(bus.part, PERIOD_PS, way, bus.phases) for way in range(WAYS)]
        for edge, way, lun, number in self.answers:
            dies[way].luns[lun].page = CONTENT
            dies[way].answer(lun, edge, number)
        for edge, clock in enumerate(bus.clocks):
            forced = self.forced.get(edge, {})
            clock = {name: forced.get(name, level) for name, level in clock.items()}
            answers = [die.step(edge, clock) for die in dies]
            bus_pins = dict(clock, dq_i=0, dqs_i=0, die_oe=0, rb_n=0)
            for way, answer in enumerate(answers):
                bus_pins["dq_i"] |= answer["dq_i"]
                bus_pins["dqs_i"] |= answer["dqs_i"]
                bus_pins["die_oe"] |= answer["oe"] << way
                bus_pins["rb_n"] |= answer["rb_n"] << way
            yield bus_pins | forced
        self.begins = {begin[0] for die in dies for begin in die.begins}

    def violations(self, *, stop=False):
        """(edge, rule, way) of each report; with ``stop`` the clock stands while all levels rest.

        As in the channel, a die's clock does not stand at the edge at which R/B# is to fall.
        """
        self.bus.tick(12)
        clocks = list(self.pins())
        return checker_for(self.bus.part, self.bus.phases).run(
            clocks, self.begins if stop else None
        )


class CheckerBench:
    """A checker in Amaranth's simulator, made once and reset for each waveform."""

    def __init__(self, part, phases):
        self._checker = BusChecker(part, period_ps=PERIOD_PS, ways=WAYS, phases=phases)
        self._rest = cycles(part.t_dqsre_ps, PERIOD_PS) + 1
        self._used = False
        self._sim = Simulator(self._checker)
        self._sim.add_clock(PERIOD_PS * 1e-12)
        self._sim.add_testbench(self._play)

    def run(self, clocks, wakes):
        """Play the clocks; if ``wakes`` is a set, only those edges come while all levels rest."""
        if self._used:
            self._sim.reset()
        self._clocks, self._wakes, self._reports = clocks, wakes, []
        self._used = True
        self._sim.run()
        return self._reports

    async def _play(self, ctx):
        checker, before, resting = self._checker, {}, 0
        for edge, levels in enumerate(self._clocks):
            resting = resting + 1 if levels == before else 0
            if self._wakes is not None and resting > self._rest and edge not in self._wakes:
                continue
            ctx.set(checker.now, edge)
            for name, level in levels.items():
                if before.get(name) != level:
                    ctx.set(getattr(checker.phy, name), level)
            before = levels
            if ctx.get(checker.violation_valid):
                violation = ctx.get(checker.violation)
                self._reports.append((edge, BusRule(violation.rule), violation.way))
            await ctx.tick()


@cache
def checker_for(part, phases):
    return CheckerBench(part, phases)


def read_with(part=PART, **times):
    """A read of way 1 whose third address cycle has these times."""
    bus = OnfiBus(part)
    bus.begin(1)
    bus.command(Opcode.READ)
    for index in range(5):
        bus.cycle(0, ale=1, **(times if index == 2 else {}))
    bus.command(Opcode.READ_CONFIRM)
    bus.deselect()
    return Scene(bus)


def have_read(part=PART, phases=2, column=0):
    """A scene in which LUN 0 of way 1 has read row 3 and is ready."""
    bus = OnfiBus(part, phases=phases)
    confirm = bus.read(1, 0, 3, column)
    bus.until(confirm + bus.limit("wb") + 30)
    return Scene(bus, [(confirm + bus.limit("wb") + 20, 1, 0, 1)])


def transferred(part=PART, count=16, column=0, phases=2, **times):
    scene = have_read(part, phases)
    scene.bus.transfer(1, 0, 3, column, count, **times)
    return scene


CASES = {}


def case(rule):
    """Register a waveform: legal, at the limit, for False, and breaking ``rule`` for True."""

    def keep(build):
        CASES[f"{rule.name}-{build.__name__}"] = (rule, build)
        return build

    return keep


@case(BusRule.CE_ONE_LOW)
def two_chips_enabled(broken):
    scene = have_read()
    scene.bus.select(1)
    scene.bus.tick(3, ce_n=0b00 if broken else 0b01)
    scene.bus.tick(3, ce_n=0b01)
    return scene


@case(BusRule.NO_TARGET)
def writing_to_nobody(broken):
    bus = OnfiBus()
    if not broken:
        bus.begin(0)
    bus.command(Opcode.RESET)
    return Scene(bus)


@case(BusRule.NO_TARGET)
def reading_nobody(broken):
    scene = have_read()
    scene.bus.tick(3, re_n=0b00 if broken else 0b11)
    scene.bus.tick(re_n=0b11)
    return scene


@case(BusRule.LATCH_BOTH)
def command_and_address_at_once(broken):
    bus = OnfiBus()
    bus.begin(0)
    bus.cycle(Opcode.READ, cle=1, ale=int(broken))
    bus.address(0, 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.T_WP)
def write_pulse(broken):
    return read_with(low=2 - broken)


@case(BusRule.T_WH)
def write_high(broken):
    bus = OnfiBus(replace(PART, t_cah_ps=10_000))
    bus.begin(1)
    bus.cycle(Opcode.READ, cle=1, high=2 - broken)
    bus.address(0, 5, low=3)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.T_WC)
def write_cycle(broken):
    return read_with(replace(PART, t_wc_ps=60_000), high=4 - broken)


@case(BusRule.T_CALS)
def set_up(broken):
    return read_with(setup=2 - broken)


@case(BusRule.T_CALS)
def undriven_byte(broken):
    return read_with(oe=int(not broken))


@case(BusRule.T_CALS)
def late_byte(broken):
    scene = read_with()
    if broken:
        scene.forced = {scene.bus.rise - 2: {"dq_o": 0xFF}}
    return scene


@case(BusRule.T_CALS)
def byte_at_the_last_moment(broken):
    scene = read_with()
    if broken:
        rise = scene.bus.rise
        scene.forced = {rise - 2: {"dq_o": 0xFF}, rise - 1: {"dq_o": 0xFF}}
    return scene


@case(BusRule.T_CAH)
def hold(broken):
    return read_with(hold=2 - broken)


@case(BusRule.T_CS)
def chip_enable_before_write(broken):
    bus = OnfiBus()
    bus.select(1, cs=4 - broken)
    bus.command(Opcode.RESET)
    return Scene(bus)


@case(BusRule.T_CS)
def chip_enable_before_burst(broken):
    scene = transferred()
    scene.bus.tick(10)
    scene.bus.tick(4 - broken, ce_n=0b01)
    scene.bus.burst(4)
    return scene


@case(BusRule.T_CH)
def chip_enable_after_write(broken):
    scene = read_with()
    bus = scene.bus
    bus.begin(0)
    bus.command(Opcode.RESET)
    bus.deselect(ch=3 - broken)
    return scene


@case(BusRule.T_CH)
def chip_enable_after_burst(broken):
    return transferred(replace(PART, t_ch_ps=100_000), rpst=9 - broken)


@case(BusRule.OPCODE)
def unknown_opcode(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(0x90 if broken else 0xFF)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def address_cycles_of_a_read(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 4 if broken else 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def one_address_too_many(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 6 if broken else 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def address_cycles_of_a_status(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS_ENHANCED)
    bus.address(0, 2 if broken else 3)
    bus.command(Opcode.READ_STATUS)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_address(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS)
    if broken:
        bus.address(0, 1)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_data(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.cycle(0xFF, cle=int(not broken))
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_confirm(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM if broken else Opcode.RESET)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def wrong_confirm(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 5)
    bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM if broken else Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def command_within_a_command(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 3)
    bus.command(Opcode.READ_STATUS if broken else Opcode.RESET)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def confirm_to_another_way(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 5)
    bus.begin(0 if broken else 1)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def latch_enable_during_a_burst(broken):
    scene = transferred()
    scene.forced = {scene.bus.last_data + (2 if broken else 6): {"ale": 1}}
    return scene


@case(BusRule.ROW)
def row_beyond_the_lun(broken):
    bus = OnfiBus()
    bus.read(1, 1, 12 if broken else 11, 0)
    return Scene(bus)


@case(BusRule.ROW)
def lun_beyond_the_part(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS_ENHANCED)
    bus.address(row_address(PART, 2 if broken else 1, 0), 3)
    return Scene(bus)


@case(BusRule.COLUMN)
def odd_column(broken):
    bus = OnfiBus()
    bus.choose(1, 0, 0, 3 if broken else 2)
    return Scene(bus)


@case(BusRule.COLUMN)
def column_beyond_the_page(broken):
    bus = OnfiBus()
    bus.read(1, 0, 0, 576 if broken else 574)
    return Scene(bus)


@case(BusRule.BUSY)
def read_of_a_busy_lun(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.tick(20)
    confirm = bus.read(1, 0, 4, 0)
    return Scene(bus, [(confirm + broken, 1, 0, 1)])


@case(BusRule.BUSY)
def choice_of_a_busy_lun(broken):
    bus = OnfiBus()
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    confirm = bus.choose(1, 1, 3, 0)
    return Scene(bus, [(confirm + broken, 1, 1, 1)])


@case(BusRule.BUSY)
def ready_known_from_status_alone(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    ready = bus.edge
    bus.tick(10)
    if not broken:
        bus.status_enhanced(1, 0, 3)
    bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(ready, 1, 0, 1)])


@case(BusRule.BUSY)
def status_says_busy(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    first = bus.status_enhanced(1, 0, 3)
    shown = first + bus.limit("rpre") + bus.limit("dqsre")
    bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(shown - 1 + broken, 1, 0, 1)])


@case(BusRule.BUSY)
def status_of_another_lun(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    ready = bus.edge
    bus.tick(5)
    bus.status_enhanced(1, 1, 3)
    bus.transfer(1, 0 if broken else 1, 3, 0, 8)
    return Scene(bus, [(ready, 1, 1, 1)])


@case(BusRule.BUSY)
def reset_of_another_way(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.tick(20)
    bus.reset(0 if broken else 1)
    bus.read(1, 0, 3, 0)
    return Scene(bus)


def within_twb(broken, opcode, addresses):
    bus = OnfiBus(replace(PART, t_wb_ps=600_000, poll_first_ps=600_000))
    confirm = bus.read(1, 0, 3, 0)
    window = confirm + bus.limit("wb")
    bus.until(window - bus.limit("cs") - broken)
    bus.select(1)
    assert bus.command(opcode) == window - broken
    if addresses:
        address = row_address(PART, 0, 3) << 16
        bus.address(address >> 8 * (5 - addresses), addresses)
    return Scene(bus, [(window + 3, 1, 0, 1)])


@case(BusRule.T_WB_ACCESS)
def status_within_twb(broken):
    return within_twb(broken, Opcode.READ_STATUS, 0)


@case(BusRule.T_WB_ACCESS)
def enhanced_status_within_twb(broken):
    return within_twb(broken, Opcode.READ_STATUS_ENHANCED, 3)


@case(BusRule.T_WB_ACCESS)
def choice_within_twb(broken):
    scene = within_twb(broken, Opcode.CHANGE_READ_COLUMN_ENHANCED, 5)
    scene.bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)
    return scene


@case(BusRule.T_WB_ACCESS)
def read_within_twb(broken):
    scene = within_twb(broken, Opcode.READ, 5)
    scene.bus.command(Opcode.READ_CONFIRM)
    return scene


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall(broken):
    bus = OnfiBus()
    window = bus.read(1, 0, 3, 0) + bus.limit("wb")
    bus.tick(20)
    levels = {window - 1: {"rb_n": 0b11}} | ({window: {"rb_n": 0b11}} if broken else {})
    return Scene(bus, forced=levels)


@case(BusRule.T_RR)
def ready_to_read_enable(broken):
    bus = OnfiBus(replace(PART, t_rr_ps=300_000))
    confirm = bus.read(1, 0, 3, 0)
    bus.until(confirm + 20)
    start = bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(start - 30 + broken, 1, 0, 1)])


@case(BusRule.T_WHR)
def status_to_read_enable(broken):
    bus = OnfiBus()
    bus.status(1, whr=8 - broken)
    return Scene(bus)


@case(BusRule.T_WHR)
def enhanced_status_to_read_enable(broken):
    bus = OnfiBus()
    bus.status_enhanced(0, 1, 5, whr=8 - broken)
    return Scene(bus)


@case(BusRule.T_CCS)
def choice_to_read_enable(broken):
    return transferred(ccs=13 - broken)


@case(BusRule.T_RHW)
def read_to_write(broken):
    scene = transferred()
    bus = scene.bus
    bus.begin(0, rhw=10 - broken)
    bus.command(Opcode.RESET)
    return scene


@case(BusRule.T_RPRE)
def preamble(broken):
    return transferred(rpre=2 - broken)


@case(BusRule.T_RPST)
def postamble(broken):
    return transferred(rpst=4 - broken)


@case(BusRule.BURST_SOURCE)
def burst_without_choice(broken):
    scene = have_read()
    if not broken:
        scene.bus.choose(1, 0, 3, 0)
        scene.bus.tick(13)
    else:
        scene.bus.select(1, cs=10)
    scene.bus.burst(4)
    return scene


@case(BusRule.BURST_SOURCE)
def burst_from_another_way(broken):
    scene = transferred()
    scene.bus.select(0 if broken else 1, cs=10)
    scene.bus.burst(4)
    return scene


@case(BusRule.BURST_SOURCE)
def burst_after_another_command(broken):
    scene = have_read()
    bus = scene.bus
    bus.choose(1, 0, 3, 0)
    if broken:
        bus.tick(5)
        bus.command(Opcode.RESET)
    bus.tick(13)
    bus.burst(4)
    return scene


@case(BusRule.BURST_LENGTH)
def half_a_pair(broken):
    scene = transferred()
    if broken:
        last = scene.bus.last_data
        scene.forced = {last - 1: {"re_n": 0b11}, last: {"re_n": 0b01}}
    return scene


@case(BusRule.BURST_LENGTH)
def empty_burst(broken):
    return transferred(count=0 if broken else 2, rpst=16)


@case(BusRule.BURST_LENGTH)
def odd_burst_at_one_transfer_a_clock(broken):
    scene = transferred(count=4, phases=1)
    if broken:
        last = scene.bus.last_data
        scene.forced = {last + extra: {"re_n": 1} for extra in range(5)}
    return scene


@case(BusRule.BURST_PAUSE)
def pause(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data - 3: {"re_n": 0}}
    return scene


@case(BusRule.PAGE_END)
def burst_past_the_page(broken):
    return transferred(column=572, count=6 if broken else 4)


@case(BusRule.DIE_DRIVES)
def two_dies(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data: {"die_oe": 0b11}}
    return scene


@case(BusRule.DIE_DRIVES)
def wrong_die(broken):
    scene = have_read()
    scene.bus.select(1)
    scene.bus.tick(3)
    scene.forced = {scene.bus.edge - 1: {"die_oe": 0b01 if broken else 0b10}}
    return scene


@case(BusRule.DIE_DRIVES)
def die_turns_off_late(broken):
    scene = transferred()
    bus = scene.bus
    first_high = bus.edge - 1
    scene.forced = {first_high + 2 + broken: {"die_oe": 0b10}}
    return scene


@case(BusRule.CONTENTION)
def both_drive(broken):
    scene = transferred()
    first_high = scene.bus.edge - 1
    scene.forced = {first_high + 3 - broken: {"dq_oe": 1}}
    return scene


def dqs_moved(by):
    scene = transferred()
    levels = [pins["dqs_i"] for pins in scene.pins()]
    scene.forced = {edge: {"dqs_i": levels[edge - by]} for edge in range(by, len(levels))}
    return scene


@case(BusRule.T_DQSRE)
def late_strobe(broken):
    return dqs_moved(int(broken))


@case(BusRule.T_DQSRE)
def die_does_not_drive(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data + 5: {"die_oe": 0}}
    return scene


@case(BusRule.T_DQSRE)
def strobe_of_nobody(broken):
    scene = have_read()
    if broken:
        scene.forced = {scene.bus.edge - 1: {"dqs_i": 0b10}}
    return scene


@pytest.mark.parametrize("name", CASES)
def test_a_waveform_at_the_limit_is_legal(name):
    _, build = CASES[name]
    assert build(False).violations() == []


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_waveform_beyond_the_limit_breaks_exactly_its_rule(name, stop):
    rule, build = CASES[name]
    assert {found for _, found, _ in build(True).violations(stop=stop)} == {rule}


def test_every_rule_has_a_waveform():
    assert {rule for rule, _ in CASES.values()} == set(BusRule)


def test_after_a_reset_nothing_is_expected_of_a_lun():
    bus = OnfiBus(replace(PART, t_wb_ps=600_000, poll_first_ps=600_000))
    bus.read(1, 0, 3, 0)
    bus.reset(1)
    bus.read(1, 0, 3, 0)
    assert Scene(bus).violations() == []


def test_too_early_goes_before_busy():
    scene = within_twb(True, Opcode.CHANGE_READ_COLUMN_ENHANCED, 5)
    scene.bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)
    scene.answers = []
    assert [rule for _, rule, _ in scene.violations()] == [BusRule.T_WB_ACCESS]


def test_a_report_names_the_way():
    scene = have_read()
    scene.bus.read(1, 0, 12, 0)
    scene.bus.read(0, 1, 12, 0)
    assert [report[1:] for report in scene.violations()] == [(BusRule.ROW, 1), (BusRule.ROW, 0)]


def test_a_late_die_is_named_whoever_is_selected():
    bus = OnfiBus()
    window = bus.read(1, 0, 3, 0) + bus.limit("wb")
    bus.select(0)
    bus.tick(20)
    scene = Scene(bus, forced={window: {"rb_n": 0b11}})
    assert scene.violations() == [(window, BusRule.T_WB_BUSY, 1)]


def random_traffic(seed, part, phases):
    """Reads, polls and transfers over all LUNs, each legal, at the limits of all times."""
    rng = random.Random(seed)
    bus = OnfiBus(part, phases=phases)
    scene = Scene(bus)
    numbers = {}
    for _ in range(3):
        luns = [(way, lun) for way in range(WAYS) for lun in range(part.luns)]
        rng.shuffle(luns)
        for way, lun in luns:
            bus.tick(rng.choice([0, 0, 3]))
            bus.read(way, lun, rng.randrange(part.rows), 2 * rng.randrange(288))
            numbers[way, lun] = numbers.get((way, lun), 0) + 1
        bus.tick(bus.limit("wb") + 1)
        for way, lun in luns:
            scene.answers.append((bus.edge, way, lun, numbers[way, lun]))
            bus.tick(rng.choice([1, 7]))
        for way, lun in luns:
            if rng.random() < 0.5:
                bus.status_enhanced(way, lun, 0)
            bus.tick(rng.choice([0, 0, 3]))
            count = 2 * rng.randrange(1, 20)
            bus.transfer(way, lun, rng.randrange(part.rows), 576 - count, count)
        if rng.random() < 0.5:
            bus.status(rng.randrange(WAYS))
            way = rng.randrange(WAYS)
            bus.reset(way)
            for lun in range(part.luns):
                numbers[way, lun] += 1
    return scene


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("part", [PART, one_lun()], ids=["two LUNs", "one LUN"])
def test_legal_traffic_is_never_reported(seed, phases, part):
    assert random_traffic(seed, part, phases).violations() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"ways": 0}, "Ways must be 1 to 256, not 0"), ({"phases": 4}, "1 or 2, not 4")],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BusChecker(PART, **{"period_ps": PERIOD_PS, "ways": 2} | arguments)
