"""From platforms and systems to the parameter objects of hardware, firmware, host and links."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cosim.bit_errors import CellState
from cosim.config.cores import Core
from cosim.config.explain import naming
from cosim.config.flash_build import bus_phases, bus_rate, check_flash, nand_part, period_ps
from cosim.config.ftl_build import ftl_parameters, host_pages
from cosim.config.model import Platforms, System
from cosim.config.platform import (
    CardLink,
    Constant,
    FpgaPlatform,
    HostPlatform,
    Link,
    ReadLink,
    SsdPlatform,
)
from cosim.config.quantities import SHARE, parse_quantity
from cosim.config.yaml_source import YamlSource
from cosim.link_parameters import LinkParameters, WireParameters
from firmware_model.flash_choice import FlashOrder
from firmware_model.parameters import (
    CoreParameters,
    DmaParameters,
    FirmwareParameters,
    NvmeParameters,
    QueueRegisters,
    Task,
)
from host.costs import HostCosts
from host.ns_config import Placement
from host.window import WindowLayout
from rtl.contract.bch import BchCode
from rtl.contract.dram import DramTimes
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping

__all__ = [
    "bch_code",
    "bus_phases",
    "bus_rate",
    "card_wires",
    "cell_state",
    "check_platforms",
    "decoder_code",
    "dram_times",
    "encoder_code",
    "firmware_parameters",
    "host_costs",
    "link_parameters",
    "nand_part",
    "page_buffer_pages",
    "page_layout",
    "period_ps",
    "queue_registers",
    "sequencer_costs",
    "striping",
    "wire_parameters",
]


def bch_code(ssd: SsdPlatform) -> BchCode:
    """Code of the flash pages."""
    form = ssd.page_format
    return BchCode(
        m=form.field_bits.value, t=form.corrected_bits.value, chunk_bytes=form.chunk.value
    )


def decoder_code(ssd: SsdPlatform) -> BchCode | None:
    """Code of the ECC decoders in the flash channels, or None if there are none."""
    return bch_code(ssd) if ssd.flash.decoder.value == "present" else None


def encoder_code(ssd: SsdPlatform) -> BchCode | None:
    """Code of the encoders in the flash channels, or None if there are none.

    They are in channels that have a decoder, and that can program.
    """
    return None if nand_part(ssd).extended is None else decoder_code(ssd)


def cell_state(ssd: SsdPlatform) -> CellState:
    """Wear, age and error rates of the flash cells.

    Raises
    ------
    ValueError
        If the shares of the read levels are no shares, or more than half of all bits are wrong.
    """
    cells = ssd.cells
    return CellState(
        cycles=cells.cycles.value,
        age_hours=cells.age.value,
        fresh_rate_ppt=cells.fresh_rate.value,
        worn_rate_ppt=cells.worn_rate.value,
        aged_rate_ppt=cells.aged_rate.value,
        cycles_exponent=cells.cycles_exponent.value,
        age_exponent=cells.age_exponent.value,
        level_shares_ppm=_level_shares(cells.level_shares.value),
        die_spread_ppm=cells.die_spread.value,
        seed=cells.seed.value,
    )


def _level_shares(text: str) -> tuple[int, ...]:
    try:
        return tuple(parse_quantity(SHARE, share) for share in text.split(","))
    except ValueError as error:
        raise ValueError(f"level_shares {error}") from None


def page_layout(ssd: SsdPlatform) -> PageLayout:
    """Columns of a flash page."""
    return PageLayout(
        page_bytes=ssd.nand.page.value,
        spare_bytes=ssd.nand.spare.value,
        chunk_bytes=ssd.page_format.chunk.value,
        parity_bytes=bch_code(ssd).parity_bytes,
        lba_bytes=ssd.page_format.lba.value,
    )


def striping(ssd: SsdPlatform) -> Striping:
    """Where logical pages lie."""
    return Striping(
        channels=ssd.flash.channels.value,
        ways=ssd.flash.ways.value,
        luns=ssd.nand.luns.value,
        rows=nand_part(ssd).rows,
        order=tuple(ssd.flash.striping.value.split()),
    )


def wire_parameters(link: Link) -> WireParameters:
    """Parameters of a PCIe link across which data is written."""
    return WireParameters(
        bytes_per_second=link.rate.value,
        latency_ps=link.latency.value,
        max_payload_bytes=link.max_payload.value,
        header_bytes=link.header.value,
        posted_headers=link.posted_headers.value,
        posted_data_bytes=link.posted_data.value,
    )


def card_wires(link: CardLink) -> tuple[WireParameters, WireParameters]:
    """Parameters of the directions of the card's PCIe link: up to the host, and down."""
    both = {
        "latency_ps": link.latency.value,
        "max_payload_bytes": link.max_payload.value,
        "header_bytes": link.header.value,
        "posted_headers": link.posted_headers.value,
        "posted_data_bytes": link.posted_data.value,
    }
    return (
        WireParameters(bytes_per_second=link.rate_up.value, **both),
        WireParameters(bytes_per_second=link.rate_down.value, **both),
    )


