"""Verilog writers of the RTL units."""

import gc
import re
from contextlib import contextmanager
from pathlib import Path

from amaranth.back import verilog

from rtl.nand.unit import FlashChannelUnit

__all__ = ["CHANNEL_MODULE", "DIE_MODULE", "emit_channel", "emit_component"]

CHANNEL_MODULE = "flash_channel_unit"
DIE_MODULE = "nand_die"
CONSTANT_BLOCK = re.compile(r"always @\*\n(    [^\n;]+ = \d+'h[0-9a-f]+;\n)")
COPY_BLOCK = re.compile(r"always @\*\n(    [^\n;]+ = [^\n;]+;\n)")
TRIGGER = re.compile(r"reg (\\\$auto\$verilog_backend\S+ ) = 0;")
SIM_RAM = Path(__file__).parent / "verilog" / "sim_ram.v"


def emit_component(path, component, name):
    """Write ``component`` as module ``name`` to the file ``path``.

    Ports are ``clk``, ``rst`` and the members of its signature, those of interfaces joined by two
    underscores. A block that only assigns a constant has no event to wait for and would stay
    undefined on an event-driven simulator, so it is made an initial one. So would one that copies a
    register until that first changes, so an initial one comes with it. In all others Yosys names
    a register that it sets at time 0, but before any block waits for it (IEEE 1800, 6.21); it is
    set by a nonblocking assignment instead, which comes after.
    """
    with _no_collection():
        text = verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)
    text = CONSTANT_BLOCK.sub(r"initial\n\1", text)
    text = COPY_BLOCK.sub(r"initial\n\1  always @*\n\1", text)
    text = TRIGGER.sub(r"reg \1;\n  initial \1<= 1'h0;", text)
    Path(path).write_text(text, encoding="ascii")


@contextmanager
def _no_collection():
    """A netlist is many objects and no garbage: looking for it takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def emit_channel(folder, part, **arguments):
    """Write a flash channel to ``folder`` and return the paths of all Verilog files it needs.

    ``arguments`` are those of :class:`FlashChannelUnit`.

    ``flash_channel_unit.v`` is :class:`FlashChannelUnit` and holds instances of ``nand_die.v``;
    the storage of both is ``sim_ram.v``, which is part of the package.
    """
    unit = FlashChannelUnit(part, **arguments, emitted=True)
    die_path = Path(folder) / f"{DIE_MODULE}.v"
    unit_path = Path(folder) / f"{CHANNEL_MODULE}.v"
    emit_component(die_path, unit.die, DIE_MODULE)
    emit_component(unit_path, unit, CHANNEL_MODULE)
    return [SIM_RAM, die_path, unit_path]
