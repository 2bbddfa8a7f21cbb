"""How many page reads a second the frame carries: kernel, VPI and RTL, without any firmware."""

import json
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from cosim.bench.bench import Bench
from cosim.bench.measurement import measure_in_simulator, write_report
from cosim.bench.page import markdown_table
from cosim.config.build import bch_code, bus_phases, nand_part, period_ps
from cosim.config.flash_build import channel_options
from cosim.config.load import load_platform
from cosim.engines.build import build
from cosim.engines.device import FlashArray, device_design
from cosim.engines.tools import Simulator
from cosim.medium import IdArray
from rtl.contract.kernel import PageRead

__all__ = ["bench_decoders", "bench_frame", "decoder_table", "flash_array", "measure"]

Decoder = Literal["absent", "present"]

SEED = 1
CELLS_PAGES = 4096
"""Logical pages that hold data; reads are spread over them."""


def flash_array(platform: str, decoder: Decoder | None = None) -> FlashArray:
    """Shape of a platform's flash; ``decoder`` in place of what the platform says of it."""
    ssd = load_platform(platform)
    is_decoded = (decoder or ssd.flash.decoder.value) == "present"
    return FlashArray(
        part=nand_part(ssd),
        channels=ssd.flash.channels.value,
        ways=ssd.flash.ways.value,
        slots=ssd.flash.landing_slots.value,
        period_ps=period_ps(ssd.flash.clock.value),
        phases=bus_phases(ssd),
        code=bch_code(ssd) if is_decoded else None,
        **channel_options(ssd),
    )


def bench_frame(
    engine: str,
    json_path: Path | None = None,
    *,
    platform: str = "cosmos_plus",
    decoder: Decoder | None = None,
    pages: int = 512,
    serial_pages: int = 32,
) -> dict[str, Any]:
    """Measure whole-page reads of random pages, saturated and one at a time.

    ``decoder`` is as in :func:`flash_array`. Builds the RTL if needed (not counted). Returns, and
    writes to ``json_path``, pages per second of wall time and of simulated time for both.
    """
    array = flash_array(platform, decoder)
    program = build(device_design(array), Simulator(engine))
    job = {
        "platform": platform,
        "decoder": decoder,
        "pages": pages,
        "serial_pages": serial_pages,
    }
    report = {
        "engine": engine,
        "platform": platform,
        "decoder": "absent" if array.code is None else "present",
        **measure_in_simulator(program, "cosim.bench.frame:measure", job),
    }
    write_report(json_path, report)
    return report


def bench_decoders(
    engine: str, json_path: Path | None = None, *, rounds: int = 3, **options: Any
) -> dict[str, Any]:
    """Measure the frame with and without ECC decoders by turns, and what share of speed is left.

    Returns, and writes to ``json_path``, clock cycles per second of processor time with and
    without, saturated and one at a time (the best of ``rounds``), and their ratios. Other
    ``options`` are those of :func:`bench_frame`.
    """
    best: dict[str, dict[str, float]] = {"absent": {}, "present": {}}
    for _ in range(rounds):
        for decoder, rates in best.items():
            found = bench_frame(engine, decoder=cast(Decoder, decoder), **options)
            for name in ("saturated", "serial"):
                rates[name] = max(rates.get(name, 0), found[name]["cycles_per_cpu_s"])
    report: dict[str, Any] = {"engine": engine, "cycles_per_cpu_s": best}
    for name, without in best["absent"].items():
        report[f"{name}_ratio"] = round(best["present"][name] / without, 3)
    write_report(json_path, report)
    return report


def decoder_table(report: Mapping[str, Any]) -> str:
    """What :func:`bench_decoders` returns, as a table for a page."""
    rates = report["cycles_per_cpu_s"]
    head = ("reads", "without, cycles/s", "with", "ratio")
    rows = [
        (
            name,
            *(f"{rates[decoder][name]:,}" for decoder in ("absent", "present")),
            f"{report[f'{name}_ratio']:.2f}",
        )
        for name in rates["absent"]
    ]
    return markdown_table(head, rows)


async def measure(dut: Any, job: dict[str, Any]) -> None:
    """Run both measurements in the simulator and write their figures."""
    array = flash_array(job["platform"], job["decoder"])
    ssd = load_platform(job["platform"])
    bench = await Bench.start(dut, ssd, array, cached_pages=512)
    ids = np.random.default_rng(SEED).integers(
        0, 1 << 63, size=CELLS_PAGES * array.part.page_bytes // 8, dtype=np.uint64
    )
    bench.medium.load_extent(0, IdArray(ids, 8))
    reader = _Reader(bench)
    report = {}
    for name, pages, serial in (
        ("saturated", job["pages"], False),
        ("serial", job["serial_pages"], True),
    ):
        start, start_cpu = time.perf_counter(), time.process_time()
        start_ps, entered = int(bench.kernel.env.now), bench.engine.advances
        await bench.run(reader.read_all(pages, serial))
        wall_s, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
        simulated_ps = int(bench.kernel.env.now) - start_ps
        report[name] = {
            "pages": pages,
            "wall_s": round(wall_s, 3),
            "cpu_s": round(cpu_s, 3),
            "pages_per_wall_s": round(pages / wall_s, 1),
            "cycles_per_wall_s": round(simulated_ps / array.period_ps / wall_s),
            "cycles_per_cpu_s": round(simulated_ps / array.period_ps / cpu_s),
            "pages_per_simulated_s": round(pages * 10**12 / simulated_ps),
            "advances": bench.engine.advances - entered,
        }
    Path(job["result"]).write_text(json.dumps(report))


class _Reader:
    """Reads random pages and compares each with the cells."""

    def __init__(self, bench: Bench) -> None:
        self._kernel = bench.kernel
        self._port = bench.flash
        self._medium = bench.medium
        self._rng = np.random.default_rng(SEED)

    def read_all(self, pages: int, serial: bool) -> Generator[Any, Any, None]:
        """``pages`` reads: one at a time, or two outstanding for every LUN."""
        env = self._kernel.env
        order = [int(page) for page in self._rng.integers(0, CELLS_PAGES, size=pages)]
        if serial:
            yield from self._read_in_turn(order)
            return
        lists: dict[tuple[int, int, int], list[int]] = {}
        for page in order:
            place = self._medium.striping.physical(page)
            lists.setdefault((place.channel, place.way, place.lun), []).append(page)
        halves = [half for pages in lists.values() for half in (pages[::2], pages[1::2])]
        yield env.all_of([env.process(self._read_in_turn(half)) for half in halves])

    def _read_in_turn(self, pages: list[int]) -> Generator[Any, Any, None]:
        for page in pages:
            place = self._medium.striping.physical(page)
            length = self._port.layout.data_bytes
            cause = self._kernel.origin("bench", "bench.read")
            read: PageRead = yield self._port.read(
                place.channel, place.way, place.lun, place.row, 0, length, cause
            )
            if read.data != self._medium.stored(*place)[:length]:
                raise AssertionError(f"Page {page} must come back as it is in the cells")
            self._port.free(place.channel, read.slot, read.cause)
