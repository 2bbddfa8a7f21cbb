"""Families of stages: what a bar of the plot is made of, and what its parts mean."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["FAMILIES", "Family", "by_family", "family_of", "in_order"]


@dataclass(frozen=True)
class Family:
    """Stages that begin with one of ``prefixes``. Colours are from Okabe and Ito's, and tints."""

    title: str
    prefixes: tuple[str, ...]
    colour: str
    meaning: str


FAMILIES = (
    Family(
        "host CPU",
        ("host.",),
        "#009E73",
        "the host's own code: drawing positions, building commands, interrupts, reading results",
    ),
    Family(
        "PCIe, SSD",
        ("pcie.ssd",),
        "#0072B2",
        "the link between host and SSD: doorbells, queue entries, NS_config, data, results, and "
        "their flight",
    ),
    Family(
        "PCIe, peer to peer",
        ("pcie.p2p",),
        "#56B4E9",
        "blocks on their way from the SSD into the FPGA card's memory",
    ),
    Family(
        "PCIe, FPGA",
        ("pcie.fpga",),
        "#004C78",
        "the link between host and FPGA card: descriptors, launch, results, and their flight",
    ),
    Family(
        "firmware",
        ("firmware.",),
        "#D55E00",
        "steps of the SSD's cores, waits for their polling loops included",
    ),
    Family(
        "SSD DRAM and DMA",
        ("dram.", "dma."),
        "#E69F00",
        "moves into and out of the SSD's DRAM, and the DMA engine's own work",
    ),
    Family(
        "flash: sensing",
        ("flash.sense",),
        "#882255",
        "the array time of a page (tR)",
    ),
    Family(
        "flash: programming",
        ("flash.program",),
        "#AA4499",
        "the array time of a page's program (tPROG)",
    ),
    Family(
        "flash: erasing",
        ("flash.erase",),
        "#DDCC77",
        "the array time of a block's erase (tBERS)",
    ),
    Family(
        "flash: other busy times",
        ("flash.cache", "flash.plane", "flash.feature", "flash.reset", "flash.suspend"),
        "#999933",
        "a die that moves a page between its registers, takes a plane or a feature, resets, or "
        "puts work aside",
    ),
    Family(
        "flash: bus",
        (
            "flash.command",
            "flash.poll",
            "flash.transfer",
            "flash.answer",
            "flash.status",
            "flash.complete",
        ),
        "#CC79A7",
        "commands, status polls and page data on the flash bus",
    ),
    Family(
        "flash: ECC",
        ("flash.ecc",),
        "#661100",
        "the decoder's latency, from a transfer's last word on the bus to its last corrected one",
    ),
    Family(
        "flash: waiting",
        ("flash.queue", "flash.hand-over", "flash.bus-wait", "flash.held"),
        "#E8C4D8",
        "a command that waits for its die or for the bus, or was put aside for a read",
    ),
    Family(
        "gather unit",
        ("gather.", "fpga."),
        "#F0E442",
        "launch of the gather unit, staging of blocks in the card's DRAM, and the gathering itself",
    ),
    Family(
        "hop sequencer",
        ("hops.",),
        "#6A5ACD",
        "hypothetical logic on the FPGA card that goes from hop to hop: orders, frontiers, row "
        "pointers, descriptors, and commands and completions of its own NVMe queue",
    ),
)


def family_of(stage: str) -> Family:
    """Family of a stage; a stage of none is a family of its own, so that no time is hidden."""
    for family in FAMILIES:
        if stage.startswith(family.prefixes):
            return family
    return Family(stage, (stage,), "#999999", "(no description)")


def in_order(families: Iterable[Family]) -> list[Family]:
    """Families once each, in the order of :data:`FAMILIES`, unknown ones last."""
    found = dict.fromkeys(families)
    return [family for family in dict.fromkeys((*FAMILIES, *found)) if family in found]


def by_family(stages_ps: Mapping[str, int]) -> dict[Family, int]:
    """Time of each family that occurs, in the order of :data:`FAMILIES`."""
    totals: dict[Family, int] = dict.fromkeys(FAMILIES, 0)
    for stage, duration_ps in stages_ps.items():
        family = family_of(stage)
        totals[family] = totals.get(family, 0) + duration_ps
    return {family: total for family, total in totals.items() if total}
