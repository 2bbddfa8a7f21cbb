"""Waveforms of a whole bus: the driver's pins, and those of dies by their reference model."""

from dataclasses import dataclass, field

from rtl.contract.onfi import Opcode
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus
from tests.scenarios.onfi_sdr import die_model

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
    die_part: object = None
    """What the dies are, if they are others than the bus is for."""

    def dies(self):
        """Reference models of all ways, with the answers to come."""
        bus = self.bus
        part = self.die_part or bus.part
        dies = [die_model(part, PERIOD_PS, way, bus.phases) for way in range(WAYS)]
        for edge, way, lun, number in self.answers:
            dies[way].luns[lun].page = CONTENT
            dies[way].answer(lun, edge, number)
        return dies

    def pins(self):
        """Levels of all pins of the bus in each clock, dies by their reference model."""
        bus, dies = self.bus, self.dies()
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


def then_reset(scene, *, rhw):
    """The same, and way 0 is reset ``rhw`` clocks after the last burst."""
    scene.bus.begin(0, rhw=rhw)
    scene.bus.command(Opcode.RESET)
    return scene


def case(rule):
    """Mark a waveform: legal, at the limit, for False, and breaking ``rule`` for True."""

    def mark(build):
        build.rule = rule
        return build

    return mark


def cases_of(*modules):
    """Name to (rule, waveform) of all that is marked in some modules."""
    builds = [build for module in modules for build in vars(module).values()]
    return {
        f"{build.rule.name}-{build.__name__}": (build.rule, build)
        for build in builds
        if hasattr(build, "rule")
    }
