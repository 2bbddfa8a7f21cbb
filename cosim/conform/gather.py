# amaranth: UnusedElaboratable=no
# (A unit is made to know its ports, and only its block becomes hardware.)
"""Judges the block of a configuration that takes the place of ours, or ours."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cosim.config.load import LoadedConfig
from cosim.config.model import FpgaCsd
from cosim.config.own import OwnGather
from cosim.conform.amaranth import simulate
from cosim.conform.chosen import chosen_cases, chosen_system
from cosim.conform.gather_cases import CASES, GatherCase
from cosim.conform.gather_lists import GatherLimits, Room
from cosim.conform.hdl import BENCH_PUBLIC, bench_top
from cosim.conform.judge import FAILED, Outcome, judge
from cosim.engines.build import build
from cosim.engines.design import Design, Emission
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator, require
from cosim.errors import UserError
from cosim.own.block import Own, VerilogOwn
from cosim.own.find import block_of
from cosim.systems.design import gather_card
from rtl.block import ports
from rtl.contract.gather import GatherMode
from rtl.emit import emit_component
from rtl.gather.own import FlatBlock, OwnGatherCore, core_signature, flat_signature
from rtl.gather.unit import GatherSimUnit

__all__ = ["conform_gather"]

BLOCK = "own_block"
TIME_LIMIT_S = 900


@dataclass(frozen=True)
class _Judged:
    """What is judged: a system's gather core with its limits and ports."""

    own: Own | None
    card: Any
    limits: GatherLimits

    @property
    def unit(self) -> Any:
        parameters = {field.name: getattr(self.card, field.name) for field in fields(self.card)}
        return GatherSimUnit(**parameters, emitted=True)

    def component(self) -> Any:
        """A new block, with flat ports."""
        core = self.unit.core
        block = core.block if isinstance(core, OwnGatherCore) else core
        return FlatBlock(core_signature(core), block)

    @property
    def ports(self) -> dict[str, tuple[bool, int]]:
        found = ports(flat_signature(core_signature(self.unit.core)))
        del found["clk"]
        return found

    @property
    def room(self) -> Room:
        _, bits = self.ports["m_axi_rdata"]
        return Room(limits=self.limits, beat_bytes=bits // 8)


def conform_gather(
    loaded: LoadedConfig,
    *,
    system: str | None = None,
    engine: str | None = None,
    pattern: str = "",
    out: Path = Path("build/conform"),
    waves: bool = False,
) -> Iterator[Outcome]:
    """Judge the gather core of a system by all cases, one after the other, or some of them.

    Parameters
    ----------
    loaded
        The configuration.
    system
        Name of a system with a gather unit; else the first with a block of the user's, or else the
        first.
    engine
        ``verilator``, ``icarus`` or ``amaranth``; else the configuration's.
    pattern
        Regular expression that chooses cases by name.
    out
        Folder for the simulator's log, and its waves where ``waves`` says so.

    Raises
    ------
    UserError
        If there is no such system, its block is not one, or the simulator cannot run it.
    """
    chosen = chosen_system(loaded, system, "gather")
    assert isinstance(chosen, FpgaCsd)
    cases = chosen_cases(CASES, pattern)
    own = block_of(loaded, chosen, "gather")
    judged = _Judged(own, gather_card(loaded.platforms.fpga, own), _limits(chosen.gather))
    name = loaded.config.engine.name if engine is None else engine
    if name == "amaranth":
        if isinstance(own, VerilogOwn):
            raise UserError(f"{own.place} is Verilog, which engine amaranth cannot run")
        return _in_amaranth(judged, cases)
    return _in_hdl(judged, cases, Simulator(name), out, waves)


def _limits(own: OwnGather | None) -> GatherLimits:
    if own is None:
        return GatherLimits()
    return GatherLimits(
        max_fan_out=own.max_fan_out,
        max_distinct=own.max_distinct,
        modes=tuple(int(mode) for mode in GatherMode if mode.name.lower() in own.modes),
    )


def _in_amaranth(judged: _Judged, cases: Sequence[GatherCase]) -> Iterator[Outcome]:
    for case in cases:
        outcomes: list[Outcome] = []

        async def job(driver: Any, case: GatherCase = case, kept: list[Outcome] = outcomes) -> None:
            kept.append(await judge(case, judged.room, driver, judged.ports, driver.now_ps))

        simulate(judged.component(), job)
        yield outcomes[0]


def _in_hdl(
    judged: _Judged, cases: Sequence[GatherCase], simulator: Simulator, out: Path, waves: bool
) -> Iterator[Outcome]:
    require(simulator)
    built = build(_design(judged), simulator, waves=waves)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: output folder must be writable: {error.strerror}") from None
    result = out.resolve() / "outcomes.json"
    result.write_text("[]")
    job = {
        "ports": judged.ports,
        "limits": asdict(judged.limits),
        "beat_bytes": judged.room.beat_bytes,
        "cases": [case.name for case in cases],
        "result": str(result),
    }
    failure = ""
    try:
        run_job(built, "cosim.conform.hdl:play_gather", job, out, time_limit_s=TIME_LIMIT_S)
    except SimulationFailed as error:
        failure = str(error)
    outcomes = [Outcome(**each) for each in json.loads(result.read_text())]
    yield from outcomes
    for case in cases[len(outcomes) :]:
        yield Outcome(case.name, case.title, FAILED, f"did not run to its end: {failure}")


def _design(judged: _Judged) -> Design:
    own = judged.own
    if isinstance(own, VerilogOwn):
        top = bench_top(own.top, judged.ports, own.parameters)
        return Design(
            units=(), public=BENCH_PUBLIC, sources=own.files, top=top
        )  # fmt: skip

    def write(folder: Path) -> None:
        emit_component(folder / f"{BLOCK}.v", judged.component(), BLOCK)

    return Design(
        units=(), emissions=[Emission(repr(judged.card), write)], public=BENCH_PUBLIC,
        top=bench_top(BLOCK, judged.ports, {}),
    )  # fmt: skip
