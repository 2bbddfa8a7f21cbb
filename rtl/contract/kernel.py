"""The seam between the models and the co-simulation kernel: causes, spans, resources.

``host`` and ``firmware_model`` take a :class:`Kernel` in their constructors and never import
``cosim``. Every interval of simulated time they spend is recorded as a span that names its cause.
"""

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, Protocol

__all__ = [
    "BACKGROUND_REQUEST",
    "CARD_QUEUE_BASE",
    "P2P_BASE",
    "BusError",
    "Cause",
    "DevicePort",
    "FlashPort",
    "FlashResult",
    "FpgaPort",
    "HopPort",
    "HostMemory",
    "HostPort",
    "Kernel",
    "PageRead",
    "Resource",
    "latest",
]

BACKGROUND_REQUEST = 0xFFFF_FFFF
"""Number of the request to which spans of a background load belong; mini-batches count from 1."""

P2P_BASE = 1 << 40
"""PCIe address of the FPGA card's DRAM window; all below it is host memory."""

CARD_QUEUE_BASE = 1 << 41
"""PCIe address from which on a card's own NVMe queues lie, where it has some."""


class Cause(NamedTuple):
    """What released the next step: span ``span``, at ``at_ps`` (its end, or its first word)."""

    at_ps: int
    span: int


def latest(causes: Iterable[Cause]) -> Cause:
    """The last finisher of a join; among those that finish together, the lowest span number."""
    return max(causes, key=lambda cause: (cause.at_ps, -cause.span))


class Resource(Protocol):
    """Something that ``capacity`` users at a time can hold, first come first served."""

    name: str

    def use(
        self,
        stage: str,
        duration_ps: int,
        cause: Cause,
        *,
        request: int = 0,
        payload_bytes: int = 0,
        overhead_bytes: int = 0,
        kind: str = "",
    ) -> Generator[Any, Any, Cause]:
        """Wait for a turn, hold it for ``duration_ps``, record the span, return it as a cause.

        If there was no wait the span's cause is ``cause``, whose ``at_ps`` must be now; after a
        wait it is the span that released the resource.
        """


class Kernel(Protocol):
    """Simulated time, spans and resources of one run."""

    env: Any
    """The ``simpy.Environment``; integers of picoseconds.

    Its ``call(act, argument, delay_ps)`` lets a call happen as if it were an event: it comes after
    all that is due by then already. Its ``is_next()`` says whether what would be scheduled now,
    without a delay, would happen next, so that who has nothing else to do now can as well do it at
    once.
    """

    def resource(self, name: str, capacity: int = 1) -> Resource:
        """Make a named resource whose waits keep their causes."""

    def record(
        self,
        unit: str,
        stage: str,
        start_ps: int,
        end_ps: int,
        cause: Cause,
        *,
        request: int = 0,
        ready_ps: int | None = None,
        payload_bytes: int = 0,
        overhead_bytes: int = 0,
        kind: str = "",
        span: int | None = None,
    ) -> Cause:
        """Record a span that has ended and return it as a cause (at its end).

        ``cause.at_ps`` must equal ``start_ps``: a gap is an error, raised here. ``ready_ps`` is
        when the work was asked for (``start_ps`` if absent). ``span`` is a number taken with
        :meth:`reserve` by a span that released others before it ended.
        """

    def reserve(self) -> int:
        """Take the next span number."""

    def origin(self, unit: str, stage: str) -> Cause:
        """Record a span of no length and no cause, now: the start of everything that follows."""


class FlashResult(NamedTuple):
    """A finished flash command.

    ``data`` is what came over the bus, parity included; ``slot`` the landing slot that it lies in,
    to be given back, or -1 if nothing came. ``status`` is a ``ChannelStatus``, ``nand_status`` the
    last status byte read for the command (0 if there was none), ``failed`` counts codewords that
    could not be corrected, at most 255.
    """

    data: bytes
    status: int
    corrected: int
    slot: int
    cause: Cause
    nand_status: int = 0
    failed: int = 0


PageRead = FlashResult
"""The result of a read."""


class FlashPort(Protocol):
    """All flash channels of the device."""

    channels: int
    ways: int
    luns: int
    slots: int
    """Landing slots of a channel, and launch slots."""

    def read(
        self,
        channel: int,
        way: int,
        lun: int,
        row: int,
        column: int,
        length: int,
        cause: Cause,
        *,
        request: int = 0,
    ) -> Any:
        """Hand a read over now; the SimPy event returned has a :class:`PageRead` as its value.

        As :meth:`submit`, with ``ChannelOperation.READ``.
        """

    def submit(
        self,
        channel: int,
        operation: int,
        way: int,
        lun: int,
        cause: Cause,
        *,
        row: int = 0,
        column: int = 0,
        length: int = 0,
        data: bytes = b"",
        is_raw: bool = False,
        request: int = 0,
    ) -> Any:
        """Hand a command over; the SimPy event returned has a :class:`FlashResult` as its value.

        ``operation`` is a ``ChannelOperation``; ``row`` is also where those with one cycle of
        address take it from. ``data`` is what goes to the die, of operations that send some: it
        waits in a launch slot, and where none is free the command waits for one, and those of its
        LUN behind it. Data of pages, unless ``is_raw``, is whole codewords with their parity and
        FILL behind them, where the channel has an encoder. ``length`` counts the bytes that are to
        come from the die.

        At most ``COMMANDS_PER_LUN`` of ``rtl.contract.channel`` may be outstanding for a LUN;
        :exc:`RuntimeError` otherwise. ``cause.at_ps`` is now. :exc:`ValueError` if the operation
        needs data and there is none, takes none and there is some, or it does not fit a slot; if
        parity is not that of its chunks, or what is behind the codewords is not FILL.
        """

    def free(self, channel: int, slot: int, cause: Cause) -> None:
        """Give a landing slot back; ``cause`` (now) is the span that took its data out."""


