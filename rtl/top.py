"""Writer of ``csd_top``: every unit of a device, each on its own clock, with its mailboxes.

The top is plain Verilog without generate scopes, so that every mailbox, event word and clock state
is a register or wire of ``csd_top`` with the same name in each simulator: ``<unit>_<port>``.
"""

from dataclasses import dataclass

__all__ = ["Mailbox", "Unit", "UnitPorts", "channel_ports", "gather_ports", "write_top"]

TOP = "csd_top"
EDGE_BITS = 48
TIME_BITS = 64


@dataclass(frozen=True, kw_only=True)
class Mailbox:
    """An input of a unit that the kernel writes. ``wakes``: a change restarts the clock."""

    name: str
    width: int
    wakes: bool


@dataclass(frozen=True, kw_only=True)
class UnitPorts:
    """Ports of one kind of unit beside ``clk``, ``rst``, ``now``, ``quiet`` and ``wake_edge``.

    Parameters
    ----------
    module : str
        Name of the Verilog module.
    mailboxes : tuple of Mailbox
        What the kernel writes.
    event_bits, counter_bits : int
        Widths of ``event`` and ``counters``.
    """

    module: str
    mailboxes: tuple
    event_bits: int
    counter_bits: int


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One instance: its name in the top, its ports, and the period of its clock in picoseconds.

    Raises
    ------
    ValueError
        If the period is odd or below 4 ps, or the name is not a plain Verilog identifier.
    """

    name: str
    ports: UnitPorts
    period_ps: int

    def __post_init__(self):
        if not isinstance(self.period_ps, int) or self.period_ps < 4 or self.period_ps % 2:
            raise ValueError(
                f"period_ps must be an even number of at least 4, not {self.period_ps!r}"
            )
        if not (self.name.isidentifier() and self.name.isascii()):
            raise ValueError(f"name must be a Verilog identifier, not {self.name!r}")


def channel_ports(*, ways, luns, slots, event_bits, counter_bits, module="flash_channel_unit"):
    """Ports of a flash-channel unit (``docs/architecture.md``)."""
    return UnitPorts(
        module=module,
        mailboxes=(
            Mailbox(name="command", width=128, wakes=False),
            Mailbox(name="command_toggle", width=1, wakes=True),
            Mailbox(name="array_done", width=16 * ways * luns, wakes=True),
            Mailbox(name="landing_free", width=slots, wakes=True),
        ),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def gather_ports(*, event_bits, counter_bits, module="gather_unit"):
    """Ports of the gather unit (``docs/architecture.md``)."""
    return UnitPorts(
        module=module,
        mailboxes=(
            Mailbox(name="launch", width=128, wakes=False),
            Mailbox(name="launch_toggle", width=1, wakes=True),
            Mailbox(name="stage", width=128, wakes=False),
            Mailbox(name="stage_toggle", width=1, wakes=True),
            Mailbox(name="result_free", width=1, wakes=True),
        ),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def write_top(units):
    """Verilog of ``csd_top`` with ``units`` in order.

    Beside each unit's own words the top has ``stop_enable`` (a register, 1 at start), and one bit
    or word a unit, the first unit lowest, in ``events`` (the event toggles), ``stopped`` and
    ``due`` (64 bits a unit: see ``unit_clock.v``), and ``asleep`` (nothing will happen there until
    an input changes, whether or not the clock runs).
    """
    names = [unit.name for unit in units]
    if not units or len(set(names)) != len(names):
        raise ValueError(f"units must be at least one, with names of their own, not {names}")
    lines = ["`timescale 1ps/1ps", f"module {TOP};", "    reg stop_enable = 1'b1;"]
    for unit in units:
        lines += _instance(unit)
    for vector, port, width in (
        ("events", "event_toggle", 1),
        ("stopped", "stopped", 1),
        ("due", "due", TIME_BITS),
        ("asleep", "asleep", 1),
    ):
        parts = ", ".join(f"{name}_{port}" for name in reversed(names))
        lines.append(f"    wire {_range(width * len(units))}{vector} = {{{parts}}};")
    return "\n".join([*lines, "endmodule", ""])


def _range(width):
    return f"[{width - 1}:0] "


def _instance(unit):
    name, ports = unit.name, unit.ports
    kicks = [box for box in ports.mailboxes if box.wakes]
    kick = ", ".join(f"{name}_{box.name}" for box in kicks)
    outputs = (
        ("clk", 1),
        ("rst", 1),
        ("now", EDGE_BITS),
        ("stopped", 1),
        ("due", TIME_BITS),
        ("event", ports.event_bits),
        ("event_toggle", 1),
        ("quiet", 1),
        ("wake_edge", EDGE_BITS),
        ("counters", ports.counter_bits),
    )
    own = ("clk", "rst", "now", "event", "event_toggle", "quiet", "wake_edge", "counters")
    pins = [*own, *(box.name for box in ports.mailboxes)]
    return [
        "",
        *(
            f"    reg {_range(box.width)}{name}_{box.name} = {box.width}'d0;"
            for box in ports.mailboxes
        ),
        *(f"    wire {_range(width)}{name}_{port};" for port, width in outputs),
        "    unit_clock #(",
        f"        .PERIOD({unit.period_ps}), .KICKS({sum(box.width for box in kicks)})",
        f"    ) {name}_clock (",
        f"        .stop_enable(stop_enable), .quiet({name}_quiet), .wake_edge({name}_wake_edge),",
        f"        .kick({{{kick}}}), .clk({name}_clk), .rst({name}_rst),",
        f"        .edge_number({name}_now), .stopped({name}_stopped), .due({name}_due)",
        "    );",
        f"    wire {name}_asleep = {name}_quiet && &{name}_wake_edge;",
        f"    {ports.module} {name} (",
        ",\n".join(f"        .\\{pin} ({name}_{pin})" for pin in pins),
        "    );",
    ]
