"""Writer of ``csd_top``: every unit of a device, each on its own clock, with its mailboxes.

The top is plain Verilog without generate scopes, so that what the kernel reaches has the same
name in each simulator.
"""

from dataclasses import dataclass

__all__ = [
    "Mailbox",
    "Unit",
    "UnitPorts",
    "channel_ports",
    "domain",
    "gather_ports",
    "trace_ports",
    "write_top",
    "written",
]

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


def gather_ports(*, event_bits, counter_bits, has_rings=False, module="gather_unit"):
    """Ports of the gather unit (``docs/architecture.md``), with or without descriptor rings."""
    registers = (Mailbox(name="ring_write", width=64), Mailbox(name="ring_write_toggle", width=1))
    return UnitPorts(
        module=module,
        mailboxes=(
            Mailbox(name="launch", width=128),
            Mailbox(name="launch_toggle", width=1),
            Mailbox(name="stage", width=128),
            Mailbox(name="stage_toggle", width=1),
            Mailbox(name="result_free", width=1),
            Mailbox(name="abort", width=1),
            *(registers if has_rings else ()),
        ),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def trace_ports(*, event_bits, counter_bits, module="dram_trace"):
    """Ports of a bare trace of reads through a DRAM (``rtl/gather/trace.py``)."""
    return UnitPorts(
        module=module,
        mailboxes=(Mailbox(name="trace", width=32), Mailbox(name="trace_toggle", width=1)),
        event_bits=event_bits,
        counter_bits=counter_bits,
    )


def write_top(units):
    """Verilog of ``csd_top`` with ``units`` in order, and of a domain module for each kind of unit.

    A domain is a unit with its clock and its mailboxes; the instance carries the unit's name and
    the unit in it is called ``unit``. The kernel writes a mailbox to ``<mailbox>_next`` and then
    flips ``post``, which hands all of them over at once and restarts the clock. (One bit to watch:
    Verilator evaluates all logic behind a register that is written from outside whenever it is
    entered. And nothing of a domain refers to the outside, so that all instances share its code.)
    ``stop_enable`` is a register, 1 at start.

    In the top, one bit or word a unit, the first unit lowest, is in ``events`` (the event
    toggles), ``stopped`` and ``due`` (64 bits a unit: see ``unit_clock.v``) and ``asleep``
    (nothing will happen there until an input changes, whether or not the clock runs).

    Raises
    ------
    ValueError
        If there are no units, or two of one name.
    """
    names = [unit.name for unit in units]
    if not units or len(set(names)) != len(names):
        raise ValueError(f"units must be at least one, with names of their own, not {names}")
    kinds = {unit.ports.module: unit.ports for unit in units}
    lines = ["`timescale 1ps/1ps", f"module {TOP};"]
    for unit in units:
        lines += [f"    wire {_range(width)}{unit.name}_{port};" for _, port, width in VECTORS]
        pins = ", ".join(f".{port}({unit.name}_{port})" for _, port, _ in VECTORS)
        lines.append(f"    {domain(unit.ports)} #(.PERIOD({unit.period_ps})) {unit.name} ({pins});")
    for vector, port, width in VECTORS:
        parts = ", ".join(f"{name}_{port}" for name in reversed(names))
        lines.append(f"    wire {_range(width * len(units))}{vector} = {{{parts}}};")
    lines += ["endmodule", ""]
    for ports in kinds.values():
        lines += _domain(ports)
    return "\n".join(lines)


def domain(ports):
    """Name of the module that holds a unit with ``ports``, its clock and its mailboxes."""
    return f"{ports.module}_domain"


def written(ports):
    """Names of a domain's registers that are written from outside."""
    return ["stop_enable", "post", *(f"{box.name}_next" for box in ports.mailboxes)]


def _range(width):
    return f"[{width - 1}:0] "


def _domain(ports):
    boxes = [(box.name, box.width) for box in ports.mailboxes]
    own = ("clk", "rst", "now", "event", "event_toggle", "quiet", "wake_edge", "counters")
    pins = [*own, *(name for name, _ in boxes)]
    wires = (
        ("clk", 1),
        ("rst", 1),
        ("now", EDGE_BITS),
        (r"\event ", ports.event_bits),
        ("quiet", 1),
        ("wake_edge", EDGE_BITS),
        ("counters", ports.counter_bits),
    )
    outputs = ", ".join(f"output wire {_range(width)}{port}" for _, port, width in VECTORS)
    return [
        f"module {domain(ports)} #(parameter [63:0] PERIOD = 10000) ({outputs});",
        "    reg stop_enable = 1'b1, post = 1'b0;",
        *(
            f"    reg {_range(width)}{name} = {width}'d0, {name}_next = {width}'d0;"
            for name, width in boxes
        ),
        "    always @(post) begin",
        *(f"        {name} <= {name}_next;" for name, _ in boxes),
        "    end",
        *(f"    wire {_range(width)}{name};" for name, width in wires),
        "    assign asleep = quiet && &wake_edge;",
        "    unit_clock #(.PERIOD(PERIOD)) clock (",
        "        .stop_enable(stop_enable), .quiet(quiet), .wake_edge(wake_edge), .kick(post),",
        "        .clk(clk), .rst(rst), .edge_number(now), .stopped(stopped), .due(due)",
        "    );",
        f"    {ports.module} unit (",
        ",\n".join(f"        .\\{pin} (\\{pin} )" for pin in pins),
        "    );",
        "endmodule",
        "",
    ]
