"""SDR bus: what a die does, clock by clock, and a driver of its waveforms; in plain Python."""

from dataclasses import replace

from rtl.contract.nand_part import SdrReadTimes, cycles
from tests.scenarios.onfi_bus import NO_STROBE, PART, PERIOD_PS, OnfiBus
from tests.scenarios.onfi_die import DieModel

__all__ = ["SDR_PART", "SdrBus", "SdrDieModel", "die_model"]

SDR_PART = replace(
    PART,
    **NO_STROBE,
    sdr=SdrReadTimes(
        t_rc_ps=60_000,
        t_rp_ps=30_000,
        t_reh_ps=15_000,
        t_rea_ps=25_000,
        t_rhoh_ps=15_000,
        t_rloh_ps=5_000,
    ),
)
SHORT_CYCLE_PS = 30_000
"""Read cycles below this hold data for tRLOH after RE# falls again (ONFI 3.1, section 4.3)."""


class SdrDieModel(DieModel):
    """As :class:`DieModel`: a byte comes tREA after RE# fell, and is gone as early as it may be."""

    def __init__(self, part, period_ps, way, phases=1):
        super().__init__(part, period_ps, way, phases)
        self._period_ps = period_ps
        self._pulses = []
        """Of each fall of RE#: its edge, the last clock with the byte if known, and the byte."""
        self._level, self._selected = 1, False
        self._edge = 0

    def step(self, edge, pins):
        self._edge = edge
        return super().step(edge, pins)

    def _put_out(self):
        times, shown = self.part.sdr, None
        rea = cycles(times.t_rea_ps, self._period_ps)
        for pulse in self._pulses:
            if self._edge == pulse["fall"] + rea:
                pulse["byte"] = self._next_byte()
            if pulse["byte"] is not None and self._edge <= pulse.get("last", self._edge):
                shown = pulse["byte"]
        self._pulses = [p for p in self._pulses if self._edge <= p.get("last", self._edge)]
        return {"oe": int(shown is not None), "dqs_i": 0, "dq_i": shown or 0}

    def _ask(self, pins, selected):
        times, edge = self.part.sdr, self._edge
        level = pins["re_n"] if selected else 1
        if selected and self._level and not level:
            for pulse in self._pulses[-1:]:
                if (edge - pulse["fall"]) * self._period_ps < SHORT_CYCLE_PS:
                    pulse["last"] = edge + times.t_rloh_ps // self._period_ps
            self._pulses.append({"fall": edge, "byte": None})
        if level and not self._level:
            for pulse in self._pulses[-1:]:
                pulse["last"] = edge + times.t_rhoh_ps // self._period_ps
        if not selected:
            self._pulses = []
        self._level = level


def die_model(part, period_ps, way, phases):
    """The model of a die of plain reads, for the bus that its part has."""
    return (DieModel if part.sdr is None else SdrDieModel)(part, period_ps, way, phases)


class SdrBus(OnfiBus):
    """As :class:`OnfiBus`: each byte of a burst is a pulse of RE#."""

    def __init__(self, part=SDR_PART, period_ps=PERIOD_PS, ways=2, phases=1):
        super().__init__(part, period_ps, ways, phases)
        self.falls = []
        """Clocks in which RE# fell, of the last burst."""

    def limit(self, name):
        times = self.part.sdr if hasattr(self.part.sdr, f"t_{name}_ps") else self.part
        return cycles(getattr(times, f"t_{name}_ps"), self._period_ps)

    def burst(self, count, *, rp=None, reh=None, rc=None):
        """RE# for ``count`` bytes, then CE# high; returns the first clock with RE# low."""
        low = self.limit("rp") if rp is None else rp
        reh = self.limit("reh") if reh is None else reh
        high = max(reh, (self.limit("rc") if rc is None else rc) - low)
        self.falls = []
        for _ in range(count):
            self.falls.append(self.edge)
            self.tick(low, re_n=0)
            self.last_data = self.edge
            self.tick(high, re_n=1)
        hold = max(self.limit("ch"), self.limit("rea") - low)
        self.until(self.last_data + hold)
        self.tick(ce_n=self._none)
        return self.falls[0]
