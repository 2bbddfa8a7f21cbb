"""The command ``csd-cosim``: parses, calls one function, prints its result."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Annotated, Any, Literal, Self

import rich.progress
import typer
from rich.console import Console
from rich.table import Table

from cosim.config.load import (
    LoadedConfig,
    default_platforms,
    load_config,
    load_platform,
    platform_names,
)
from cosim.config.model import Config
from cosim.config.nand_file import load_part, load_part_file, part_names
from cosim.config.part import nearest
from cosim.config.platform import Device, constants
from cosim.conservation import BytesLost
from cosim.engines.leash import end_with_parent
from cosim.engines.run import SimulationFailed
from cosim.errors import UserError
from cosim.report.table import latency_table, ratio_sentence
from cosim.results import SubgraphsDiffer
from host.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="csd-cosim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(
    help="How fast the simulation is, and the simulated flash.", no_args_is_help=True
)
graph_app = typer.Typer(help="Graph files.", no_args_is_help=True)
trace_app = typer.Typer(help="Trace files.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
app.add_typer(graph_app, name="graph")
app.add_typer(trace_app, name="trace")

ConfigFile = Annotated[Path, typer.Argument(help="Configuration (YAML).", show_default=False)]
Simulator = Annotated[
    Literal["verilator", "icarus"] | None,
    typer.Option(help="Who simulates the RTL; else the configuration's."),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write the figures here.")]


class ProgressBar:
    """A bar on a terminal, lines elsewhere; both on the error stream."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.TaskProgressColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[where]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, total: int | None = None) -> None:
        if not self._console.is_terminal:
            self._console.print(f"{what} ...", highlight=False)
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=total, where="")

    def advance(self, units: int = 1) -> None:
        if self._task is not None:
            self._bar.advance(self._task, units)

    def tell(self, where: str) -> None:
        if self._task is not None:
            self._bar.update(self._task, where=where)


@app.callback()
def common(
    with_parent: Annotated[
        bool,
        typer.Option("--with-parent", help="Stop when whoever started this command ends (Linux)."),
    ] = False,
) -> None:
    """Co-simulation of computational storage devices that sample graph neighbourhoods."""
    if with_parent:
        end_with_parent(signal.SIGTERM)


@app.command()
def compare(
    config: ConfigFile,
    engine: Simulator = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder, new or empty; else the configuration's.")
    ] = None,
    systems: Annotated[
        str | None, typer.Option(help="Names of some systems, separated by commas; else all.")
    ] = None,
) -> None:
    """Run all systems on one trace, print where the time went, and leave a run folder."""
    from cosim.compare import compare as run

    loaded = load_config(config)
    chosen = None if systems is None else _names(systems, loaded)
    with ProgressBar() as progress:
        folder = run(loaded, engine=engine, out=out, systems=chosen, progress=progress)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    # The file is sorted by name; people read the order of the configuration.
    names = [system.name for system in loaded.config.systems if system.name in summary["systems"]]
    summary["systems"] = {name: summary["systems"][name] for name in names}
    console = Console()
    console.print(latency_table(summary))
    console.print(ratio_sentence(summary), highlight=False)
    console.print(f"Run folder: {folder} (begin with index.html)", highlight=False)


@app.command("cocotb")
def run_cocotb(
    config: ConfigFile,
    module: Annotated[Path, typer.Argument(help="Python file with cocotb tests.")],
    engine: Simulator = None,
    out: Annotated[Path, typer.Option(help="Gets a folder for each test.")] = Path("build/cocotb"),
    waves: Annotated[bool, typer.Option(help="Keep waveforms there.")] = False,
    pattern: Annotated[
        str, typer.Option("--filter", help="Regular expression that chooses tests.")
    ] = "",
) -> None:
    """Run your own cocotb tests on a configuration's RTL, with its firmware and host as objects."""
    from cosim.bench.run import run_tests

    failed = 0
    for test in run_tests(
        load_config(config), module, out, engine=engine, waves=waves, pattern=pattern
    ):
        failed += bool(test.failure)
        typer.echo(f"{'FAIL' if test.failure else 'pass'}  {test.name}  {test.failure}".rstrip())
    if failed:
        raise typer.Exit(1)


