"""Layout of the translation layer's tables in ``c/ftl.h``, and their sizes, for the harness."""

import numpy as np

from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from firmware_model.ftl.page_map import PageMap
from firmware_model.mismatch import words
from firmware_model.tables import NONE, words_of
from rtl.contract.striping import Striping

__all__ = [
    "ARRAY",
    "BLOCKS",
    "CRCS",
    "DEFINES",
    "LISTS",
    "LOGGED",
    "MAP",
    "MAP_PAGES",
    "SLOTS",
    "WRITES",
    "empty_array",
    "empty_map",
    "number_of_block",
]


def _crc(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0xEDB8_8320 if byte & 1 else 0)
    return byte


SLOTS = 64
MAP_PAGES = 64
WRITES = 64
LOGGED = 256
MAP = np.dtype(
    [
        *words_of(
            "pages map_pages entry_log2 slot_mask log_mask write_mask "
            "free_slot free_logged free_write logged"
        ).descr,
        ("sequence", "<u4", 2),
        ("slots", words_of("index chain older newer dirty pins leaving"), SLOTS + 1),
        ("slot_chains", "<u4", SLOTS),
        ("directory", words_of("place first count"), MAP_PAGES),
        ("writes", words_of("page old chain"), WRITES),
        ("write_chains", "<u4", WRITES),
        ("log", words_of("page place chain next"), LOGGED),
        ("log_chains", "<u4", LOGGED),
    ]
)
"""``struct map``; the compiler refuses a size that differs."""

PAGES = 128
"""Of a block, at most."""
BLOCKS = 128
UNITS = 8
SCOPES = 4
LISTS = PAGES + 2
BLOCK = np.dtype(
    [
        *words_of("state written count erases programs older newer").descr,
        ("valid", "<u4", PAGES // 32),
    ]
)
ARRAY = np.dtype(
    [
        *words_of(
            "channel_bits way_bits lun_bits page_log2 plane_mask scope_mask unit_count cursor"
        ).descr,
        ("units", words_of("open unused freed free scope"), UNITS),
        ("unit_of", "<u4", UNITS),
        ("scopes", words_of("free open"), SCOPES),
        ("blocks", BLOCK, BLOCKS + SCOPES * LISTS),
    ]
)
"""``struct array``."""
CRCS = words(*(_crc(byte) for byte in range(256)))
"""CRC-32 of each byte."""

DEFINES = (
    f"-DFTL_SLOTS={SLOTS}",
    f"-DFTL_MAP_PAGES={MAP_PAGES}",
    f"-DFTL_WRITES={WRITES}",
    f"-DFTL_LOGGED={LOGGED}",
    f"-DFTL_MAP_BYTES={MAP.itemsize}",
    f"-DFTL_PAGES={PAGES}",
    f"-DFTL_BLOCKS={BLOCKS}",
    f"-DFTL_UNITS={UNITS}",
    f"-DFTL_SCOPES={SCOPES}",
    f"-DFTL_ARRAY_BYTES={ARRAY.itemsize}",
)


def empty_map(model: PageMap) -> np.ndarray:
    """``struct map`` after power-up, of a device that was never written."""
    memory = np.zeros(1, MAP)
    table = memory[0]
    table["pages"], table["map_pages"] = model.pages, model.map_pages
    table["entry_log2"] = model.entries_per_page.bit_length() - 1
    table["slot_mask"], table["log_mask"] = model.hashes.mask, model.log_hashes.mask
    table["write_mask"] = WRITES - 1
    for name, room in (
        ("slots", model.capacity),
        ("log", LOGGED),
        ("writes", WRITES),
    ):
        table[name]["chain"][:room] = [*range(1, room), NONE]
    for name in ("slot_chains", "log_chains", "write_chains"):
        table[name] = NONE
    for name in ("place", "first"):
        table["directory"][name] = NONE
    table["slots"][SLOTS]["older"] = table["slots"][SLOTS]["newer"] = SLOTS
    table["sequence"][0] = 1
    return memory


def number_of_block(striping: Striping, block: Block) -> int:
    """As the C code counts blocks."""
    number = int(block.number)
    for unit, size in (
        (block.lun, striping.luns),
        (block.way, striping.ways),
        (block.channel, striping.channels),
    ):
        number = number * size + unit
    return number


def empty_array(ftl: Ftl) -> np.ndarray:
    """``struct array`` of a device that was never written."""
    memory = np.zeros(1, ARRAY)
    table, striping, parameters, blocks = memory[0], ftl.striping, ftl.parameters, ftl.blocks
    for name in ("channel", "way", "lun"):
        table[f"{name}_bits"] = getattr(striping, f"{name}s").bit_length() - 1
    table["page_log2"] = parameters.pages_per_block.bit_length() - 1
    table["plane_mask"] = parameters.planes - 1
    table["scope_mask"] = blocks.scopes - 1
    table["unit_count"] = len(blocks.units)
    table["scopes"]["open"] = NONE
    of_lun = striping.rows // parameters.pages_per_block
    for number, unit in enumerate(blocks.units):
        entry = table["units"][number]
        entry["open"] = entry["freed"] = NONE
        entry["scope"] = blocks.scope(unit.channel)
        entry["free"] = blocks.free_blocks(unit)
        table["scopes"][int(entry["scope"])]["free"] += entry["free"]
        place = number_of_block(striping, Block(*unit[:3], unit.plane))
        table["unit_of"][place] = number
        names = [
            number_of_block(striping, Block(*unit[:3], at))
            for at in range(unit.plane, of_lun, parameters.planes)
        ]
        entry["unused"], *links = [*names, NONE]
        table["blocks"]["newer"][names] = links
    for anchor in range(BLOCKS, BLOCKS + SCOPES * LISTS):
        table["blocks"][anchor]["older"] = table["blocks"][anchor]["newer"] = anchor
    return memory
