"""What the gather unit's benchmark does inside the simulator: launch, and play the bare trace."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

from cosim.bench.gather_case import GATHER, TRACE, GatherBuild, GatherCase
from cosim.bench.gather_work import BEAT_BYTES, GatherWork, gather_work
from cosim.engines.hdl import HdlEngine
from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import LockStep, Report
from cosim.units.fields import FieldReader
from cosim.units.gather import GatherPort
from rtl.contract.gather import GatherCounters, GatherStatus
from rtl.emit_gather import DRAM_MEMORY, TRACE_MEMORY
from rtl.gather.trace import TraceDone

__all__ = ["measure"]

_COUNTERS = FieldReader(GatherCounters)
_TRACE = FieldReader(TraceDone)
ADDRESS_BYTES = 8


async def measure(dut: Any, job: dict[str, Any]) -> None:
    """Run the cases of one build one after the other, and write what each of them counted."""
    build = GatherBuild(**job["build"])
    cases = [GatherCase(build=build, **fields) for fields in job["cases"]]
    bench = _Bench(dut, build, job["seed"])
    await bench.engine.start(BOOT_PS)
    report = []
    for case, descriptors in zip(cases, job["descriptors"], strict=True):
        one = await bench.lockstep.run(bench.process(bench.launch(case, 1)))
        many = await bench.lockstep.run(bench.process(bench.launch(case, descriptors)))
        report.append({"one": one, "many": many})
    Path(job["result"]).write_text(json.dumps(report))


class _Bench:
    """Kernel, gather unit and player of traces."""

    def __init__(self, dut: Any, build: GatherBuild, seed: int) -> None:
        self._card = card = build.card
        self._seed = seed
        self.kernel = Kernel()
        self.engine = HdlEngine(dut, [GATHER, TRACE])
        self.lockstep = LockStep(self.kernel, self.engine)
        self._gather = GatherPort(
            self.lockstep,
            self.engine,
            unit=0,
            period_ps=card.period_ps,
            stage_slots=card.stage_slots,
            stage_slot_bytes=card.stage_slot_bytes,
        )
        self._dram = self.engine.memory(0, DRAM_MEMORY)
        self._addresses = self.engine.memory(1, TRACE_MEMORY)
        self._trace = self.engine.mailbox(1, "trace")
        self._trace_toggle = self.engine.mailbox(1, "trace_toggle")
        self._played: Any = None
        self.lockstep.attach([1], self._end_trace, list)

    def process(self, steps: Generator[Any, Any, Any]) -> Any:
        return self.kernel.env.process(steps)

    def launch(self, case: GatherCase, count: int) -> Generator[Any, Any, dict[str, Any]]:
        """A launch of ``count`` descriptors, then the bare trace of its ids; what was counted."""
        work = gather_work(case, count, window_bytes=self._card.window_bytes, seed=self._seed)
        self.lockstep.post(lambda: self._store(work))
        yield self.kernel.env.timeout(self._card.period_ps)
        before, spans = self._counters(), len(list(self.kernel.spans))
        cause = self.kernel.origin("bench", "bench.launch")
        done = yield self._gather.launch(0, work.count, cause)
        if done.status != GatherStatus.OK or done.words != work.result:
            raise AssertionError(f"{case.name}: the launch must give the ids that are in its lists")
        ends = {span.stage: span.end_ps for span in list(self.kernel.spans)[spans:]}
        yield self.kernel.env.timeout(self._card.period_ps)
        counted = {name: value - before[name] for name, value in self._counters().items()}
        trace = yield from self._play(len(work.trace))
        return {
            "descriptors": count,
            "first_clocks": self._clocks(ends["gather.first-word"] - ends["gather.start"]),
            "last_clocks": self._clocks(ends["gather.stream"] - ends["gather.start"]),
            "trace_reads": len(work.trace),
            "trace_clocks": trace["last"] - trace["started"],
            "counters": counted,
        }

    def _store(self, work: GatherWork) -> None:
        for beat, content in work.beats.items():
            self._dram.write(beat * BEAT_BYTES // self._dram.word_bytes, content)
        for place, address in enumerate(work.trace):
            self._addresses.write(place, address.to_bytes(ADDRESS_BYTES, "little"))

    def _counters(self) -> dict[str, int]:
        return _COUNTERS.all(self.engine.counters(0))

    def _clocks(self, duration_ps: int) -> int:
        return duration_ps // self._card.period_ps

    def _play(self, count: int) -> Generator[Any, Any, dict[str, int]]:
        def write() -> None:
            self._trace.set(count)
            self._trace_toggle.flip()

        self._played = self.kernel.env.event()
        self.lockstep.post(write)
        played: dict[str, int] = yield self._played
        return played

    def _end_trace(self, report: Report) -> None:
        self._played.succeed(_TRACE.all(report.word))
