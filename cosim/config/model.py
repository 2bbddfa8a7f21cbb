"""Configuration of a run: systems (what), engine (who simulates it) and run (on what), apart."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from cosim.config.own import OwnFlashChannel, OwnGather
from cosim.config.part import Items, Part
from cosim.config.platform import FpgaPlatform, HostPlatform, SsdPlatform
from cosim.config.quantities import Size, SizeOrShare

__all__ = [
    "Background",
    "Config",
    "Engine",
    "FirmwareCsd",
    "FpgaCsd",
    "Graph",
    "PlatformNames",
    "Platforms",
    "Run",
    "System",
    "Trace",
]


def _text_or_integer(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int):
        found = str(value).lower() if isinstance(value, bool) else repr(value)
        raise ValueError(f"must be text, such as '25 us', or an integer, not {found}")
    return value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Count = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
FanOut = Annotated[int, Field(ge=1, le=65_535)]
WalkLength = Annotated[int, Field(ge=1, le=1024)]
Word32 = Annotated[int, Field(ge=0, lt=2**32)]
Override = Annotated[str | int, BeforeValidator(_text_or_integer)]
ROOTS_A_COMMAND = 1024
Word64 = Annotated[int, Field(ge=0, lt=2**64)]


class Background(Part):
    """Ordinary reads and writes of another process on the same SSD.

    They are of a synthetic mix, or those of a block ``trace``.
    """

    reads_in_flight: NotNegative = 0
    """Reads outstanding at once, at random places of the edge lists."""
    writes_in_flight: NotNegative = 0
    """Writes outstanding at once, at random places of ``write_area``."""
    size: Size | None = None
    """Of each, in whole logical blocks."""
    trace: str | None = None
    """A file in MQSim's form, whose requests arrive when it says so."""
    beyond: Literal["wrap", "refuse"] | None = None
    """What becomes of its requests beyond their area; ``wrap`` where it is absent."""
    write_area: Size | None = None
    """Of the blocks behind the edge lists to which writes go."""
    seed: Word64
    """Of places and of what is written."""

    @model_validator(mode="after")
    def _something(self) -> "Background":
        if self.trace is not None:
            if self.reads_in_flight + self.writes_in_flight or self.size is not None:
                raise ValueError(
                    "must have no reads_in_flight, writes_in_flight or size beside a trace"
                )
            return self
        if self.beyond is not None:
            raise ValueError("must have beyond only beside a trace")
        if self.size is None:
            raise ValueError("must give the size of each command, or a trace")
        if not self.reads_in_flight + self.writes_in_flight:
            raise ValueError("must have reads_in_flight or writes_in_flight above 0, or a trace")
        if (self.write_area is None) != (self.writes_in_flight == 0):
            raise ValueError("must give write_area exactly if writes_in_flight is above 0")
        return self


