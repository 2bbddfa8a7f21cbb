"""The main job: several systems on one trace, each in a simulator of its own, one run folder."""

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Event

from cosim.card_hops import ENTRY_BYTES
from cosim.config.build import check_platforms, striping
from cosim.config.ftl_build import host_pages
from cosim.config.load import LoadedConfig, pack
from cosim.config.model import FpgaCsd, System
from cosim.config.part import nearest
from cosim.engines.build import Build, build
from cosim.engines.design import Design
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator, require
from cosim.errors import UserError
from cosim.own.find import OwnRtl, digests, find_own
from cosim.progress import NoProgress, Progress, read_progress
from cosim.results import RunResult, SystemResult, load_system
from cosim.run_folder import RunFolder, write_run
from cosim.systems.child import PROGRESS_FILE
from cosim.systems.design import machine_design
from cosim.systems.firmware_hops import check_firmware_hops
from cosim.systems.hops import has_hops
from cosim.systems.inputs import Inputs, load_inputs
from host.hop_window import HopWindow
from rtl.contract import gather, ns_config
from rtl.contract.sampling import Sampling

__all__ = ["compare"]

POLL_S = 0.2
PS_PER_MS = 10**9


def compare(
    loaded: LoadedConfig,
    *,
    engine: str | None = None,
    out: Path | None = None,
    systems: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Run systems on the configuration's trace and return the run folder.

    ``engine``, ``out`` and ``systems`` take the place of what the configuration says. All input
    is checked before a simulation starts; the folder appears when everything is in it.

    Raises
    ------
    UserError, InputError
        For bad input, a missing simulator, or an output folder that is taken.
    SimulationFailed
        If a system could not be simulated to its end.
    SubgraphsDiffer
        If a system sampled something else than the reference.
    """
    progress = progress or NoProgress()
    loaded = _choose(loaded, engine, systems)
    config = loaded.config
    simulator = Simulator(config.engine.name)
    require(simulator)
    check_platforms(loaded.platforms, config.systems)
    owns = {system.name: find_own(loaded, system) for system in config.systems}
    designs = _designs(loaded, owns)
    progress.begin("Reading graph and trace")
    inputs = load_inputs(loaded)
    _check_fits(loaded, inputs)
    folder = RunFolder(Path(config.run.out) if out is None else out)
    with folder:
        progress.begin(f"Building the RTL for {simulator} (kept for the next run)")
        builds = {
            name: build(design, simulator, waves=config.engine.waves)
            for name, design in designs.items()
        }
        total = len(config.systems) * len(inputs.trace.batches)
        progress.begin(f"Simulating {total} mini-batches", total)
        results = _simulate(builds, loaded, inputs.sha256, folder, progress)
        progress.begin("Writing results")
        run = RunResult(
            engine=str(simulator),
            trace_sha256=inputs.trace.sha256,
            reference_sha256=inputs.reference_sha256,
            systems=tuple(results),
        )
        write_run(
            folder.partial, loaded, run, inputs.trace, digests(owns), inputs.background_sha256
        )
    return folder.out


def _choose(
    loaded: LoadedConfig, engine: str | None, systems: Sequence[str] | None
) -> LoadedConfig:
    config = loaded.config
    chosen: tuple[System, ...] = config.systems
    if systems is not None:
        known = {system.name: system for system in config.systems}
        for name in systems:
            if name not in known:
                raise UserError(
                    f"{loaded.source.file}: systems must have {name!r}{nearest(name, known)}"
                )
        chosen = tuple(system for system in config.systems if system.name in systems)
    picked = config.engine
    if engine is not None:
        picked = picked.model_copy(update={"name": engine})
    return replace(loaded, config=config.model_copy(update={"engine": picked, "systems": chosen}))


def _designs(loaded: LoadedConfig, owns: Mapping[str, OwnRtl]) -> dict[str, Design]:
    """The design of each system; those with the same blocks of the user's share one."""
    made: list[tuple[OwnRtl, Design]] = []
    designs = {}
    for name, own in owns.items():
        known = [design for other, design in made if other == own]
        if not known:
            known = [machine_design(loaded.platforms, loaded.parts, own)]
            made.append((own, known[0]))
        designs[name] = known[0]
    return designs


def _check_fits(loaded: LoadedConfig, inputs: Inputs) -> None:
    """Refuse a graph that is too large for the flash, and fan-outs beyond the devices'."""
    ssd = loaded.platforms.ssd
    places = striping(ssd)
    room = host_pages(ssd, places) * ssd.nand.page.value
    if inputs.edge_bytes > room:
        raise UserError(
            f"{loaded.source.file}: run.graph must fit the flash array of {room} bytes, "
            f"not need {inputs.edge_bytes}"
        )
    if any(has_hops(system) for system in loaded.config.systems):
        _check_hops(loaded, inputs)
    check_firmware_hops(loaded, inputs)
    for system in loaded.config.systems:
        for batch in inputs.trace.batches:
            _check_mode(loaded, system, batch.sampling)
            limit = _fan_out_limit(system, batch.sampling)
            for hop, fan_out in enumerate(batch.fan_outs):
                if limit is not None and fan_out > limit[0]:
                    raise _fan_out_error(loaded, batch.index, hop, fan_out, limit)


def _check_mode(loaded: LoadedConfig, system: System, sampling: Sampling) -> None:
    """Refuse positions that the user's gather unit does not offer to draw, or to be given."""
    if not isinstance(system, FpgaCsd) or system.gather is None:
        return
    mode = "explicit"
    if system.positions == "device":
        mode = "draw_distinct" if sampling == Sampling.DISTINCT else "draw"
    if has_hops(system) and mode in system.gather.modes:
        mode = "explicit"  # row pointers are read so
    if mode not in system.gather.modes:
        raise UserError(
            f"{loaded.source.file}: {system.name}: gather.modes must have {mode} for "
            f"{sampling.value} with positions by the {system.positions}, "
            f"not {', '.join(system.gather.modes)}"
        )


def _check_hops(loaded: LoadedConfig, inputs: Inputs) -> None:
    """Refuse row pointers and frontiers that do not fit the FPGA card."""
    fpga = loaded.platforms.fpga
    try:
        HopWindow(fpga.window.value, inputs.graph.nodes)
    except ValueError as error:
        rule = str(error).removeprefix("window ")
        raise loaded.parts["fpga"].error(("window", "value"), rule) from None
    largest = max(
        max(len(subgraph.targets), *(len(hop.ids) for hop in subgraph.hops[:-1]), 0)
        for subgraph in inputs.reference
    )
    room = fpga.hops.frontier.value
    if ENTRY_BYTES * largest > room:
        rule = f"must hold {largest} nodes of {ENTRY_BYTES} bytes, of the largest hop, not {room}"
        raise loaded.parts["fpga"].error(("hops", "frontier", "value"), rule)


def _fan_out_limit(system: System, sampling: Sampling) -> tuple[int, str] | None:
    """Largest fan-out that a system samples so, and whose it is."""
    distinct = sampling == Sampling.DISTINCT and system.positions == "device"
    if not isinstance(system, FpgaCsd):
        limit = ns_config.MAX_DISTINCT, "the firmware's largest without replacement"
        return limit if distinct else None
    own = system.gather
    if distinct:
        most = gather.MAX_DISTINCT if own is None else own.max_distinct
        return most, "the gather unit's largest without replacement"
    most = gather.MAX_FAN_OUT if own is None else own.max_fan_out
    return most, "the gather unit's largest"


def _fan_out_error(
    loaded: LoadedConfig, batch: int, hop: int, fan_out: int, limit: tuple[int, str]
) -> UserError:
    rule = f"at most {limit[0]}, {limit[1]}, not {fan_out}"
    if loaded.config.run.trace.file is None:
        return loaded.source.error(("run", "trace", "fan_outs", hop), f"must be {rule}")
    place = f"batches[{batch}].fan_outs[{hop}]"
    return loaded.source.error(("run", "trace", "file"), f"must have {place} of {rule}")


def _simulate(
    builds: Mapping[str, Build],
    loaded: LoadedConfig,
    inputs_sha256: str,
    folder: RunFolder,
    progress: Progress,
) -> list[SystemResult]:
    """Run every system in a simulator process of its own, as many at once as there are cores.

    The first to fail ends all others, as does an interrupt.
    """
    systems = loaded.config.systems
    works = [folder.partial / f"work-{system.name}" for system in systems]
    described = {"loaded": pack(loaded), "inputs_sha256": inputs_sha256}
    stop = Event()

    def run(system: System, work: Path) -> SystemResult:
        work.mkdir()
        job = {**described, "system": system.name, "folder": str(work)}
        run_job(builds[system.name], "cosim.systems.child:run_system", job, work, stop=stop)
        return load_system(work)

    with ThreadPoolExecutor(min(len(systems), os.cpu_count() or 1)) as pool:
        try:
            jobs = [pool.submit(run, *pair) for pair in zip(systems, works, strict=True)]
            names = [system.name for system in systems]
            _watch(dict(zip(names, jobs, strict=True)), works, progress)
        except BaseException as error:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, SimulationFailed) and error.log is not None:
                kept = folder.keep_log(error.log)
                raise SimulationFailed(error.message, error.kind, kept) from None
            raise
        results = [job.result() for job in jobs]
    for system, work in zip(systems, works, strict=True):
        if builds[system.name].waves:
            waves = work / builds[system.name].waves_name
            waves.rename(folder.partial / f"{system.name}{waves.suffix}")
        shutil.rmtree(work)
    return results


def _watch(
    jobs: Mapping[str, "Future[SystemResult]"], works: Sequence[Path], progress: Progress
) -> None:
    """Tell of finished mini-batches, and how far the systems are that run, until all are done.

    The first failure is raised.
    """
    told = 0
    pending = set(jobs.values())
    while pending:
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
        reached = [read_progress(work / PROGRESS_FILE) for work in works]
        finished = sum(each.batches for each in reached)
        if finished > told:
            progress.advance(finished - told)
            told = finished
        progress.tell(
            ", ".join(
                f"{name} at {each.at_ps / PS_PER_MS:.3f} ms"
                for (name, job), each in zip(jobs.items(), reached, strict=True)
                if job in pending and each.at_ps
            )
        )
        for job in (job for job in jobs.values() if job in done):
            job.result()
