"""The commands ``csd-cosim bench``."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cosim.bench.outputs import check_outputs
from cosim.bench.page import rewrite_page
from cosim.errors import UserError
from cosim.progress_bar import ProgressBar

__all__ = ["bench_app"]

bench_app = typer.Typer(
    help="Measure the simulation, flash, firmware, page buffer, gather unit and reads to the card.",
    no_args_is_help=True,
)

JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write the figures here.")]


@bench_app.command("frame")
def bench_frame(
    engine: Literal["verilator", "icarus"] = "verilator",
    json_file: JsonFile = None,
    decoder: Annotated[
        Literal["absent", "present", "both"] | None,
        typer.Option(help="Of the flash channels; else the platform's. Both: their ratio."),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Page whose table of both to bring up to date.")
    ] = None,
) -> None:
    """Flash pages per second of wall time through kernel and VPI, saturated and one by one."""
    from cosim.bench import frame

    if docs is not None and decoder != "both":
        raise UserError(f"--docs must go with --decoder both, not {decoder}")
    check_outputs(json_path=json_file, docs=docs, tables=["decoders"])
    figures: dict[str, Any]
    if decoder == "both":
        figures = frame.bench_decoders(engine, json_file)
        if docs is not None:
            rewrite_page(docs, {"decoders": frame.decoder_table(figures)})
    else:
        figures = frame.bench_frame(engine, json_file, decoder=decoder)
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
    programs: Annotated[
        str, typer.Option(help="Kinds of programs to measure, too; none if empty.")
    ] = "plain,cached,planes",
    pages: Annotated[int, typer.Option(help="Measured, of each channel.")] = 128,
    warm_up: Annotated[int, typer.Option(help="Pages of each channel before them.")] = 32,
    drain: Annotated[
        str | None, typer.Option(help="From a page's arrival until its slot is free; else none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of rows and contents.")] = 1,
) -> None:
    """Saturated page reads in simulated time: pages/s, and what each clock of the bus is for.

    Page programs, too: one channel, one LUN a way, whole pages.
    """
    from cosim.bench.flash_channel import cases
    from cosim.bench.flash_channel_command import run
    from cosim.bench.flash_program import program_cases

    rates_mts = _integers("--rates", rates)
    rates_per_s = None if rates_mts is None else [10**6 * rate for rate in rates_mts]
    programmed = program_cases(
        platform, kinds=programs.split(",") if programs else (), ways=ways, rates=rates_per_s
    )
    chosen = cases(
        platform,
        channels=_integers("--channels", channels),
        ways=ways,
        luns=_integers("--luns", luns) or (),
        lengths=_integers("--lengths", lengths),
        rates=rates_per_s,
    )
    with ProgressBar() as progress:
        table = run(
            chosen,
            programmed,
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


@bench_app.command("gather")
def bench_gather(
    engine: Literal["verilator", "icarus"] = "verilator",
    json_file: JsonFile = None,
    docs: Annotated[
        Path | None, typer.Option(help="Page whose tables to bring up to date.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw ids/s against reads in flight and lanes (PNG).")
    ] = None,
    platform: Annotated[str, typer.Option(help="FPGA platform.")] = "smartssd",
    outstanding: Annotated[
        str | None,
        typer.Option(help="Reads in flight before DRAM, as 16,32; else the platform's, /2, /4."),
    ] = None,
    descriptors: Annotated[int, typer.Option(help="Of each launch.")] = 512,
    seed: Annotated[int, typer.Option(help="Of lists, keys, positions and contents.")] = 1,
) -> None:
    """Random descriptors on the gather unit, before fast memory and before DRAM.

    A bare trace of the same ids' addresses through the same DRAM gives the bound.
    """
    from cosim.bench.gather import cases, sweep_cases
    from cosim.bench.gather_command import run

    reads = _integers("--outstanding", outstanding)
    chosen = cases(platform, outstanding=reads)
    with ProgressBar() as progress:
        text = run(
            chosen,
            json_path=json_file,
            docs=docs,
            plot=plot,
            swept=sweep_cases(platform, outstanding=reads),
            tell=progress.begin,
            engine=engine,
            descriptors=descriptors,
            seed=seed,
        )
    typer.echo(text, nl=False)


@bench_app.command("firmware")
def bench_firmware(
    json_file: JsonFile = None,
    docs: Annotated[
        Path | None, typer.Option(help="Page whose tables to bring up to date.")
    ] = None,
    platform: Annotated[str, typer.Option(help="SSD platform.")] = "cosmos_plus",
    reads: Annotated[int, typer.Option(min=1, help="16 KiB reads of the stream.")] = 2048,
    depth: Annotated[int, typer.Option(min=1, help="Of them at a time.")] = 128,
    targets: Annotated[int, typer.Option(min=1, help="Of the mini-batch.")] = 1024,
    fan_outs: Annotated[str, typer.Option(help="Neighbours to sample, hop by hop.")] = "25,10",
    nodes: Annotated[int, typer.Option(min=1, help="Of the graph, 28 neighbours each.")] = 10**6,
) -> None:
    """A stream of reads through the firmware, and its core time for each list of a mini-batch."""
    from cosim.bench.firmware_command import run

    _check_targets(targets, nodes)
    if reads < 2 * depth:
        raise UserError(f"--reads must be at least twice --depth, {2 * depth}, not {reads}")
    text = run(
        platform,
        json_path=json_file,
        docs=docs,
        reads=reads,
        depth=depth,
        targets=targets,
        fan_outs=_integers("--fan-outs", fan_outs) or (),
        nodes=nodes,
    )
    typer.echo(text, nl=False)


@bench_app.command("page-buffer")
def bench_page_buffer(
    json_file: JsonFile = None,
    docs: Annotated[Path | None, typer.Option(help="Page whose table to bring up to date.")] = None,
    platform: Annotated[str, typer.Option(help="SSD platform.")] = "cosmos_plus",
    batches: Annotated[int, typer.Option(min=1, help="Mini-batches, one after the other.")] = 4,
    targets: Annotated[int, typer.Option(min=1, help="Of each.")] = 1024,
    fan_outs: Annotated[str, typer.Option(help="Neighbours to sample, hop by hop.")] = "25,10",
    nodes: Annotated[int, typer.Option(min=1, help="Of the graph, 28 neighbours each.")] = 10**6,
) -> None:
    """Hit rates of the page buffer's policies by its size, on the pages of sampled lists."""
    from cosim.bench.page_buffer import run

    _check_targets(targets, nodes)
    text = run(
        platform,
        json_path=json_file,
        docs=docs,
        batches=batches,
        targets=targets,
        fan_outs=_integers("--fan-outs", fan_outs) or (),
        nodes=nodes,
    )
    typer.echo(text, nl=False)


@bench_app.command("p2p")
def bench_p2p(
    json_file: JsonFile = None,
    docs: Annotated[Path | None, typer.Option(help="Page whose table to bring up to date.")] = None,
    ssd: Annotated[str, typer.Option(help="SSD platform.")] = "smartssd_ssd",
    card: Annotated[str, typer.Option(help="FPGA platform.")] = "smartssd",
    largest: Annotated[
        int, typer.Option(min=4, help="KiB of the largest request; 131072 published.")
    ] = 131_072,
) -> None:
    """Reads from SSD to card, one after the other, by size, beside a SmartSSD's published ones."""
    from cosim.bench.p2p_command import run

    text = run(ssd, card, largest=largest << 10, json_path=json_file, docs=docs)
    typer.echo(text, nl=False)


def _integers(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UserError(f"{option} must be numbers separated by commas, not {text!r}") from None


def _check_targets(targets: int, nodes: int) -> None:
    if targets > nodes:
        raise UserError(f"--targets must be at most --nodes, {nodes}, not {targets}")
