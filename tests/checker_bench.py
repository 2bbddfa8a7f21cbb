"""A bus checker that waveforms are played to."""

from functools import cache

from amaranth.sim import Simulator

from rtl.contract.nand_part import cycles
from rtl.contract.onfi import BusRule
from rtl.nand.checker import BusChecker
from tests.scenarios.onfi_bus import PERIOD_PS
from tests.scenarios.onfi_scene import WAYS

__all__ = ["CheckerBench", "checker_for"]


class CheckerBench:
    """A checker in Amaranth's simulator, made once and reset for each waveform."""

    def __init__(self, part, phases, **options):
        self._checker = BusChecker(part, period_ps=PERIOD_PS, ways=WAYS, phases=phases, **options)
        response_ps = part.t_dqsre_ps if part.sdr is None else part.sdr.t_rea_ps
        self._rest = cycles(response_ps, PERIOD_PS) + 1
        self._used = False
        self._sim = Simulator(self._checker)
        self._sim.add_clock(PERIOD_PS * 1e-12)
        self._sim.add_testbench(self._play)

    def run(self, clocks, wakes):
        """Play the clocks; if ``wakes`` is a set, only those edges come while all levels rest."""
        if self._used:
            self._sim.reset()
        self._clocks, self._wakes, self._reports = clocks, wakes, []
        self._used = True
        self._sim.run()
        return self._reports

    async def _play(self, ctx):
        checker, before, resting = self._checker, {}, 0
        for edge, levels in enumerate(self._clocks):
            resting = resting + 1 if levels == before else 0
            if self._wakes is not None and resting > self._rest and edge not in self._wakes:
                continue
            ctx.set(checker.now, edge)
            for name, level in levels.items():
                if before.get(name) != level:
                    ctx.set(getattr(checker.phy, name), level)
            before = levels
            if ctx.get(checker.violation_valid):
                violation = ctx.get(checker.violation)
                self._reports.append((edge, BusRule(violation.rule), violation.way))
            await ctx.tick()


@cache
def checker_for(part, phases, **options):
    return CheckerBench(part, phases, **options)
