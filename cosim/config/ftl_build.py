"""The flash translation layer of a platform, as the firmware takes it."""

from cosim.config.flash_build import nand_part
from cosim.config.platform import SsdPlatform
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import FtlParameters
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping

__all__ = ["ftl_parameters", "host_pages"]

ALL_PPM = 1_000_000
"""The whole, in parts per million."""


def host_pages(ssd: SsdPlatform, places: Striping) -> int:
    """Flash pages of the namespace: all, but for what a translation layer has for itself."""
    pages: int = places.pages
    ftl = ssd.firmware.ftl
    return pages if ftl is None else pages - -(-pages * ftl.spare.value // ALL_PPM)


def ftl_parameters(ssd: SsdPlatform, layout: PageLayout, places: Striping) -> FtlParameters | None:
    """The translation layer, or None where there is none.

    Raises
    ------
    ValueError
        If its keys contradict each other or the flash.
    """
    ftl, part = ssd.firmware.ftl, nand_part(ssd)
    if ftl is None:
        return None
    if ssd.flash.operations.value != "all":
        raise ValueError("ftl must be absent where flash.operations is read")
    if ftl.map_cache.value < layout.page_bytes:
        raise ValueError(
            f"map_cache must hold at least one page of {layout.page_bytes} bytes, "
            f"not {ftl.map_cache.value} bytes"
        )
    parameters = FtlParameters(
        pages_per_block=part.pages_per_block,
        planes=part.planes,
        order=tuple(ftl.allocation.value.split()),
        map_cache_pages=ftl.map_cache.value // layout.page_bytes,
        gc_free_blocks=ftl.gc_free_blocks.value,
        gc_scope=ftl.gc_scope.value,
    )
    Ftl(parameters, layout, places, host_pages(ssd, places))
    return parameters
