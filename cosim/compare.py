"""The main job: several systems on one trace, each in a simulator of its own, one run folder."""

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from cosim.config.build import check_platforms, striping
from cosim.config.load import LoadedConfig
from cosim.config.model import System
from cosim.config.part import nearest
from cosim.engines.build import Build, build
from cosim.engines.run import run_job
from cosim.engines.tools import Simulator, require
from cosim.errors import UserError
from cosim.progress import NoProgress, Progress
from cosim.results import RunResult, SystemResult, load_system
from cosim.run_folder import RunFolder, write_run
from cosim.systems.child import PROGRESS_FILE
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs

__all__ = ["compare"]

POLL_S = 0.2


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
    progress.begin("Reading graph and trace")
    inputs = load_inputs(loaded)
    _check_fits(loaded, inputs.edge_bytes)
    folder = RunFolder(Path(config.run.out) if out is None else out)
    with folder:
        progress.begin(f"Building the RTL for {simulator} (kept for the next run)")
        built = build(machine_design(loaded.platforms), simulator, waves=config.engine.waves)
        total = len(config.systems) * len(inputs.trace.batches)
        progress.begin(f"Simulating {total} mini-batches", total)
        results = _simulate(built, loaded, folder.partial, progress)
        progress.begin("Writing results")
        run = RunResult(
            engine=str(simulator),
            trace_sha256=inputs.trace.sha256,
            reference_sha256=inputs.reference_sha256,
            systems=tuple(results),
        )
        write_run(folder.partial, loaded, run)
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


def _check_fits(loaded: LoadedConfig, edge_bytes: int) -> None:
    ssd = loaded.platforms.ssd
    places = striping(ssd)
    room = places.pages * ssd.nand.page.value
    if edge_bytes > room:
        raise UserError(
            f"{loaded.source.file}: run.graph must fit the flash array of {room} bytes, "
            f"not need {edge_bytes}"
        )


def _simulate(
    built: Build, loaded: LoadedConfig, folder: Path, progress: Progress
) -> list[SystemResult]:
    """Run every system in a simulator process of its own, as many at once as there are cores."""
    systems = loaded.config.systems
    works = [folder / f"work-{system.name}" for system in systems]
    for work in works:
        work.mkdir()
    with ThreadPoolExecutor(min(len(systems), os.cpu_count() or 1)) as pool:
        jobs = [
            pool.submit(_run_one, built, loaded, system, work)
            for system, work in zip(systems, works, strict=True)
        ]
        _watch(jobs, works, progress)
        results = [job.result() for job in jobs]
    for system, work in zip(systems, works, strict=True):
        if built.waves:
            waves = work / built.waves_name
            waves.rename(folder / f"{system.name}{waves.suffix}")
        shutil.rmtree(work)
    return results


def _run_one(built: Build, loaded: LoadedConfig, system: System, work: Path) -> SystemResult:
    job = {
        "config": str(Path(loaded.source.file).resolve()),
        "system": system.name,
        "folder": str(work),
    }
    run_job(built, "cosim.systems.child:run_system", job, work)
    return load_system(work)


def _watch(
    jobs: Sequence["Future[SystemResult]"], works: Sequence[Path], progress: Progress
) -> None:
    """Tell of finished mini-batches until all jobs are done or one has failed."""
    told = 0
    pending = set(jobs)
    while pending:
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
        files = [work / PROGRESS_FILE for work in works]
        finished = sum(file.stat().st_size for file in files if file.exists())
        if finished > told:
            progress.advance(finished - told)
            told = finished
        for job in done:
            job.result()