class DevicePort(Protocol):
    """The PCIe world as the SSD sees it."""

    def read(
        self, address: int, length: int, cause: Cause, *, request: int = 0, kind: str = "data"
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """DMA read of host memory: a request up, completions down, round trip included.

        Raises :exc:`BusError` where the address is not host memory.
        """

    def write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str = "data"
    ) -> Generator[Any, Any, Cause]:
        """DMA write to host memory, or peer to peer to the FPGA card at ``P2P_BASE`` and above.

        Writes to host memory are posted: returns when the last byte has left; it arrives later,
        before anything that is sent after it. A peer-to-peer write returns when the card has
        acknowledged that its DRAM holds the data. Raises :exc:`BusError` as above.
        """

    def interrupt(self, cause: Cause, *, request: int = 0, vector: int = 0) -> None:
        """Send a completion interrupt (MSI-X, a posted write); the host sees it later."""

    def next_doorbell(self) -> Any:
        """SimPy event; its value is (offset, value, Cause) of the next doorbell write to arrive."""


class HostMemory(Protocol):
    """Byte-addressed host DRAM, sparse; zero where never written."""

    def allocate(self, length: int, alignment: int = 4096) -> int:
        """Reserve ``length`` bytes and return their address (never 0).

        :exc:`ValueError` if ``length`` is not positive or ``alignment`` not a power of two,
        :exc:`MemoryError` if the address space is used up.
        """

    def release(self, address: int) -> None:
        """Give an allocation back; its bytes can no longer be reached by DMA.

        :exc:`ValueError` if none begins at ``address``.
        """

    def load(self, address: int, length: int) -> bytes:
        """Bytes of a range; :exc:`BusError` unless one live allocation holds all of it."""

    def store(self, address: int, data: bytes) -> None:
        """Overwrite a range; :exc:`BusError` as from :meth:`load`."""


class HostPort(Protocol):
    """The SSD as the host sees it."""

    memory: HostMemory

    def doorbell(
        self, offset: int, value: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Posted 32-bit write to the device's BAR; returns when the store has left the core."""

    def next_interrupt(self, vector: int = 0) -> Any:
        """SimPy event; its value is the Cause of the vector's next interrupt to arrive."""


class CardRings(Protocol):
    """The card's descriptor rings as the host sees them; see ``rtl.contract.gather_rings``."""

    def write(
        self, offset: int, value: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Posted write of a register; returns when it has left the host."""

    def doorbell(
        self, ring: int, tail: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Have the descriptors before ``tail`` sampled: launch software, then a posted write."""

    def next_interrupt(self) -> Any:
        """SimPy event; its value is (INTERRUPT_CAUSE, Cause) of the next interrupt to arrive."""

    def read_entry(
        self, address: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Read the completion entry at ``address`` of the window across the link."""

    def results(self, ring: int, first: int, count: int) -> Any:
        """Handle, for ``FpgaPort.fetch``, of ``count`` result words from the ``first`` one on.

        They are counted since the ring was enabled; only what was not told to be taken is there.
        """


class FpgaPort(Protocol):
    """The FPGA card as the host sees it. Addresses are bytes within its DRAM window."""

    rings: CardRings | None
    window_bytes: int
    p2p_base: int
    """PCIe address of the window: what an NVMe read's PRPs point to, plus an offset."""

    def write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str = "descriptor"
    ) -> Generator[Any, Any, Cause]:
        """Copy host to card; address and length are multiples of 64 bytes."""

    def launch(
        self, descriptor_address: int, count: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, "tuple[int, Any, Cause]"]:
        """Start the gather unit and wait for it: (GatherStatus, handle of the results, Cause)."""

    def abort(self, cause: Cause, *, request: int = 0) -> Generator[Any, Any, Cause]:
        """Have the running launch given up; its end, with ABORTED, comes to who launched it."""

    def fetch(
        self, results: Any, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Copy the result words card to host: per target a ResultHeader, then 64-bit ids."""


class HopPort(Protocol):
    """The FPGA card as the host sees it, where the card goes from hop to hop by itself."""

    def sample(
        self, order: bytes, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, bytes, Cause]]:
        """One doorbell for an order: (answer, results, Cause); see ``rtl.contract.hops``.

        The card fetches the order and sends results, answer and an interrupt. Results of an order
        that failed are cut short.
        """


class BusError(Exception):
    """A DMA address that leads nowhere."""
