"""A waveform played on a die in Amaranth's simulator, and on its reference model."""

from amaranth.sim import Simulator

from rtl.contract.nand_part import cycles
from rtl.nand.die import NandDie
from tests.scenarios.onfi_bus import PERIOD_PS
from tests.scenarios.onfi_sdr import die_model

OUTPUTS = ("oe", "dqs_i", "dq_i", "rb_n")
WAY = 1


class Play:
    """One waveform played on a die: its pins and begins, clock by clock, and the model's beside it.

    ``answers`` maps an edge to (lun, number, page bytes) of the answer it is the first to see.
    With ``stop`` the clock stands still whenever the die says it may.
    """

    def __init__(self, bus, answers=None, *, stop=False):
        part, phases = bus.part, bus.phases
        self.part = part
        self.bus = bus
        self.answers = answers or {}
        self.stop = stop
        self.pins = []
        self.begins = []
        self.quiet = []
        self.edges_run = 0
        self.die = NandDie(part, period_ps=PERIOD_PS, ways=bus.ways, phases=phases)
        self._done = [0] * part.luns
        sim = Simulator(self.die)
        sim.add_clock(PERIOD_PS * 1e-12)
        sim.add_testbench(self._bench)
        sim.run()
        self.model = die_model(part, PERIOD_PS, WAY, phases)
        self.expected = []
        for edge, clock in enumerate(bus.clocks):
            for lun, number, content in self.answers.get(edge, ()):
                self.model.luns[lun].page = content
                self.model.answer(lun, edge, number)
            self.expected.append(self.model.step(edge, clock))

    def _answer(self, ctx, lun, number, content):
        padded = content + b"\xff" * (-len(content) % 128)
        for word in range(len(padded) // 128):
            value = int.from_bytes(padded[128 * word : 128 * word + 128], "little")
            ctx.set(self.die.pages[lun].data[word], value)
        self._done[lun] = number | (~self._done[lun] & 0x100)
        words = sum(done << 16 * index for index, done in enumerate(self._done))
        ctx.set(self.die.array_done, words)

    async def _bench(self, ctx):
        die, before = self.die, None
        ctx.set(die.way, WAY)
        for edge, clock in enumerate(self.bus.clocks):
            for name, value in clock.items():
                if before is not None and before[name] == value:
                    continue
                ctx.set(getattr(die.phy, name), value >> WAY & 1 if name == "ce_n" else value)
            for lun, number, content in self.answers.get(edge, ()):
                self._answer(ctx, lun, number, content)
            quiet, wake = ctx.get(die.quiet), ctx.get(die.wake_edge)
            if self.stop and quiet and edge < wake and clock == before:
                self.pins.append({name: ctx.get(getattr(die.phy, name)) for name in OUTPUTS})
                continue
            before = clock
            ctx.set(die.now, edge)
            self.quiet.append(quiet)
            self.pins.append({name: ctx.get(getattr(die.phy, name)) for name in OUTPUTS})
            if ctx.get(die.begin_valid):
                begin = ctx.get(die.begin)
                assert (begin.way, begin.operation) == (WAY, 0)
                self.begins.append((edge, begin.lun, begin.number, begin.row))
            self.edges_run += 1
            await ctx.tick()

    def check(self):
        """The die did what the model does, in every clock."""
        for edge, (got, want) in enumerate(zip(self.pins, self.expected, strict=True)):
            assert got == want, f"clock {edge}"
        assert self.begins == self.model.begins
        return self

    def data(self, start, count):
        """Bytes whose RE# preamble began in clock ``start``."""
        delay = cycles(self.part.t_dqsre_ps, PERIOD_PS)
        first = start + self.bus.limit("rpre") + delay
        clocks = self.pins[first : first + -(-count // self.bus.phases)]
        words = (clock["dq_i"].to_bytes(self.bus.phases, "little") for clock in clocks)
        return b"".join(words)[:count]
