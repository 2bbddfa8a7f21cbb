"""Jobs on one flash channel that does all operations: random ones, checked against a model."""

import hashlib
import json
from collections import Counter, deque
from dataclasses import dataclass, replace
from pathlib import Path

from cosim.config.nand_file import load_part
from cosim.engines.device import FlashArray, device_design
from cosim.engines.hdl import HdlEngine
from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import LockStep
from cosim.medium import FlashMedium
from cosim.spans import critical_path
from cosim.units.channel import ChannelPort
from cosim.units.counters import unit_counters
from rtl.contract.bch import BchCode
from rtl.contract.bus_times import Interface
from rtl.contract.page import PageLayout
from rtl.contract.part_identity import parameter_pages_of
from rtl.contract.striping import Striping
from tests.scenarios.campaign import IDENTITY, WayPlan

__all__ = ["CASES", "Case", "run"]

PERIOD_PS = 10_000
PHASES = 2
FAILC = 0x02
CODE = BchCode(m=12, t=14, chunk_bytes=256)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A part, its ways, the blocks of each LUN that are used, and the share of short transfers."""

    part: str
    ways: int
    blocks: tuple
    short: float
    slots: int = 2
    suspends: int = 0
    luns: int | None = None
    """Instead of the part's."""

    @property
    def description(self):
        part = load_part(self.part)
        luns = part.geometry.luns if self.luns is None else self.luns
        return replace(part, geometry=replace(part.geometry, luns=luns))

    @property
    def array(self):
        description = self.description
        mode = next(
            one.modes for one in description.interfaces if one.interface is Interface.NV_DDR2
        )
        for number in sorted(mode, reverse=True):
            try:
                timing = description.timing(Interface.NV_DDR2, number, PERIOD_PS, PHASES)
            except ValueError:
                continue
            return FlashArray(
                part=description.nand_part(timing),
                channels=1,
                ways=self.ways,
                slots=self.slots,
                period_ps=PERIOD_PS,
                phases=PHASES,
                identity=IDENTITY,
                suspends=self.suspends,
            )
        raise AssertionError(f"{self.part} must run at {PERIOD_PS} ps")

    @property
    def design(self):
        return device_design(self.array)


CASES = {
    "tiny": Case(part="tiny", ways=2, blocks=(0, 1, 2, 3), short=0.92),
    "suspends": Case(part="tiny", ways=2, blocks=(0, 1, 2, 3), short=0.92, suspends=2),
    "single": Case(part="tiny", ways=2, blocks=(0, 1, 2, 3), short=0.92, luns=1),
    "cosmos": Case(part="hynix-mlc-slc-mode", ways=4, blocks=(0, 1, 6, 7), short=0.95),
}


