"""Platforms: the physical constants of one device, each with value, unit, source and mark."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cosim.config.cells import Cells
from cosim.config.constant import (
    FREE_MARKS,
    Byte,
    Constant,
    Mark,
    NotNegative,
    Positive,
    Text,
    constants,
)
from cosim.config.cores import Binding, Core
from cosim.config.hop_logic import HopLogic
from cosim.config.part import Part
from cosim.config.quantities import Bandwidth, Frequency, Share, Size, Time

__all__ = [
    "FREE_MARKS",
    "PLATFORM_FOLDER",
    "Byte",
    "CardLink",
    "Constant",
    "Device",
    "FpgaPlatform",
    "HostPlatform",
    "Link",
    "Mark",
    "Nand",
    "Platform",
    "ReadLink",
    "SsdPlatform",
    "constants",
]

PLATFORM_FOLDER = Path(__file__).parents[1] / "platforms"

FlashPriority = Literal[
    "equal",
    "host sampling background",
    "sampling host background",
    "host background sampling",
    "sampling background host",
    "background host sampling",
    "background sampling host",
]

MAX_CHANNELS = 30
"""With the gather unit the most units whose event toggles are read in one word."""
MAX_WAYS = 16
"""Of one channel; with ``MAX_LUNS`` the largest arrays for which the RTL is built."""
MAX_LUNS = 8


class Nand(Part):
    """NAND part in one timing mode; names as in ``rtl.contract.nand_part`` and ``nand_array``.

    Nobody writes it: its constants are those of the part file that ``flash`` names.
    """

    page: Constant[Size]
    spare: Constant[Size]
    pages_per_block: Constant[Positive]
    blocks_per_lun: Constant[Positive]
    luns: Constant[Annotated[int, Field(ge=1, le=MAX_LUNS)]]
    chip_enables: Constant[Positive]
    planes: Constant[Positive] | None = None
    """None, as all times of programs and the like, where the flash is for plain reads."""
    t_r: Constant[Time]
    t_wc: Constant[Time]
    t_wp: Constant[Time]
    t_wh: Constant[Time]
    t_cs: Constant[Time]
    t_ch: Constant[Time]
    t_cals: Constant[Time]
    t_cah: Constant[Time]
    t_wb: Constant[Time]
    t_rr: Constant[Time]
    t_whr: Constant[Time]
    t_ccs: Constant[Time]
    t_rhw: Constant[Time]
    t_rc: Constant[Time] | None = None
    """None, as the others that follow, where the data interface has no such time."""
    t_rp: Constant[Time] | None = None
    t_reh: Constant[Time] | None = None
    t_rea: Constant[Time] | None = None
    t_rhoh: Constant[Time] | None = None
    t_rloh: Constant[Time] | None = None
    t_ck: Constant[Time] | None = None
    t_ck_max: Constant[Time] | None = None
    t_rpre: Constant[Time] | None = None
    t_rpst: Constant[Time] | None = None
    t_dqsre: Constant[Time] | None = None
    poll_first: Constant[Time]
    poll_period: Constant[Time]
    t_adl: Constant[Time] | None = None
    t_wpre: Constant[Time] | None = None
    t_wpst: Constant[Time] | None = None
    t_prog: Constant[Time] | None = None
    t_bers: Constant[Time] | None = None
    t_cbsy: Constant[Time] | None = None
    t_rcbsy: Constant[Time] | None = None
    t_dbsy: Constant[Time] | None = None
    t_feat: Constant[Time] | None = None
    t_rst: Constant[Time] | None = None
    program_poll_first: Constant[Time] | None = None
    program_poll_period: Constant[Time] | None = None
    erase_poll_first: Constant[Time] | None = None
    erase_poll_period: Constant[Time] | None = None
    program_suspend: Constant[Byte] | None = None
    """None, as those that follow, for a part without commands to suspend, too."""
    program_resume: Constant[Byte] | None = None
    erase_suspend: Constant[Byte] | None = None
    erase_resume: Constant[Byte] | None = None
    t_program_suspend: Constant[Time] | None = None
    t_erase_suspend: Constant[Time] | None = None


class FlashArray(Part):
    """Channels and the units behind them."""

    channels: Constant[Annotated[int, Field(ge=1, le=MAX_CHANNELS)]]
    ways: Constant[Annotated[int, Field(ge=1, le=MAX_WAYS)]]
    part: Constant[Text]
    """A part of ours by name, or a ``*.yaml`` file relative to the file that names it."""
    interface: Constant[Literal["sdr", "nv-ddr", "nv-ddr2"]]
    """Data interface of the bus."""
    mode: Constant[Annotated[int, Field(ge=0)]]
    """Timing mode; with the clock it says how many transfers a second there are."""
    clock: Constant[Frequency]
    """Of the channel controller."""
    operations: Constant[Literal["read", "all"]]
    """What controllers and dies are made for: plain reads, or all that a part can do."""
    policy: Constant[Literal["round-robin", "reads-first", "oldest-ready-first"]]
    """Who goes first on a channel's bus; see ``rtl.nand.arbiter``."""
    suspends: Constant[Annotated[int, Field(ge=0)]]
    """Times that one program or erase may be put aside for a read."""
    watchdog: Constant[Time]
    """A LUN that is busy for so long is given up; of channels for all operations."""
    landing_slots: Constant[Positive]
    """Pages that have left the dies of a channel and are not in DRAM yet."""
    decoder: Constant[Literal["absent", "present"]]
    """ECC decoders between the buses and the landing buffers. Without them parity is stripped
    unchecked."""
    striping: Constant[Text]
    """``channel``, ``way`` and ``lun``, the one that changes fastest from page to page first."""