def link_parameters(link: ReadLink) -> LinkParameters:
    """Parameters of a PCIe link across which the device also reads."""
    return LinkParameters(
        **asdict(wire_parameters(link)),
        read_request_bytes=link.max_read_request.value,
        read_completion_bytes=link.read_completion.value,
        read_window_bytes=link.read_window.value,
    )


def dram_times(fpga: FpgaPlatform) -> DramTimes:
    """Geometry and times of the card's DRAM."""
    dram = fpga.dram
    values = {key: getattr(dram, key).value for key in type(dram).model_fields}
    named = {f"{key}_ps" if key.startswith("t_") else key: value for key, value in values.items()}
    return DramTimes(row_bytes=named.pop("row"), **named)


def host_costs(host: HostPlatform) -> HostCosts:
    """CPU costs of the host."""
    return HostCosts(
        **{
            f"{key}_ps": value.value
            for key in type(host).model_fields
            if isinstance(value := getattr(host, key), Constant)
        }
    )


def sequencer_costs(fpga: FpgaPlatform) -> HostCosts:
    """Costs of the steps of the card's hop sequencer; it sees a completion without an interrupt."""
    hops = fpga.hops
    return HostCosts(
        submit_ps=hops.command.value,
        interrupt_ps=0,
        complete_ps=hops.completion.value,
        key_ps=0,
        draw_ps=0,
        compare_ps=0,
        build_target_ps=hops.target.value,
        map_block_ps=0,
        parse_target_ps=0,
        parse_id_ps=hops.id.value,
    )


def page_buffer_pages(ssd: SsdPlatform, system: System, edge_bytes: int) -> int:
    """Pages that the SSD's page buffer holds, for an edge list array of ``edge_bytes``.

    Raises
    ------
    ValueError
        If there is not one.
    """
    size = ssd.firmware.page_buffer.value
    if system.page_buffer is not None:
        size = system.page_buffer.of(edge_bytes)
    page = ssd.nand.page.value
    if size < page:
        raise ValueError(
            f"page_buffer must hold at least one page of {page} bytes, not {size} bytes"
        )
    return size // page


