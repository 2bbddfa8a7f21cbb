"""Frozen parameters of the SSD's firmware and of the hardware it drives.

Times are integers of picoseconds, sizes bytes, work core cycles. The values and their sources are
in the platform files; nothing here has a default that is a physical constant.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from firmware_model.flash_choice import FlashOrder
from firmware_model.ftl.geometry import FtlParameters
from firmware_model.replacement import POLICIES
from rtl.contract.nvme import PAGE_BYTES
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping

__all__ = [
    "MOST_IO_QUEUES",
    "CoreParameters",
    "DmaParameters",
    "FirmwareParameters",
    "NvmeParameters",
    "QueueRegisters",
    "Task",
]


class Task(StrEnum):
    """Task queues of the firmware. A core's polling loop looks at its own in this order."""

    FRONT_END = "front-end"
    """Fetches and decodes submission entries, posts completions."""
    ISP_CONTROL = "isp-control"
    """Fetches, checks and parses NS_config."""
    TRANSLATE = "translate"
    """Logical to physical address, look-up in the page buffer."""
    FLASH_ISSUE = "flash-issue"
    FLASH_COMPLETION = "flash-completion"
    GATHER = "gather"
    """Takes ids out of buffered pages."""
    WRITE_BACK = "write-back"
    """Orders the DMA of finished subgraphs."""
    BLOCK_IO = "block-io"
    """Orders the DMA of ordinary reads."""

    @property
    def queue_place(self) -> str:
        """Data object that the loop loads to see whether this queue has work."""
        device = self in (Task.FRONT_END, Task.FLASH_COMPLETION)
        return "registers" if device else "table"


MOST_IO_QUEUES = 16
"""The firmware's tables of queues have so many places."""