class _SystemBase(Part):
    name: Name = ""
    """What results call it; its kind where it is absent."""
    positions: Literal["host", "device"] = "host"
    """Who draws the positions to take from each list."""
    page_buffer: SizeOrShare | None = None
    """Size of the SSD's page buffer, or its share of the edge list array; else the platform's."""
    whole_page: bool = True
    """Flash reads fetch whole pages, as Cosmos+ does; else the codeword pairs that are needed."""
    background: Background | None = None
    """What else the SSD has to do; nothing where it is absent."""
    flash_channel: OwnFlashChannel | None = None
    """The user's RTL in place of the flash-channel controllers."""

    @model_validator(mode="before")
    @classmethod
    def _name_after_kind(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data and "kind" in data:
            return {**data, "name": data["kind"]}
        return data


class FirmwareCsd(_SystemBase):
    """Sampling on the SSD's embedded cores."""

    kind: Literal["firmware-csd"]
    coalescing: Count = ROOTS_A_COMMAND
    """Root targets whose lists go into one NVMe command of a hop."""
    hops: Literal["host", "device"] = "host"
    """Who goes from hop to hop: the host, a command a hop, or the firmware, one a mini-batch."""
    row_pointers: Literal["dram", "flash"] = "dram"
    """Where the firmware finds row pointers: in the SSD's DRAM, or on its flash."""

    @model_validator(mode="after")
    def _device_draws(self) -> "FirmwareCsd":
        if self.hops == "host" and self.row_pointers != "dram":
            raise ValueError("must not give row_pointers: flash where hops is host")
        if self.hops == "device" and self.positions != "device":
            raise ValueError("must give positions: device where hops is device")
        if self.hops == "device" and self.coalescing != ROOTS_A_COMMAND:
            raise ValueError("must not give coalescing where hops is device")
        return self


class FpgaCsd(_SystemBase):
    """Sampling in the gather unit, behind a peer-to-peer copy of the blocks that hold the lists."""

    kind: Literal["fpga-csd"]
    launch: Literal["single", "ring"] = "single"
    """How a round's descriptors are started: a kernel launch, or the doorbell of a ring."""
    reads_in_flight: Count = 32
    """Peer-to-peer block reads outstanding at once."""
    whole_lists: bool = False
    """Whole lists are read where the host draws, too; where the device draws they always are."""
    read_counters: bool = False
    """The host reads the gather unit's counters over PCIe when the trace is over; else they are
    taken from the simulation, which costs no time."""
    unique_blocks: bool = True
    """Read a block that several positions of a hop need once."""
    gather: OwnGather | None = None
    """The user's RTL in place of the gather core."""
    hops: Literal["host", "device"] = "host"
    """Who goes from hop to hop. ``device`` is hypothetical: the card has the row pointers in its
    DRAM and an NVMe queue pair of its own, which today's SmartSSD cannot have."""

    @model_validator(mode="after")
    def _device_draws(self) -> "FpgaCsd":
        if self.hops == "device" and self.positions != "device":
            raise ValueError("must give positions: device where hops is device")
        if self.hops == "device" and self.launch != "single":
            raise ValueError("must not give launch: ring where hops is device")
        return self


System = Annotated[FirmwareCsd | FpgaCsd, Field(discriminator="kind")]


class Engine(Part):
    """Who executes the RTL. No key of it changes any result."""

    name: Literal["verilator", "icarus"] = "verilator"
    stop_clocks: bool = True
    """Clocks of units that wait stand still."""
    waves: bool = False
    """Keep waveforms in the run folder."""


class Graph(Part):
    """The graph file, relative to the configuration file."""

    file: Annotated[str, StringConstraints(min_length=1)]
    direction: Literal["out", "in", "both"] = "out"
    """Whose list an edge u to v enters."""
    id_bytes: Literal[4, 8] = 8
    """Width of an id on flash."""


class Trace(Part):
    """The mini-batches: drawn from a seed, or read from a file."""

    file: str | None = None
    """A trace file, relative to the configuration file; then none of the other keys is given."""
    batches: Count | None = None
    targets: Count | None = None
    """Root targets a mini-batch."""
    fan_outs: Annotated[Items[FanOut], Field(min_length=1)] | None = None
    """Neighbours to sample a target, hop by hop."""
    sampling: Literal["with-replacement", "without-replacement", "random-walk"] | None = None
    """How neighbours are chosen; with replacement where absent."""
    walk_length: WalkLength | None = None
    """Steps of each random walk; it takes the place of ``fan_outs``."""
    seed: Word64 | None = None

    @model_validator(mode="after")
    def _file_or_seed(self) -> "Trace":
        length = "walk_length" if self.sampling == "random-walk" else "fan_outs"
        drawn = {"batches", "targets", length, "seed"}
        known = {*drawn, "sampling", "walk_length", "fan_outs"}
        given = {key for key in known if getattr(self, key) is not None}
        if self.file is not None and given:
            raise ValueError(f"must not give {', '.join(sorted(given))} beside file")
        if self.file is None and drawn - given:
            missing = ", ".join(sorted(drawn - given))
            raise ValueError(f"must give {missing}, or a file")
        other = given - drawn - {"sampling"}
        if self.file is None and other:
            mode = self.sampling or "with-replacement"
            raise ValueError(f"must not give {', '.join(other)} where sampling is {mode}")
        return self


class Run(Part):
    """On what the systems run."""

    graph: Graph
    trace: Trace
    out: Annotated[str, StringConstraints(min_length=1)]
    """The run folder, relative to where the command runs; it must not hold a run."""


class PlatformNames(Part):
    """Platforms by name, or files (``*.yaml``) relative to the configuration file."""

    ssd: str = "cosmos_plus"
    fpga: str = "smartssd"
    host: str = "host_xeon"


class Platforms(Part):
    """The platforms themselves, overrides included."""

    ssd: SsdPlatform
    fpga: FpgaPlatform
    host: HostPlatform


class Config(Part):
    """A whole configuration as it stands in a file."""

    platforms: PlatformNames = PlatformNames()
    platform_overrides: dict[str, Override] = Field(default_factory=dict)
    """Values of single constants, by key path: ``{ssd.nand.t_r: "25 us"}``."""
    systems: Annotated[Items[System], Field(min_length=1)]
    engine: Engine = Engine()
    run: Run

    @model_validator(mode="after")
    def _names_differ(self) -> "Config":
        names = [system.name for system in self.systems]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"systems must have different names, not {name!r} twice")
        return self