@app.command()
def schema(
    out: Annotated[Path | None, typer.Option(help="File to write; else standard output.")] = None,
) -> None:
    """JSON schema of configuration files, for editors."""
    _emit(json.dumps(Config.model_json_schema(), indent=2, sort_keys=True) + "\n", out)


@app.command("show-platform")
def show_platform(
    name: Annotated[
        str | None, typer.Argument(help="Platform or .yaml file; without it, all names.")
    ] = None,
) -> None:
    """All constants of a platform, with their sources."""
    if name is None:
        for known in platform_names():
            Console().print(f"{known}: {load_platform(known).title}", highlight=False)
        return
    _print_constants(name, load_platform(name))


@app.command("show-part")
def show_part(
    name: Annotated[
        str | None, typer.Argument(help="NAND part or .yaml file; without it, all names.")
    ] = None,
) -> None:
    """All constants of a NAND part, with their sources."""
    if name is None:
        for known in part_names():
            Console().print(f"{known}: {load_part_file(known)[0].title}", highlight=False)
        return
    load_part(name)
    _print_constants(name, load_part_file(name)[0])


@app.command()
def verilog(
    out: Annotated[Path, typer.Option(help="Folder for the Verilog files.")],
    config: Annotated[
        Path | None, typer.Option(help="Configuration whose platforms it is for; else the default.")
    ] = None,
) -> None:
    """Write the RTL of a device as Verilog."""
    from cosim.verilog import write_verilog

    platforms = default_platforms() if config is None else load_config(config).platforms
    for path in write_verilog(platforms, out):
        typer.echo(path)


@bench_app.command("frame")
def bench_frame(
    engine: Literal["verilator", "icarus"] = "verilator",
    json_file: JsonFile = None,
    decoder: Annotated[
        Literal["absent", "present"] | None,
        typer.Option(help="Of the flash channels; else the platform's."),
    ] = None,
) -> None:
    """Flash pages per second of wall time through kernel and VPI, saturated and one by one."""
    from cosim.bench.frame import bench_frame as bench

    figures: dict[str, Any] = bench(engine=engine, json_path=json_file, decoder=decoder)
    for name, value in figures.items():
        typer.echo(f"{name}: {value}")


@bench_app.command("flash-channel")
def bench_flash_channel(
    engine: Literal["verilator", "icarus"] = "verilator",
    json_file: JsonFile = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the bus time (PNG).")] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Page whose tables to bring up to date.")
    ] = None,
    platform: Annotated[str, typer.Option(help="SSD platform.")] = "cosmos_plus",
    channels: Annotated[str | None, typer.Option(help="As 1,8; else one, and all.")] = None,
    ways: Annotated[int | None, typer.Option(help="Of each channel; else the platform's.")] = None,
    luns: Annotated[str, typer.Option(help="LUNs a way; several are polled.")] = "1,2",
    lengths: Annotated[str | None, typer.Option(help="Bytes of a page to read.")] = None,
    rates: Annotated[str | None, typer.Option(help="MT/s; else the platform's, and twice.")] = None,
    pages: Annotated[int, typer.Option(help="Measured, of each channel.")] = 128,
    warm_up: Annotated[int, typer.Option(help="Pages of each channel before them.")] = 32,
    drain: Annotated[
        str | None, typer.Option(help="From a page's arrival until its slot is free; else none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of rows and contents.")] = 1,
) -> None:
    """Saturated page reads in simulated time: pages/s, and what each clock of the bus is for."""
    from cosim.bench.flash_channel import cases
    from cosim.bench.flash_channel_command import run

    rates_mts = _integers("--rates", rates)
    chosen = cases(
        platform,
        channels=_integers("--channels", channels),
        ways=ways,
        luns=_integers("--luns", luns) or (),
        lengths=_integers("--lengths", lengths),
        rates=None if rates_mts is None else [10**6 * rate for rate in rates_mts],
    )
    with ProgressBar() as progress:
        table = run(
            chosen,
            json_path=json_file,
            plot=plot,
            docs=docs,
            drain=drain,
            tell=progress.begin,
            engine=engine,
            pages=pages,
            warm_up_pages=warm_up,
            seed=seed,
        )
    typer.echo(table, nl=False)


