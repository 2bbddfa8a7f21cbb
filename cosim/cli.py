"""The command ``csd-cosim``: parses, calls one function, prints its result."""

import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from cosim.bench.commands import bench_app
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
from cosim.conform.judge import FAILED, NOT_OFFERED, PASSED
from cosim.conservation import BytesLost
from cosim.engines.leash import end_with_parent
from cosim.engines.run import SimulationFailed
from cosim.errors import UserError
from cosim.progress_bar import ProgressBar
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
graph_app = typer.Typer(help="Graph files.", no_args_is_help=True)
trace_app = typer.Typer(help="Trace files.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
app.add_typer(graph_app, name="graph")
app.add_typer(trace_app, name="trace")

ConfigFile = Annotated[Path, typer.Argument(help="Configuration (YAML).", show_default=False)]
Block = Annotated[Literal["gather", "flash-channel"], typer.Argument(help="Which block.")]
RESULTS = {PASSED: "passed", FAILED: "failed", NOT_OFFERED: "not offered"}
Simulator = Annotated[
    Literal["verilator", "icarus"] | None,
    typer.Option(help="Who simulates the RTL; else the configuration's."),
]


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
    system: Annotated[
        str | None, typer.Option(help="Whose RTL the tests run on; else the first's.")
    ] = None,
) -> None:
    """Run your own cocotb tests on a configuration's RTL, with its firmware and host as objects."""
    from cosim.bench.run import run_tests

    failed = 0
    for test in run_tests(
        load_config(config), module, out,
        engine=engine, waves=waves, pattern=pattern, system=system,
    ):  # fmt: skip
        failed += bool(test.failure)
        typer.echo(f"{'FAIL' if test.failure else 'pass'}  {test.name}  {test.failure}".rstrip())
    if failed:
        raise typer.Exit(1)


@app.command("ports")
def show_ports(
    block: Block,
    config: Annotated[
        Path | None, typer.Option(help="Configuration whose platforms they are for.")
    ] = None,
    skeleton: Annotated[bool, typer.Option(help="As an empty Verilog module.")] = False,
    docs: Annotated[Path | None, typer.Option(help="Page whose tables are rewritten.")] = None,
) -> None:
    """The ports that RTL of your own needs to take the place of ours, and what their words hold."""
    from cosim.bench.page import rewrite_page
    from cosim.own.describe import block_tables
    from cosim.own.describe import skeleton as empty_module

    platforms = default_platforms() if config is None else load_config(config).platforms
    if skeleton:
        typer.echo(empty_module(block, platforms), nl=False)
        return
    tables = block_tables(block, platforms)
    if docs is not None:
        rewrite_page(docs, tables)
    typer.echo("\n".join(f"{name}\n\n{table}" for name, table in tables.items()), nl=False)


@app.command()
def conform(
    block: Block,
    config: ConfigFile,
    engine: Annotated[
        Literal["verilator", "icarus", "amaranth"] | None,
        typer.Option(help="Who simulates it; else the configuration's."),
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="Whose block; else the first that is not ours.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Gets log and waves.")] = Path("build/conform"),
    waves: Annotated[bool, typer.Option(help="Keep waveforms there.")] = False,
    pattern: Annotated[
        str, typer.Option("--filter", help="Regular expression that chooses cases.")
    ] = "",
) -> None:
    """Judge RTL of your own that takes the place of ours, by the benches that ours passes."""
    from cosim.conform.channel import conform_channel
    from cosim.conform.gather import conform_gather

    judge = conform_gather if block == "gather" else conform_channel
    results: Counter[str] = Counter()
    for outcome in judge(
        load_config(config), system=system, engine=engine, pattern=pattern, out=out, waves=waves
    ):
        results[outcome.result] += 1
        typer.echo(outcome)
    counts = (f"{results[each]} {word}" for each, word in RESULTS.items())
    typer.echo(f"{block}: {', '.join(counts)}")
    if results[FAILED]:
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
            typer.echo(f"{known}: {load_platform(known).title}")
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
            typer.echo(f"{known}: {load_part_file(known)[0].title}")
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