class PageFormat(Part):
    """Codewords of a page."""

    lba: Constant[Size]
    chunk: Constant[Size]
    field_bits: Constant[Positive]
    corrected_bits: Constant[Positive]


class Ftl(Part):
    """Flash translation layer of an SSD that can be written."""

    allocation: Constant[Text]
    """``channel``, ``way``, ``lun`` and ``plane``, the one that changes fastest from one written
    page to the next first."""
    spare: Constant[Share]
    """Of the flash array, that is not the host's: for the map and for blocks that are free."""
    map_cache: Constant[Size]
    """Pages of the map in DRAM."""
    gc_free_blocks: Constant[Annotated[int, Field(ge=2)]]
    """Blocks are reclaimed while no more than these are free."""
    gc_scope: Constant[Literal["global", "channel"]]
    """Of what they are: each channel has a collector of its own, or there is one."""


class Firmware(Part):
    """Embedded cores, and what the firmware keeps."""

    cores: dict[Text, Core] = Field(min_length=1)
    binding: Binding
    page_buffer: Constant[Size]
    page_buffer_memory: Constant[Literal["uncached", "cached"]]
    """How the cores see the memory that DMA and flash write."""
    page_buffer_policy: Constant[Literal["lru", "clock", "2q"]]
    """Which page leaves the buffer; see ``firmware_model.replacement``."""
    flash_order: Constant[Literal["round-robin", "idle-first"]]
    """Which LUN of a channel gets the next command; see ``firmware_model.flash_choice``."""
    flash_priority: Constant[FlashPriority]
    """Whose commands go first."""
    flash_patience: Constant[Positive]
    """After so many of those, the one that has waited longest goes first."""
    page_jobs: Constant[Positive]
    """Page reads and gathers that it keeps track of at a time."""
    subgraph_buffer: Constant[Size]
    """Room for pending subgraphs."""
    hop_targets: Constant[Size]
    """Room for the targets of hops, where the firmware goes from hop to hop."""
    row_pointer_memory: Constant[Size]
    """DRAM for row pointers: for all of them, or for pages of those on flash."""
    body_pieces_ahead: Constant[Positive]
    """DMA descriptors of an NS_config body in flight before they are parsed."""
    read_retries: Constant[NotNegative]
    """Read levels beside 0 at which a page that cannot be corrected is read again."""
    list_pages: Constant[Positive]
    """Further segment list pages that one command may chain."""
    ftl: Ftl | None = None
    """None where the SSD only reads: pages lie where the striping puts them."""


class Nvme(Part):
    """What the device says of itself."""

    command_slots: Constant[Positive]
    """Commands that it works on at a time."""
    queue_entries: Constant[Annotated[int, Field(ge=2, le=65_536)]]
    """Of the submission and of the completion queue."""
    transfer_limit: Constant[Size]
    """Largest data transfer of one command (MDTS)."""


class DmaEngine(Part):
    """Data movement between the SSD's DRAM and its PCIe link."""

    setup: Constant[Time]
    """Of one descriptor, one at a time."""
    slots: Constant[Positive]
    """Descriptors in flight."""
    descriptor: Constant[Size]
    """Largest transfer of one descriptor."""


class _Wire(Part):
    latency: Constant[Time]
    max_payload: Constant[Size]
    header: Constant[Size]
    """Framing, sequence number, header and CRC of a transaction-layer packet."""
    posted_headers: Constant[Positive]
    """Write packets for which a receiver has room."""
    posted_data: Constant[Size]
    """Data of write packets for which it has room."""


