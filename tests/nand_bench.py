"""Kernel stand-in for a flash-channel unit in Amaranth's simulator."""

from collections import defaultdict

from amaranth.lib.data import Layout
from amaranth.sim import Simulator

from rtl.contract.channel import ArrayDone, ChannelCounters, ChannelStatus
from rtl.contract.codec import pack
from rtl.contract.nand_part import NandPart
from rtl.nand.unit import FlashChannelUnit
from tests.scenarios.nand import PERIOD_PS
from tests.scenarios.nand_reads import Feeder, page_image

__all__ = ["CALM", "FIELDS", "UnitBench", "completion_fields", "write_page"]

NEVER = (1 << 48) - 1
WORD_BYTES = 128
FIELDS = (
    "tag",
    "status",
    "slot",
    "accepted",
    "command",
    "issued",
    "ready",
    "transfer",
    "last",
    "polls",
)

CALM = NandPart(
    name="calm",
    page_bytes=256,
    spare_bytes=48,
    pages_per_block=4,
    blocks_per_lun=3,
    luns=1,
    t_r_ps=1_205_000,
    t_wc_ps=40_000,
    t_wp_ps=20_000,
    t_wh_ps=20_000,
    t_cs_ps=30_000,
    t_ch_ps=10_000,
    t_cals_ps=20_000,
    t_cah_ps=10_000,
    t_wb_ps=100_000,
    t_rr_ps=20_000,
    t_whr_ps=60_000,
    t_ccs_ps=100_000,
    t_rhw_ps=100_000,
    t_rpre_ps=10_000,
    t_rpst_ps=40_000,
    t_dqsre_ps=20_000,
    poll_first_ps=1_000_000,
    poll_period_ps=300_000,
)
"""A part of which no time hides another; a test lengthens the one it is about."""


def completion_fields(completion, names=FIELDS):
    return {name: int(getattr(completion, name)) for name in names}


def write_page(ctx, die, lun, image):
    """Fill a die's page register."""
    for word in range(-(-len(image) // WORD_BYTES)):
        part = image[WORD_BYTES * word : WORD_BYTES * (word + 1)]
        ctx.set(die.pages[lun].data[word], int.from_bytes(part, "little"))


class UnitBench:
    """Plays reads on a unit, answers begins, takes landed data; edge by edge or stopping the clock.

    Inputs are set for the first edge that shall see them. ``edges`` are those that were made.
    ``image(part, way, lun, row)`` is what a die senses, ``fields`` what is kept of a completion;
    ``options`` are the unit's.
    """

    def __init__(
        self,
        part,
        ways,
        *,
        slots=2,
        phases=2,
        period_ps=PERIOD_PS,
        stopping=False,
        free_delay=40,
        unit=FlashChannelUnit,
        image=page_image,
        fields=FIELDS,
        **options,
    ):
        self.part, self.stopping, self.free_delay = part, stopping, free_delay
        self.image, self.fields, self.phases = image, fields, phases
        self.period_ps = period_ps
        self.unit = unit(
            part, period_ps=period_ps, ways=ways, phases=phases, slots=slots, **options
        )
        self.completions, self.begins, self.violations = [], [], []
        self.data = {}
        self.edges = []
        self.counters = {}
        self._inputs = defaultdict(list)
        self._numbers = defaultdict(int)
        self._no_way = (1 << ways) - 1
        self._is_selected = False

    def run(self, reads, limit_edges=200_000, settle=50):
        """Play ``reads``; ends ``settle`` edges after the last completion."""
        self._feeder = Feeder(reads)
        self._lengths = {read.tag: read.length for read in reads}

        async def bench(ctx):
            end = None
            edge = 0
            while end is None or edge < end:
                edge = self._next_edge(ctx, edge)
                assert edge < limit_edges, f"{len(self.completions)} of {len(reads)} done"
                before = ctx.get(self.unit.event_toggle)
                self._is_selected = ctx.get(self.unit.controller.phy.ce_n) != self._no_way
                await ctx.tick()
                self.edges.append(edge)
                if ctx.get(self.unit.event_toggle) != before:
                    self._react(ctx, edge)
                if end is None and len(self.completions) == len(reads):
                    end = edge + settle
                edge += 1
                if self.stopping and end is not None:
                    break
            counters = ctx.get(self.unit.counters)
            names = [name for name, _ in Layout.cast(ChannelCounters)]
            self.counters = {name: int(getattr(counters, name)) for name in names}

        simulator = Simulator(self.unit)
        simulator.add_clock(1e-8)
        simulator.add_testbench(bench)
        simulator.run()
        return self.completions

    def _next_edge(self, ctx, edge):
        """Number of the next edge to make, with its inputs set."""
        self._set_inputs(ctx, edge)
        if not self.stopping or not ctx.get(self.unit.quiet):
            return edge
        inputs = [*self._inputs, self._feeder.next_edge(edge)]
        wake = ctx.get(self.unit.wake_edge)
        target = min(at for at in (wake, *inputs) if at is not None)
        assert target != NEVER, f"all asleep at edge {edge}, {len(self.completions)} done"
        if target > edge:
            assert not self._is_selected, "dies and checker must have seen CE# high"
            self._set_inputs(ctx, target)
        return max(edge, target)

    def _set_inputs(self, ctx, edge):
        ctx.set(self.unit.now, edge)
        for change in self._inputs.pop(edge, ()):
            change(ctx)
        read = self._feeder.take(edge)
        if read is not None:
            for name in ("operation", "way", "lun", "row", "column", "length", "tag", "is_raw"):
                ctx.set(getattr(self.unit.command, name), getattr(read, name))
            ctx.set(self.unit.command_toggle, 1 - ctx.get(self.unit.command_toggle))

    def _react(self, ctx, edge):
        event = ctx.get(self.unit.event)
        if event.violation_valid:
            self.violations.append((edge, int(event.violation.rule), int(event.violation.way)))
        if event.begin_valid:
            self._begin(ctx, edge, event.begin)
        if event.completion_valid:
            completion = completion_fields(event.completion, self.fields)
            self.completions.append(completion | {"edge": edge})
            self._feeder.complete(completion["tag"])
            if completion["status"] != ChannelStatus.BAD_COMMAND:
                self._collect(ctx, edge, completion)

    def _begin(self, ctx, edge, begin):
        way, lun, row = int(begin.way), int(begin.lun), int(begin.row)
        self.begins.append((edge, way, lun, row))
        number = int(begin.number)

        def answer(ctx):
            write_page(ctx, self.unit.dies[way], lun, self.image(self.part, way, lun, row))
            place = way * self.part.luns + lun
            self._numbers[place] ^= 1
            done = pack(ArrayDone, number=number, toggle=self._numbers[place])
            word = ctx.get(self.unit.array_done) & ~(0xFFFF << 16 * place)
            ctx.set(self.unit.array_done, word | int.from_bytes(done, "little") << 16 * place)

        ready = (edge * self.period_ps + self.part.t_r_ps) // self.period_ps + 1
        self._inputs[ready].append(answer)

    def _collect(self, ctx, edge, completion):
        landing = self.unit.landing
        first = completion["slot"] * landing.slot_words
        raw = b"".join(
            ctx.get(landing.storage.data[first + word]).to_bytes(WORD_BYTES, "little")
            for word in range(landing.slot_words)
        )
        self.data[completion["tag"]] = raw[: self._lengths[completion["tag"]]]

        def free(ctx):
            toggles = ctx.get(self.unit.landing_free)
            ctx.set(self.unit.landing_free, toggles ^ 1 << completion["slot"])

        self._inputs[edge + self.free_delay].append(free)
