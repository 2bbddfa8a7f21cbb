"""A firmware-CSD that goes from hop to hop by itself: row pointers, host half, limits."""

from typing import TypeGuard

from cosim.config.build import page_layout, striping
from cosim.config.ftl_build import host_pages
from cosim.config.load import LoadedConfig
from cosim.config.model import FirmwareCsd, System
from cosim.errors import UserError
from cosim.medium import FlashMedium, IdArray
from cosim.systems.inputs import Inputs
from firmware_model.chain import HOP_TARGET_BYTES
from firmware_model.device import Device
from host.chain_config import chain_result_size
from host.driver import NvmeDriver
from host.firmware_hops import FirmwareHopsHost, FirmwareHopsParameters
from host.ns_config import Placement
from rtl.contract.ns_config import POINTER_BYTES, RowPointers
from rtl.contract.page import PageLayout

__all__ = ["check_firmware_hops", "firmware_hops"]


def firmware_hops(
    system: System,
    inputs: Inputs,
    layout: PageLayout,
    device: Device,
    medium: FlashMedium,
    driver: NvmeDriver,
    placement: Placement,
) -> FirmwareHopsHost | None:
    """Load the row pointers, in no simulated time; the host half of a system that has them.

    Edge lists are on flash from block 0. Row pointers on flash begin with the page behind them, or
    behind the area of background writes.
    """
    if not _has_hops(system):
        return None
    place, first = RowPointers.DRAM, 0
    if system.row_pointers == "flash":
        place, first = RowPointers.FLASH, _first_page(system, inputs, layout)
        pages = medium.load_extent(first, IdArray(inputs.graph.indptr, POINTER_BYTES))
        for page, content in device.load_extent(first, pages):
            medium.load_extent(page, content)
    else:
        device.load_row_pointers(inputs.graph.indptr)
    parameters = FirmwareHopsParameters(
        nodes=inputs.graph.nodes,
        placement=placement,
        row_pointers=place,
        pointer_lba=first * layout.lbas,
    )
    return FirmwareHopsHost(driver, parameters)


def check_firmware_hops(loaded: LoadedConfig, inputs: Inputs) -> None:
    """Refuse row pointers and mini-batches that do not fit an SSD which chains hops.

    Raises
    ------
    UserError
        With the line of the constant that is too small, or of the graph.
    """
    for system in loaded.config.systems:
        if _has_hops(system):
            _check_row_pointers(loaded, system, inputs)
            _check_batches(loaded, inputs)


def _has_hops(system: System) -> TypeGuard[FirmwareCsd]:
    return isinstance(system, FirmwareCsd) and system.hops == "device"


def _first_page(system: System, inputs: Inputs, layout: PageLayout) -> int:
    pages = -(-inputs.edge_bytes // layout.page_bytes)
    if system.background is not None and system.background.write_area is not None:
        pages += -(-system.background.write_area // layout.page_bytes)
    return pages


def _check_row_pointers(loaded: LoadedConfig, system: FirmwareCsd, inputs: Inputs) -> None:
    ssd = loaded.platforms.ssd
    layout, room = page_layout(ssd), ssd.firmware.row_pointer_memory.value
    needed = POINTER_BYTES * (inputs.graph.nodes + 1)
    if system.row_pointers == "dram":
        if needed > room:
            rule = f"must hold {needed} bytes of row pointers, not {room}"
            raise _error(loaded, "row_pointer_memory", rule)
        return
    if room < layout.page_bytes:
        rule = f"must hold at least one page of {layout.page_bytes} bytes, not {room} bytes"
        raise _error(loaded, "row_pointer_memory", rule)
    end = _first_page(system, inputs, layout) + -(-needed // layout.page_bytes)
    pages = host_pages(ssd, striping(ssd))
    if end > pages:
        raise UserError(
            f"{loaded.source.file}: run.graph must fit the flash array of {pages} pages with its "
            f"row pointers, not need {end}"
        )


def _check_batches(loaded: LoadedConfig, inputs: Inputs) -> None:
    """A hop may be as large as its fan-outs let it be: that is what the device takes room for."""
    firmware = loaded.platforms.ssd.firmware
    for batch in inputs.trace.batches:
        largest = len(batch.targets)
        for fan_out in batch.fan_outs[:-1]:
            largest *= fan_out
        for key, needed, what in (
            ("hop_targets", HOP_TARGET_BYTES * largest, f"{largest} targets of a hop"),
            ("subgraph_buffer", chain_result_size(batch), "a mini-batch's subgraph"),
        ):
            room = getattr(firmware, key).value
            if needed > room:
                raise _error(loaded, key, f"must hold {needed} bytes for {what}, not {room}")


def _error(loaded: LoadedConfig, key: str, rule: str) -> UserError:
    return loaded.parts["ssd"].error(("firmware", key, "value"), rule)