class Link(_Wire):
    """One PCIe link, alike in both directions, across which data is written."""

    rate: Constant[Bandwidth]
    """On the wire after line coding, headers included."""


class CardLink(_Wire):
    """One PCIe link across which data is written, with a rate of its own in each direction."""

    rate_up: Constant[Bandwidth]
    """Card to host, on the wire after line coding, headers included."""
    rate_down: Constant[Bandwidth]
    """Host to card."""


class ReadLink(Link):
    """One PCIe link across which the device also reads."""

    max_read_request: Constant[Size]
    read_completion: Constant[Size]
    """Payload of one completion packet of a read."""
    read_window: Constant[Size]
    """Bytes that the device may have asked for and not received."""


class Device(Part):
    """What all platform files have."""

    title: Text
    sources: dict[str, Text]
    """What each tag at the beginning of a constant's source stands for."""

    @model_validator(mode="after")
    def _sources_known(self) -> Self:
        for key, constant in constants(self):
            tag = constant.source.partition(":")[0]
            if constant.mark not in FREE_MARKS and tag not in self.sources:
                raise ValueError(
                    f"must name in sources what each {constant.mark} constant is from; "
                    f"{key} begins with {tag!r}"
                )
        return self


class SsdPlatform(Device):
    """An SSD."""

    part: Literal["ssd"]
    nand: Nand
    flash: FlashArray
    cells: Cells
    page_format: PageFormat
    firmware: Firmware
    nvme: Nvme
    dma: DmaEngine
    dram_rate: Constant[Bandwidth]
    pcie: ReadLink


class FpgaDram(Part):
    """The card's DRAM; names as in ``rtl.contract.dram``."""

    banks: Constant[Positive]
    groups: Constant[Positive]
    row: Constant[Size]
    t_beat: Constant[Time]
    t_ccd_l: Constant[Time]
    t_cl: Constant[Time]
    t_cwl: Constant[Time]
    t_rcd: Constant[Time]
    t_rp: Constant[Time]
    t_ras: Constant[Time]
    t_rtp: Constant[Time]
    t_wr: Constant[Time]
    t_rrd: Constant[Time]
    t_rrd_l: Constant[Time]
    t_faw: Constant[Time]
    t_wtr_s: Constant[Time]
    t_wtr_l: Constant[Time]
    t_rtw: Constant[Time]
    t_refi: Constant[Time]
    t_rfc: Constant[Time]
    t_controller: Constant[Time]
    turn: Constant[Positive]
    """Accesses in one direction before the other has its turn."""
    reorder: Constant[NotNegative]
    """Accesses of other AXI IDs that one may pass."""


class FpgaPlatform(Device):
    """An FPGA card with the gather unit, beside an SSD on one PCIe switch."""

    part: Literal["fpga"]
    clock: Constant[Frequency]
    window: Constant[Size]
    """Of the card's DRAM, reachable by peers."""
    lanes: Constant[Positive]
    """Of the gather unit."""
    outstanding_reads: Constant[Positive]
    """Reads of ids in flight, of all lanes together."""
    result_words: Constant[Positive]
    """Words of 64 bits that the gather unit gives in a clock at most."""
    stage_slots: Constant[Positive]
    stage_slot: Constant[Size]
    kernel_launch: Constant[Time]
    """Host software of one launch of the gather unit."""
    card_copy: Constant[Time]
    """Host software of one copy between host and card."""
    hops: HopLogic
    dram: FpgaDram
    p2p: Link
    pcie: CardLink


class HostPlatform(Device):
    """CPU costs of the host's half of each system."""

    part: Literal["host"]
    submit: Constant[Time]
    """One NVMe command: system call, block layer or ioctl, queue entry, PRPs."""
    interrupt: Constant[Time]
    """One interrupt."""
    complete: Constant[Time]
    """One completion entry."""
    key: Constant[Time]
    """The key of one list."""
    draw: Constant[Time]
    """One position."""
    compare: Constant[Time]
    """One comparison of a drawn position with an earlier one, where none may come twice."""
    build_target: Constant[Time]
    """One target's row pointers, and its body entry or descriptor."""
    map_block: Constant[Time]
    """The block of one position, and its place in the card's window."""
    parse_target: Constant[Time]
    """One target's count in a result."""
    parse_id: Constant[Time]
    """One id of a result."""


Platform = SsdPlatform | FpgaPlatform | HostPlatform