@graph_app.command("info")
def graph_info(
    file: Path, direction: Annotated[Literal["out", "in", "both"], typer.Option()] = "out"
) -> None:
    """Size, degrees and content hash of a graph."""
    from host.formats.load import load_graph

    graph = load_graph(file, direction=direction).graph
    degrees = graph.degrees
    typer.echo(f"nodes: {graph.nodes}")
    typer.echo(f"edges: {graph.edges}")
    typer.echo(f"degree, mean: {graph.edges / graph.nodes:.2f}")
    typer.echo(f"degree, largest: {int(degrees.max())}")
    typer.echo(f"nodes without a list: {int((degrees == 0).sum())}")
    typer.echo(f"sha256: {graph.sha256}")


@graph_app.command("import")
def graph_import(
    file: Path,
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    direction: Annotated[
        Literal["out", "in", "both"], typer.Option(help="Whose list an edge u to v enters.")
    ],
) -> None:
    """Read an edge list or .npz, make ids dense, and save it as a memory-mapped graph."""
    from host.formats.load import load_graph

    imported = load_graph(file, direction=direction)
    imported.graph.save(out)
    typer.echo(f"{out}: {imported.graph.nodes} nodes, {imported.graph.edges} edges")


@trace_app.command("draw")
def trace_draw(
    config: ConfigFile,
    out: Annotated[Path, typer.Option(help="File to write (JSON).")],
) -> None:
    """Write a configuration's mini-batches to a file that ``trace.file`` can name."""
    from cosim.systems.inputs import load_inputs

    trace = load_inputs(load_config(config)).trace
    trace.save(out)
    typer.echo(f"{out}: {len(trace.batches)} mini-batches")


def _names(systems: str, loaded: LoadedConfig) -> tuple[str, ...]:
    known = [system.name for system in loaded.config.systems]
    names = tuple(filter(None, (name.strip() for name in systems.split(","))))
    if not names:
        raise UserError(f"--systems must name some of {', '.join(known)}, not {systems!r}")
    for name in names:
        if name not in known:
            raise UserError(
                f"--systems must name systems of {loaded.source.file}, "
                f"not {name!r}{nearest(name, known)}"
            )
    return names


def _print_constants(name: str, device: Device) -> None:
    console = Console()
    table = Table(title=f"{name}: {device.title}", title_justify="left", show_edge=False)
    for column in ("constant", "value", "mark", "source"):
        table.add_column(column, overflow="fold", no_wrap=column in ("value", "mark"))
    for key, constant in constants(device):
        value = constant.model_dump(mode="json")["value"]
        table.add_row(key, str(value), constant.mark, constant.source)
    console.print(table)
    for tag, meaning in device.sources.items():
        console.print(f"{tag}: {meaning}", highlight=False)


def _integers(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UserError(f"{option} must be numbers separated by commas, not {text!r}") from None


def _emit(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: must be writable: {error.strerror}") from None


class _Stopped(BaseException):
    """A signal asked the command to end."""


@contextmanager
def _stopped_by(*signals: signal.Signals) -> Iterator[None]:
    """Make signals an exception, so that all that is left is cleaned up; only the first counts."""

    def stop(number: int, frame: FrameType | None) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise _Stopped(number)

    before = {each: signal.signal(each, stop) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def main() -> None:
    """Run the command.

    Bad input is one line on the error stream and exit status 2; a simulation that failed is one
    line and status 1; so is a signal, Ctrl-C for one, with 128 and its number as a shell has it.
    """
    try:
        with _stopped_by(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            app()
    except _Stopped as stopped:
        (number,) = stopped.args
        name = signal.Signals(number).name
        typer.echo(f"csd-cosim: stopped by {name}; nothing of the run was kept", err=True)
        sys.exit(128 + number)
    except (UserError, InputError) as error:
        typer.echo(f"csd-cosim: {error}", err=True)
        sys.exit(2)
    except (BytesLost, SimulationFailed, SubgraphsDiffer) as error:
        typer.echo(f"csd-cosim: {error}", err=True)
        sys.exit(1)
