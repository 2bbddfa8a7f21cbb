# amaranth: UnusedElaboratable=no
# (Units are made to know their ports.)
"""Describes the ports of blocks that can be replaced: tables, and a Verilog skeleton."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib.data import Layout

from cosim.config.model import Platforms
from cosim.systems.design import channel_unit, flash_array, gather_card
from rtl.block import ports
from rtl.contract.channel import (
    ChannelCommand,
    ChannelCompletion,
    ChannelOperation,
    ChannelStatus,
)
from rtl.contract.gather import (
    GatherDescriptor,
    GatherDone,
    GatherLaunch,
    GatherMode,
    GatherStatus,
    ResultHeader,
    result_transfer,
)
from rtl.gather.own import core_signature, flat_signature
from rtl.gather.unit import GatherSimUnit
from rtl.nand.correction import data_word
from rtl.nand.own import controller_signature

__all__ = ["MEANINGS", "block_ports", "block_tables", "skeleton"]

COMMON = {
    "clk": "clock; all else is sampled at its rising edge",
    "rst": "synchronous reset, high over at least one edge before anything else",
    "now": "number of the edge that ends this clock; it goes up by more than one where the clock "
    "was stopped",
}
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "gather": {
        **COMMON,
        "launches__payload": "what to do: see *launch*",
        "launches__valid": "a launch is on offer",
        "launches__ready": "the unit takes it; never while one is in the unit",
        "m_axi_araddr": "AXI4 read address; any, within the card's window if it is to succeed",
        "m_axi_arlen": "beats of the burst, less one; no burst crosses 4 KB",
        "m_axi_arsize": "log2 of a beat's bytes, at most the width of the bus",
        "m_axi_arburst": "1 (INCR)",
        "m_axi_arid": "any: answers of one ID come in order, of different IDs in any",
        "m_axi_arvalid": "a read is asked for; low while no launch is in the unit",
        "m_axi_arready": "it is taken",
        "m_axi_rdata": "a beat: the whole word of the bus that holds the address",
        "m_axi_rresp": "2 or 3 is an error (SLVERR, DECERR), and the data means nothing",
        "m_axi_rlast": "last beat of its burst",
        "m_axi_rid": "ID of its request",
        "m_axi_rvalid": "a beat is on offer",
        "m_axi_rready": "the unit takes it",
        "results__payload": "result words: see *results*",
        "results__valid": "words are on offer",
        "results__ready": "they are taken",
        "done__payload": "the end of a launch: see *done*",
        "done__valid": "the launch is over; not before its last word has been taken",
        "done__ready": "that is taken",
        "abort": "high for a clock: give up the launch that is in the unit",
        "busy": "a launch is in the unit: from the clock after it was taken to that in which its "
        "end is taken; the clock may stop while it is low",
    },
    "flash-channel": {
        **COMMON,
        "commands__payload": "what to do: see *command*",
        "commands__valid": "a command is on offer",
        "commands__ready": "the controller takes it; it has room for two a LUN",
        "data__payload": "data on its way to the landing buffer: see *data*",
        "data__valid": "with each word; it is always taken",
        "completions__payload": "the end of a command: see *completion*",
        "completions__valid": "a command is over, all of its data handed over",
        "completions__ready": "that is taken",
        "landing_ready": "free landing slots, a bit each",
        "landing_take": "for a clock: the transfer that begins now takes this slot",
        "launch_start": "for a clock: the bytes of `launch_slot` are wanted, from three clocks "
        "later on",
        "launch_slot": "number of that launch slot",
        "launch__payload": "bytes for the die, phase 0 lowest",
        "launch__valid": "they are there",
        "launch__ready": "they are taken",
        "phy__ce_n": "CE# of each way, at most one low",
        "phy__cle": "CLE",
        "phy__ale": "ALE",
        "phy__we_n": "WE#: a command or address byte is latched at the edge that samples its rise",
        "phy__re_n": "RE#, a level a phase, idle ones",
        "phy__dq_o": "bytes to the die, phase 0 lowest",
        "phy__dq_oe": "they are driven",
        "phy__dqs_o": "DQS to the die, a level a phase",
        "phy__dqs_oe": "it is driven",
        "phy__dq_i": "bytes from the die",
        "phy__dqs_i": "DQS from the die",
        "phy__die_oe": "which way's die drives DQ and DQS",
        "phy__rb_n": "R/B# of each way",
        "quiet": "no edge before `wake_edge` changes anything while no input changes; it rises "
        "once nothing is under way",
        "wake_edge": "number of the next edge that must come while `quiet`; all ones is never",
    },
}
"""What each port of a block is for."""


def block_ports(block: str, platforms: Platforms) -> dict[str, tuple[bool, int]]:
    """Ports of ``gather`` or ``flash-channel`` on given platforms: (whether an input, width)."""
    if block == "gather":
        card = gather_card(platforms.fpga, None)
        unit = GatherSimUnit(**{field.name: getattr(card, field.name) for field in fields(card)})
        return ports(flat_signature(core_signature(unit.core)))
    return ports(controller_signature(channel_unit(flash_array(platforms.ssd, None)).controller))


def block_tables(block: str, platforms: Platforms) -> dict[str, str]:
    """Markdown tables by name: ports, and what their words and those in memory hold."""
    rows = [
        (f"`{name}`", "in" if is_input else "out", str(bits), MEANINGS[block][name])
        for name, (is_input, bits) in block_ports(block, platforms).items()
    ]
    tables = {f"{block}-ports": _table(("port", "direction", "bits", "meaning"), rows)}
    if block == "gather":
        bits = block_ports(block, platforms)["results__payload"][1]
        words = next(most for most in (1, 2, 4, 8) if _bits(result_transfer(most)) == bits)
        layouts = {
            "launch": GatherLaunch,
            "results": result_transfer(words),
            "done": GatherDone,
            "descriptor": GatherDescriptor,
            "header": ResultHeader,
        }
        enums: dict[str, Any] = {"modes": GatherMode, "status": GatherStatus}
    else:
        array = flash_array(platforms.ssd, None)
        layouts = {
            "command": ChannelCommand,
            "data": data_word(array.phases, array.slots),
            "completion": ChannelCompletion,
        }
        enums = {"operations": ChannelOperation, "status": ChannelStatus}
    tables |= {f"{block}-{name}": _layout_table(layout) for name, layout in layouts.items()}
    tables |= {f"{block}-{name}": _enum_table(values) for name, values in enums.items()}
    return tables


def skeleton(block: str, platforms: Platforms) -> str:
    """A Verilog module with the ports and nothing in it."""
    name = f"my_{block.replace('-', '_')}"
    pins = [
        f"    {'input' if is_input else 'output'} wire {_range(bits)}{port}"
        for port, (is_input, bits) in block_ports(block, platforms).items()
    ]
    return "\n".join([f"module {name} (", ",\n".join(pins), ");", "endmodule", ""])


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _bits(layout: Any) -> int:
    return int(Layout.cast(layout).size)


def _layout_table(layout: Any) -> str:
    return _table(("field", "bits"), [*_fields(Layout.cast(layout), "", 0)])


def _fields(layout: Any, prefix: str, offset: int) -> Iterator[Sequence[str]]:
    for name, field in layout:
        first, width = offset + field.offset, Shape.cast(field.shape).width
        try:
            inner = Layout.cast(field.shape)
        except TypeError:
            span = f"{first + width - 1}:{first}" if width > 1 else f"{first}"
            yield f"`{prefix}{name}`", span
        else:
            yield from _fields(inner, f"{prefix}{name}.", first)


def _enum_table(values: Any) -> str:
    return _table(("name", "value"), [(f"`{one.name}`", str(one.value)) for one in values])
