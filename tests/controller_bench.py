"""A flash-channel controller with its launch buffer on a Python model of the dies."""

from dataclasses import dataclass, replace

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from rtl.contract.nand_part import ExtendedTimes, cycles
from rtl.contract.onfi import row_bits
from rtl.nand.controller import FlashChannelController
from rtl.nand.launch import Launch
from tests.scenarios.nand import PERIOD_PS, TINY
from tests.scenarios.nand_reads import page_image
from tests.scenarios.onfi_target import Target

__all__ = ["FULL", "FULL_TWO_LUNS", "FULL_TWO_PLANES", "Command", "ControllerBench"]

TIMES = ExtendedTimes(
    t_adl_ps=145_000,
    t_wpre_ps=15_000,
    t_wpst_ps=25_000,
    t_prog_ps=3_000_000,
    t_bers_ps=5_000_000,
    t_cbsy_ps=300_000,
    t_rcbsy_ps=300_000,
    t_dbsy_ps=400_000,
    t_feat_ps=500_000,
    t_rst_ps=600_000,
)
FULL = replace(TINY, name="full", extended=TIMES, poll_first_ps=300_000)
FULL_TWO_LUNS = replace(FULL, name="full two LUNs", luns=2)
FULL_TWO_PLANES = replace(FULL, name="full two planes", planes=2, blocks_per_lun=4)

