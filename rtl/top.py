"""Writer of ``csd_top``: every unit of a device, each on its own clock, with its mailboxes.

The top is plain Verilog without generate scopes, so that every mailbox, event word and clock state
is a register or wire of ``csd_top`` with the same name in each simulator: ``<unit>_<port>``.
"""

from dataclasses import dataclass

__all__ = ["Mailbox", "Unit", "UnitPorts", "channel_ports", "gather_ports", "read", "write_top", "written"]

TOP = "csd_top"
EDGE_BITS = 48
TIME_BITS = 64
VECTORS = (
    ("events", "event_toggle", 1),
    ("stopped", "stopped", 1),
    ("due", "due", TIME_BITS),
    ("asleep", "asleep", 1),
)


@dataclass(frozen=True, kw_only=True)
class Mailbox:
    """An input of a unit that the kernel writes."""

    name: str
    width: int


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
            Mailbox(name="command", width=128),
            Mailbox(name="command_toggle", width=1),
            Mailbox(name="array_done", width=16 * ways * luns),
            Mailbox(name="landing_free", width=slots),
        ),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def gather_ports(*, event_bits, counter_bits, module="gather_unit"):
    """Ports of the gather unit (``docs/architecture.md``)."""
    return UnitPorts(
        module=module,
        mailboxes=(
            Mailbox(name="launch", width=128),
            Mailbox(name="launch_toggle", width=1),
            Mailbox(name="stage", width=128),
            Mailbox(name="stage_toggle", width=1),
            Mailbox(name="result_free", width=1),
        ),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def write_top(units):
    """Verilog of ``csd_top`` with ``units`` in order.

    The kernel writes a unit's mailboxes to ``<unit>_<mailbox>_next`` and then flips
    ``<unit>_post``, which hands all of them over at once and restarts the unit's clock. (One bit
    to watch: Verilator evaluates all logic behind a register that is written from outside whenever
    it is entered.) ``stop_enable`` is a register, 1 at start. One bit or word a unit, the first
    unit lowest, is in ``events`` (the event toggles), ``stopped`` and ``due`` (64 bits a unit: see
    ``unit_clock.v``) and ``asleep`` (nothing will happen there until an input changes, whether or
    not the clock runs).

    Raises
    ------
    ValueError
        If there are no units, or two of one name.
    """
    names = [unit.name for unit in units]
    if not units or len(set(names)) != len(names):
        raise ValueError(f"units must be at least one, with names of their own, not {names}")
    lines = ["`timescale 1ps/1ps", f"module {TOP};", "    reg stop_enable = 1'b1;"]
    for unit in units:
        lines += ["", *_mailboxes(unit), *_instances(unit)]
    for vector, port, width in VECTORS:
        parts = ", ".join(f"{name}_{port}" for name in reversed(names))
        lines.append(f"    wire {_range(width * len(units))}{vector} = {{{parts}}};")
    return "\n".join([*lines, "endmodule", ""])


def written(units):
    """Names of the registers of ``csd_top`` that are written from outside."""
    own = [f"{unit.name}_{box.name}_next" for unit in units for box in unit.ports.mailboxes]
    return ["stop_enable", *own, *(f"{unit.name}_post" for unit in units)]


def read(units):
    """Names of the wires of ``csd_top`` that are read from outside."""
    own = [f"{unit.name}_{port}" for unit in units for port in ("event", "counters")]
    return [*(vector for vector, _, _ in VECTORS), *own]


def _range(width):
    return f"[{width - 1}:0] "


def _mailboxes(unit):
    boxes = [(f"{unit.name}_{box.name}", box.width) for box in unit.ports.mailboxes]
    lines = [f"    reg {unit.name}_post = 1'b0;"]
    for name, width in boxes:
        lines.append(f"    reg {_range(width)}{name} = {width}'d0, {name}_next = {width}'d0;")
    return [
        *lines,
        f"    always @({unit.name}_post) begin",
        *(f"        {name} <= {name}_next;" for name, _ in boxes),
        "    end",
    ]


def _instances(unit):
    name, ports = unit.name, unit.ports
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
        *(f"    wire {_range(width)}{name}_{port};" for port, width in outputs),
        f"    wire {name}_asleep = {name}_quiet && &{name}_wake_edge;",
        f"    unit_clock #(.PERIOD({unit.period_ps})) {name}_clock (",
        f"        .stop_enable(stop_enable), .quiet({name}_quiet), .wake_edge({name}_wake_edge),",
        f"        .kick({name}_post), .clk({name}_clk), .rst({name}_rst),",
        f"        .edge_number({name}_now), .stopped({name}_stopped), .due({name}_due)",
        "    );",
        f"    {ports.module} {name} (",
        ",\n".join(f"        .\\{pin} ({name}_{pin})" for pin in pins),
        "    );",
    ]
