"""Judges the flash-channel controller of a configuration: ours, or the user's in its place."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cosim.config.load import LoadedConfig, pack
from cosim.conform.channel_job import CHANNEL_CASES, ChannelCase
from cosim.conform.chosen import chosen_cases, chosen_system
from cosim.conform.judge import FAILED, Outcome
from cosim.engines.build import Build, build
from cosim.engines.device import device_design
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator, require
from cosim.errors import UserError
from cosim.own.find import block_of
from cosim.systems.design import flash_array

__all__ = ["conform_channel"]

TIME_LIMIT_S = 600


def conform_channel(
    loaded: LoadedConfig,
    *,
    system: str | None = None,
    engine: str | None = None,
    pattern: str = "",
    out: Path = Path("build/conform"),
    waves: bool = False,
) -> Iterator[Outcome]:
    """Judge the controller of a system on one channel of its SSD, each case in its own simulation.

    Parameters and errors are those of :func:`cosim.conform.gather.conform_gather`; the engine is an
    HDL simulator.
    """
    chosen = chosen_system(loaded, system, "flash_channel")
    cases = chosen_cases(CHANNEL_CASES, pattern)
    name = loaded.config.engine.name if engine is None else engine
    if name == "amaranth":
        raise UserError("engine amaranth must not be chosen for a flash channel: it has HDL dies")
    simulator = Simulator(name)
    require(simulator)
    own = block_of(loaded, chosen, "flash_channel")
    array = flash_array(loaded.platforms.ssd, own, channels=1)
    built = build(device_design(array), simulator, waves=waves)
    return _judge(built, loaded, cases, out)


def _judge(
    built: Build, loaded: LoadedConfig, cases: list[ChannelCase], out: Path
) -> Iterator[Outcome]:
    ends: dict[str, Any] = {}
    for case in cases:
        folder = out / case.name
        result = folder.resolve() / "outcome.json"
        result.unlink(missing_ok=True)
        job = {"loaded": pack(loaded), "case": case.name, "result": str(result)}
        function = "cosim.conform.channel_job:play_channel"
        try:
            run_job(built, function, job, folder, time_limit_s=TIME_LIMIT_S)
        except SimulationFailed as error:
            yield Outcome(case.name, case.title, FAILED, f"did not run to its end: {error}")
            continue
        told = json.loads(result.read_text())
        ends[case.name] = told["ends"]
        outcome = Outcome(**told["outcome"])
        yield _same_times(outcome, ends)


def _same_times(outcome: Outcome, ends: dict[str, Any]) -> Outcome:
    """Refuse completions that come at other times where clocks do not stop."""
    stopped, running = ends.get("interleaved"), ends.get("running-clocks")
    if outcome.name != "running-clocks" or outcome.result == FAILED or stopped is None:
        return outcome
    for (what, stopped_ps), (_, running_ps) in zip(stopped, running or [], strict=False):
        if stopped_ps != running_ps:
            message = f"{what} must complete at {running_ps} ps as without stops, not {stopped_ps}"
            return replace(outcome, result=FAILED, message=message, at_ps=stopped_ps)
    return outcome