PINS = ("ce_n", "cle", "ale", "we_n", "re_n", "dq_o", "dq_oe", "dqs_o", "dqs_oe")
STAMPS = ("accepted", "command", "issued", "ready", "transfer", "last")
FIELDS = ("tag", "status", "slot", "nand_status", "polls", *STAMPS)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, offered from ``edge`` on."""

    operation: int
    tag: int
    edge: int = 3
    way: int = 0
    lun: int = 0
    row: int = 0
    column: int = 0
    length: int = 0
    slot: int = 0
    is_raw: int = 0


def die_output(part):
    """What the dies of a channel put out: pages as they were made, else a counting pattern."""

    def read(opcode, place, row, column, count):
        if opcode == 0xE0:
            return page_image(part, *place, row)[column : column + count]
        return bytes((opcode + column + place) & 0xFF for place in range(count))

    return read


class Harness(wiring.Component):
    def __init__(self, part, ways, phases, slots, **options):
        sizes = {"phases": phases, "slots": slots}
        self.controller = FlashChannelController(
            part, period_ps=PERIOD_PS, ways=ways, **sizes, **options
        )
        self.launch = None
        if part.extended is not None:
            self.launch = Launch(transfer_bytes=part.raw_page_bytes, **sizes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        if self.launch is None:
            return m
        m.submodules.launch = launch = self.launch
        wiring.connect(m, launch.data, controller.launch)
        m.d.comb += [
            launch.start.eq(controller.launch_start),
            launch.slot.eq(controller.launch_slot),
        ]
        return m


class ControllerBench:
    """Plays commands; ``log`` is what the dies saw, ``completions`` what came back, in order.

    Parameters
    ----------
    part, ways, phases, slots, options
        As for the controller.
    busy, status
        As in :class:`Target`.
    launch : dict
        Bytes by launch slot.
    stalls : random.Random or None
        Draws pauses at the streams and of the landing slots; none without.
    """

    def __init__(
        self,
        part=FULL,
        ways=1,
        *,
        phases=2,
        slots=2,
        busy=None,
        status=None,
        launch=None,
        stalls=None,
        **options,
    ):
        self.part, self.stalls, self.slots, self.phases = part, stalls, slots, phases
        self.harness = Harness(part, ways, phases, slots, **options)
        self.target = Target(
            ways=ways,
            luns=part.luns,
            row_bits=row_bits(part),
            phases=phases,
            delay=cycles(part.t_dqsre_ps, PERIOD_PS),
            busy_delay=cycles(part.t_wb_ps, PERIOD_PS),
            busy=busy or {},
            read=die_output(part),
        )
        self.target.status |= status or {}
        self.launch = launch or {}
        self.completions, self.data, self.counters = [], {}, None

    @property
    def texts(self):
        return [operation.text for operation in self.target.log]

    def log_of(self, word):
        """The first operation whose text begins with ``word``."""
        return next(item for item in self.target.log if item.text.startswith(word))

    def run(self, commands, limit=20_000):
        """Play ``commands`` until each has completed; returns the completions by tag."""

        async def bench(ctx):
            await self._play(ctx, list(commands), limit)

        simulator = Simulator(self.harness)
        simulator.add_clock(1e-8)
        simulator.add_testbench(bench)
        simulator.run()
        assert self.target.faults == []
        return {completion["tag"]: completion for completion in self.completions}

    def _chance(self, share):
        return self.stalls is None or self.stalls.random() < share

    async def _play(self, ctx, waiting, limit):
        controller, count, freed = self.harness.controller, len(waiting), {}
        self._fill(ctx)
        ctx.set(controller.landing_ready, (1 << self.slots) - 1)
        held, words = None, bytearray()
        for edge in range(limit):
            ctx.set(controller.now, edge)
            if edge in freed:
                ctx.set(controller.landing_ready, ctx.get(controller.landing_ready) | freed[edge])
            if waiting and edge >= waiting[0].edge and self._chance(0.3):
                self._offer(ctx, waiting[0])
            ctx.set(controller.completions.ready, self._chance(0.02))
            self._exchange_pins(ctx, edge)
            took = ctx.get(controller.commands.valid) and ctx.get(controller.commands.ready)
            take = ctx.get(controller.landing_take)
            if ctx.get(controller.data.valid):
                words += ctx.get(controller.data.payload.word).to_bytes(self.phases, "little")
            if ctx.get(controller.completions.valid):
                payload = ctx.get(controller.completions.payload)
                offered = {name: int(getattr(payload, name)) for name in FIELDS}
                assert held in (None, offered), "a completion must stay until it is taken"
                held = offered
                if ctx.get(controller.completions.ready):
                    held = None
                    self.completions.append(offered | {"edge": edge})
                    if words:
                        self.data[offered["tag"]], words = bytes(words), bytearray()
                        back = edge + 1 + (self.stalls.randint(0, 600) if self.stalls else 0)
                        freed[back] = freed.get(back, 0) | 1 << offered["slot"]
            await self._tick(ctx, edge)
            if take:
                ctx.set(controller.landing_ready, ctx.get(controller.landing_ready) & ~take)
            if took:
                waiting.pop(0)
                ctx.set(controller.commands.valid, 0)
            if len(self.completions) == count:
                break
        else:
            raise AssertionError(f"{len(self.completions)} of {count} done at edge {limit}")
        self.counters = ctx.get(controller.counters)

    def _fill(self, ctx):
        launch = self.harness.launch
        for slot, raw in self.launch.items():
            for word in range(-(-len(raw) // 128)):
                part = int.from_bytes(raw[128 * word : 128 * (word + 1)], "little")
                ctx.set(launch.storage.data[slot * launch.slot_words + word], part)

    def _offer(self, ctx, command):
        payload = self.harness.controller.commands.payload
        for name in ("operation", "way", "lun", "row", "column", "length", "slot", "tag"):
            ctx.set(getattr(payload, name), getattr(command, name))
        ctx.set(self.harness.controller.commands.valid, 1)

    def _exchange_pins(self, ctx, edge):
        phy = self.harness.controller.phy
        dqs, dq = self.target.clock(edge, {name: ctx.get(getattr(phy, name)) for name in PINS})
        ctx.set(phy.dqs_i, dqs)
        ctx.set(phy.dq_i, dq)
        ctx.set(phy.rb_n, self.target.ready_lines(edge))

    async def _tick(self, ctx, edge):
        """One clock; what is quiet must stay as it is until something comes in."""
        controller = self.harness.controller
        is_quiet = ctx.get(controller.quiet) and ctx.get(controller.wake_edge) > edge
        counters = ctx.get(controller.counters.as_value())
        await ctx.tick()
        if is_quiet:
            assert ctx.get(controller.quiet), "quiet lasts until an input or wake_edge"
            assert ctx.get(controller.counters.as_value()) == counters