def _positive(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class CoreParameters:
    """One embedded core.

    Parameters
    ----------
    name : str
        Unit name in spans.
    kind : str
        What core it is, by the name of its table in ``costs/``.
    period_ps : int
        Clock period.
    issue_rate : Fraction
        Instructions a cycle that the core sustains while no load waits.
    load_ps : mapping of str to int
        Latency of a load by data object (``stack``, ``table``, ``page_buffer``, ``registers``).
        Stores are posted and cost their issue only.
    poll_cycles : int
        Cycles that the polling loop spends on one empty task queue, besides the load that shows
        that it is empty.

    Raises
    ------
    ValueError
        If a number is not positive.
    """

    name: str
    kind: str
    period_ps: int
    issue_rate: Fraction
    load_ps: Mapping[str, int]
    poll_cycles: int

    def __post_init__(self) -> None:
        _positive(self, "period_ps", "poll_cycles")
        for name in ("name", "kind"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        if self.issue_rate <= 0:
            raise ValueError(f"issue_rate must be positive, not {self.issue_rate!r}")
        for place, latency in self.load_ps.items():
            if not isinstance(latency, int) or latency < 1:
                raise ValueError(f"load_ps[{place!r}] must be a positive integer, not {latency!r}")
        object.__setattr__(self, "load_ps", MappingProxyType(dict(self.load_ps)))

    def load_cycles(self, place: str) -> int:
        """Cycles until a load's data is there; :exc:`KeyError` for an unknown data object."""
        if place not in self.load_ps:
            raise KeyError(f"Core {self.name} must have a load latency for {place!r}")
        return -(-self.load_ps[place] // self.period_ps)


@dataclass(frozen=True, kw_only=True)
class DmaParameters:
    """The DMA engine between the PCIe link and the SSD's DRAM.

    Parameters
    ----------
    setup_ps : int
        Time for which the engine's sequencer works on one descriptor, one at a time.
    slots : int
        Descriptors in flight.
    descriptor_bytes : int
        Largest transfer of one descriptor.
    """

    setup_ps: int
    slots: int
    descriptor_bytes: int

    def __post_init__(self) -> None:
        _positive(self, "setup_ps", "slots", "descriptor_bytes")


@dataclass(frozen=True, kw_only=True)
class NvmeParameters:
    """What the device says of itself.

    Parameters
    ----------
    namespace_blocks : int
        Size of namespace 1 in logical blocks of ``PageLayout.lba_bytes``.
    transfer_limit_bytes : int
        Largest data transfer of one command (MDTS).
    command_slots : int
        Commands that the device works on at a time.
    queue_entries : int
        Largest I/O queue (MQES + 1).
    io_queues : int
        I/O queues of each kind that admin commands can make, at most :data:`MOST_IO_QUEUES`.
    """

    namespace_blocks: int
    transfer_limit_bytes: int
    command_slots: int
    queue_entries: int
    io_queues: int = 8

    def __post_init__(self) -> None:
        _positive(self, *(field.name for field in fields(self)))
        if self.io_queues > MOST_IO_QUEUES:
            raise ValueError(f"io_queues must be at most {MOST_IO_QUEUES}, not {self.io_queues}")
        if self.transfer_limit_bytes % PAGE_BYTES:
            raise ValueError(
                f"transfer_limit_bytes must be a multiple of {PAGE_BYTES}, "
                f"not {self.transfer_limit_bytes}"
            )


@dataclass(frozen=True, kw_only=True)
class QueueRegisters:
    """One queue pair, as its owner has set it up: PCIe addresses, sizes in entries.

    ``vector`` is that of its interrupts; where it is None the owner sees entries come.

    Ref: NVMe 1.4, sections 3.1.22 ff. (queue sizes are at least 2, one entry stays free), 5.3.
    """

    number: int
    submission_address: int
    submission_entries: int
    completion_address: int
    completion_entries: int
    vector: int | None = 0

    def __post_init__(self) -> None:
        if not 0 <= self.number < 1 << 16:
            raise ValueError(f"number must be in 0 to 65535, not {self.number!r}")
        for name in ("submission_entries", "completion_entries"):
            value = getattr(self, name)
            if not 2 <= value <= 1 << 16:
                raise ValueError(f"{name} must be in 2 to 65536, not {value!r}")
        for name in ("submission_address", "completion_address"):
            value = getattr(self, name)
            if value < 0 or value % PAGE_BYTES:
                raise ValueError(f"{name} must be aligned to {PAGE_BYTES} bytes, not {value:#x}")


@dataclass(frozen=True, kw_only=True)
class FirmwareParameters:
    """Everything that the SSD's side of the system is made of, but its flash channels.

    Parameters
    ----------
    cores : tuple of CoreParameters
        At least one, with different names.
    binding : mapping of Task to str
        The core of every task.
    layout : PageLayout
        Columns of a flash page.
    striping : Striping
        Where logical pages lie.
    nvme, dma : NvmeParameters, DmaParameters
        Front end and DMA engine.
    dram_bytes_per_second : int
        Bandwidth of the SSD's DRAM, shared by flash and DMA.
    page_buffer_pages : int
        Frames of the page buffer.
    page_buffer_policy : str
        Which page leaves it, one of :data:`~firmware_model.replacement.POLICIES`.
    page_jobs : int
        Page reads and gathers that the firmware keeps track of at a time.
    subgraph_buffer_bytes : int
        Room for pending subgraphs; a larger result is refused.
    hop_targets_bytes : int
        Room for the targets of hops that the firmware chains; a hop with more is refused.
    row_pointer_pages : int
        Frames of the page buffer for row pointers on flash.
    body_pieces_ahead : int
        DMA descriptors of an NS_config body that are in flight before they are parsed.
    list_pages : int
        Further segment list pages that one command may chain.
    sampling_whole_page, block_read_whole_page : bool
        Whether sampling (ordinary reads) brings whole flash pages into the buffer, or only the
        codeword pairs from the first to the last one that is needed.
    read_retries : int
        Read levels beside 0 at which a page that cannot be corrected is read again.
    flash_order : FlashOrder
        Which of the commands that wait for a channel is its next one.
    ftl : FtlParameters, optional
        The translation layer of a device that can be written; without it pages lie where the
        striping puts them.

    Raises
    ------
    ValueError
        If a number is not positive, the policy is unknown, a task has no core, a core is named
        twice, or the namespace is larger than the flash array.
    """

    cores: tuple[CoreParameters, ...]
    binding: Mapping[Task, str]
    layout: PageLayout
    striping: Striping
    nvme: NvmeParameters
    dma: DmaParameters
    dram_bytes_per_second: int
    page_buffer_pages: int
    page_jobs: int
    subgraph_buffer_bytes: int
    page_buffer_policy: str = "lru"
    hop_targets_bytes: int = 1 << 20
    row_pointer_pages: int = 4
    body_pieces_ahead: int = 2
    list_pages: int = 64
    sampling_whole_page: bool = True
    block_read_whole_page: bool = True
    read_retries: int = 0
    flash_order: FlashOrder = field(default_factory=FlashOrder)
    ftl: FtlParameters | None = None

    def __post_init__(self) -> None:
        numbers = [field.name for field in fields(self) if field.type is int]
        _positive(self, *(name for name in numbers if name != "read_retries"))
        if self.read_retries < 0:
            raise ValueError(f"read_retries must not be negative, not {self.read_retries}")
        if self.page_buffer_policy not in POLICIES:
            raise ValueError(
                f"page_buffer_policy must be one of {', '.join(POLICIES)}, "
                f"not {self.page_buffer_policy!r}"
            )
        names = [core.name for core in self.cores]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"cores must be at least one, with different names, not {names}")
        binding = {Task(task): name for task, name in self.binding.items()}
        for task in Task:
            if binding.get(task) not in names:
                raise ValueError(
                    f"binding[{task.value!r}] must be one of {', '.join(names)}, "
                    f"not {binding.get(task)!r}"
                )
        object.__setattr__(self, "binding", MappingProxyType(binding))
        blocks = self.striping.pages * self.layout.lbas
        if self.nvme.namespace_blocks > blocks:
            raise ValueError(
                f"nvme.namespace_blocks must be at most the {blocks} of the flash array, "
                f"not {self.nvme.namespace_blocks}"
            )