class Campaign:
    """Runs the plans of all ways at once."""

    def __init__(self, dut, case, seed):
        array = case.array
        part = array.part
        self.kernel = Kernel()
        self.engine = HdlEngine(dut, ["ch0"])
        self.lockstep = LockStep(self.kernel, self.engine)
        layout = PageLayout(page_bytes=part.page_bytes, spare_bytes=part.spare_bytes, lba_bytes=512)
        places = Striping(channels=1, ways=array.ways, luns=part.luns, rows=part.rows)
        self.medium = FlashMedium(part, layout, CODE, places)
        parameter_page = parameter_pages_of(case.description)
        self.port = ChannelPort(
            self.lockstep,
            self.engine,
            self.medium,
            part,
            layout,
            units=[0],
            ways=array.ways,
            slots=array.slots,
            period_ps=array.period_ps,
            times=case.description.array,
            parameter_page=parameter_page,
        )
        self.plans = [
            WayPlan(seed, way, part, case.blocks, short=case.short, parameter_page=parameter_page)
            for way in range(array.ways)
        ]
        for way, plan in enumerate(self.plans):
            for lun, pages in enumerate(plan.pages):
                for row in sorted(pages.failing_rows):
                    self.medium.fail_programs(0, way, lun, row)
                for block in sorted(pages.failing_blocks):
                    self.medium.fail_erases(0, way, lun, pages.rows(block)[0])
        self.begin = self.kernel.origin("campaign", "campaign.start")
        self.kinds, self.statuses = Counter(), Counter()
        self.differences, self.log, self.chains = [], [], []

    def way(self, way, operations):
        """Rounds until ``operations`` orders have been submitted to the way."""
        env, plan, count = self.kernel.env, self.plans[way], 0
        while count < operations:
            streams, after = plan.round()
            count += sum(map(len, streams)) + len(after)
            yield env.all_of([env.process(self._stream(way, orders)) for orders in streams])
            yield env.process(self._stream(way, after, depth=1))

    def _stream(self, way, orders, depth=2):
        env, under_way = self.kernel.env, deque()
        for order in orders:
            while len(under_way) >= depth:
                yield under_way.popleft()
            if order.pause_ps:
                yield env.timeout(order.pause_ps)
            cause = self.kernel.record(
                "campaign", "campaign.idle", self.begin.at_ps, int(env.now), self.begin
            )
            done = self.port.submit(
                0,
                order.operation,
                way,
                order.lun,
                cause,
                row=order.row,
                column=order.column,
                length=order.length,
                data=order.data,
            )
            under_way.append(done)
            env.process(self._check(way, order, done))
        yield env.all_of(list(under_way))

    def _check(self, way, order, done):
        env = self.kernel.env
        start_ps = int(env.now)
        result = yield done
        name = order.operation.name
        self.kinds[name] += 1
        self.statuses[result.status] += 1
        self.chains.append((start_ps, result.cause))
        self.log.append([way, order.lun, name, result.status, result.nand_status, int(env.now)])
        is_right = result.status in order.statuses
        if order.image is not None:
            is_right &= order.image.matches(result.data)
        if order.bytes_told:
            is_right &= result.nand_status & ~FAILC in order.bytes_told
        if not is_right:
            self.differences.append(
                f"{name} of way {way}, LUN {order.lun}, row {order.row}, column {order.column} "
                f"at {env.now} ps: status {result.status}, of {list(map(int, order.statuses))}, "
                f"status byte {result.nand_status:02X}"
            )
        if result.slot >= 0:
            begin_ps = int(env.now)
            yield env.timeout(order.hold_ps)
            held = self.kernel.record(
                "campaign", "campaign.hold", begin_ps, int(env.now), result.cause
            )
            self.port.free(0, result.slot, held)

    def report(self):
        spans = self.kernel.spans
        for start_ps, cause in self.chains:
            owned = sum(
                step.end_ps - step.start_ps for step in critical_path(spans, cause, start_ps)
            )
            assert owned == cause.at_ps - start_ps
        story = [[s.unit, s.stage, s.start_ps, s.end_ps, s.cause, s.payload_bytes] for s in spans]
        return {
            "kinds": dict(self.kinds),
            "statuses": {str(int(status)): n for status, n in self.statuses.items()},
            "differences": self.differences,
            "log": self.log,
            "spans": hashlib.sha256(json.dumps(story).encode()).hexdigest(),
            "stages": sorted({span.stage for span in spans}),
            "counters": unit_counters(self.engine),
            "launch_waits": self.port.launch_waits,
            "end_ps": int(self.kernel.env.now),
        }


async def run(dut, job):
    """Do ``job["operations"]`` operations, or a few more, and write what came of them."""
    case = CASES[job["case"]]
    campaign = Campaign(dut, case, job["seed"])
    await campaign.engine.start(BOOT_PS)
    env = campaign.kernel.env
    share = -(-job["operations"] // case.ways)
    ways = [env.process(campaign.way(way, share)) for way in range(case.ways)]
    await campaign.lockstep.run(env.all_of(ways))
    Path(job["result"]).write_text(json.dumps(campaign.report()))