def firmware_parameters(ssd: SsdPlatform, system: System, edge_bytes: int) -> FirmwareParameters:
    """The SSD's side of one system, for an edge list array of ``edge_bytes``.

    Raises
    ------
    ValueError
        If the page buffer does not hold a page, or the platform contradicts itself.
    """
    firmware, layout, places = ssd.firmware, page_layout(ssd), striping(ssd)
    return FirmwareParameters(
        cores=tuple(
            _core(name, core, firmware.page_buffer_memory.value)
            for name, core in firmware.cores.items()
        ),
        binding={task: getattr(firmware.binding, task.name.lower()).value for task in Task},
        layout=layout,
        striping=places,
        nvme=NvmeParameters(
            namespace_blocks=host_pages(ssd, places) * layout.lbas,
            transfer_limit_bytes=ssd.nvme.transfer_limit.value,
            command_slots=ssd.nvme.command_slots.value,
            queue_entries=ssd.nvme.queue_entries.value,
        ),
        dma=DmaParameters(
            setup_ps=ssd.dma.setup.value,
            slots=ssd.dma.slots.value,
            descriptor_bytes=ssd.dma.descriptor.value,
        ),
        dram_bytes_per_second=ssd.dram_rate.value,
        page_buffer_pages=page_buffer_pages(ssd, system, edge_bytes),
        page_buffer_policy=firmware.page_buffer_policy.value,
        flash_order=FlashOrder(
            order=firmware.flash_order.value,
            priority=firmware.flash_priority.value,
            patience=firmware.flash_patience.value,
        ),
        page_jobs=firmware.page_jobs.value,
        subgraph_buffer_bytes=firmware.subgraph_buffer.value,
        hop_targets_bytes=firmware.hop_targets.value,
        row_pointer_pages=max(1, firmware.row_pointer_memory.value // layout.page_bytes),
        body_pieces_ahead=firmware.body_pieces_ahead.value,
        list_pages=firmware.list_pages.value,
        sampling_whole_page=system.whole_page,
        block_read_whole_page=system.whole_page,
        read_retries=firmware.read_retries.value,
        ftl=ftl_parameters(ssd, layout, places),
    )


def queue_registers(
    ssd: SsdPlatform,
    *,
    submission: int,
    completion: int,
    number: int = 1,
    vector: int | None = 0,
) -> QueueRegisters:
    """A queue pair at two PCIe addresses, as the device knows it."""
    entries = ssd.nvme.queue_entries.value
    return QueueRegisters(
        number=number,
        submission_address=submission,
        submission_entries=entries,
        completion_address=completion,
        completion_entries=entries,
        vector=vector,
    )


def check_platforms(
    platforms: Platforms,
    systems: tuple[System, ...],
    sources: Mapping[str, YamlSource] | None = None,
) -> None:
    """Refuse platforms that contradict themselves, before anything else is done.

    Raises
    ------
    UserError
        Saying what must hold, and where: with ``sources`` by file and line, else by platform.
    """
    sources = sources or {}
    _check_ssd(platforms.ssd, systems, sources.get("ssd"))
    fpga, source = platforms.fpga, sources.get("fpga")
    with naming("fpga", source, "clock"):
        period_ps(fpga.clock.value)
    with naming("fpga", source, "dram"):
        dram_times(fpga)
    with naming("fpga", source, "p2p"):
        wire_parameters(fpga.p2p)
    with naming("fpga", source, "pcie"):
        card_wires(fpga.pcie)
    with naming("fpga", source):
        WindowLayout(fpga.window.value)
    with naming("host", sources.get("host")):
        host_costs(platforms.host)


def _check_ssd(ssd: SsdPlatform, systems: tuple[System, ...], source: YamlSource | None) -> None:
    check_flash(ssd, source)
    for name, core in ssd.firmware.cores.items():
        with naming("ssd", source, f"firmware.cores.{name}"):
            _core(name, core, ssd.firmware.page_buffer_memory.value)
    with naming("ssd", source, "flash"):
        striping(ssd)
    with naming("ssd", source, "cells"):
        cell_state(ssd)
    with naming("ssd", source, "page_format", "nand"):
        bch_code(ssd)
        page_layout(ssd)
        Placement(lba_bytes=ssd.page_format.lba.value)
    with naming("ssd", source, "pcie"):
        link_parameters(ssd.pcie)
    with naming("ssd", source, "nvme"):
        queue_registers(ssd, submission=0, completion=0)
    with naming("ssd", source, "firmware.binding"):
        _check_binding(ssd)
    with naming("ssd", source, "firmware"):
        _check_retries(ssd)
    with naming("ssd", source, "firmware.ftl"):
        ftl_parameters(ssd, page_layout(ssd), striping(ssd))
    with naming("ssd", source, "firmware"):
        for system in systems:
            # The page buffer's share is of a graph that is not known here; any one will do.
            firmware_parameters(ssd, system, 1 << 62)


def _check_retries(ssd: SsdPlatform) -> None:
    """Refuse read retries that could not come about, or that have no level to go to."""
    retries, levels = ssd.firmware.read_retries.value, cell_state(ssd).levels
    if retries and ssd.flash.operations.value == "read":
        raise ValueError(f"read_retries must be 0 where flash.operations is read, not {retries}")
    if retries and ssd.flash.decoder.value == "absent":
        raise ValueError(f"read_retries must be 0 where flash.decoder is absent, not {retries}")
    if retries >= levels:
        raise ValueError(
            f"read_retries must be less than the {levels} levels of cells.level_shares, "
            f"not {retries}"
        )


def _check_binding(ssd: SsdPlatform) -> None:
    cores = ssd.firmware.cores
    for task, core in iter(ssd.firmware.binding):
        if core.value not in cores:
            raise ValueError(f"{task} must be one of {', '.join(cores)}, not {core.value!r}")


def _core(name: str, core: Core, memory: str) -> CoreParameters:
    loads: dict[str, Any] = {
        key: getattr(core.loads, key).value for key in type(core.loads).model_fields
    }
    cached = loads.pop("page_buffer_cached")
    if memory == "cached":
        loads["page_buffer"] = cached
    return CoreParameters(
        name=name,
        kind=core.type.value,
        period_ps=period_ps(core.clock.value),
        issue_rate=core.issue_rate.value,
        load_ps=loads,
        poll_cycles=core.poll.value,
    )
