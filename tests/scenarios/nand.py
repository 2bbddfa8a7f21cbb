"""Small parts, and a transaction-level twin of their flash channel that says what must come.

The twin is worked out from the scheduling rules in ``docs/architecture.md`` and the part's times,
phase by phase; it shares ``cycles()`` and, on an SDR bus, ``sdr_read_low()`` with the RTL and
nothing else.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from rtl.contract.channel import ChannelStatus
from rtl.contract.interface_timing import sdr_read_low
from rtl.contract.nand_part import NandPart, SdrReadTimes, cycles
from tests.scenarios.nand_reads import Feeder
from tests.scenarios.onfi_bus import NO_STROBE

__all__ = [
    "PERIOD_PS",
    "TINY",
    "TINY_SDR",
    "TINY_TWO_LUNS",
    "ChannelTwin",
]

PERIOD_PS = 10_000

TINY = NandPart(
    name="tiny",
    page_bytes=256,
    spare_bytes=48,
    pages_per_block=4,
    blocks_per_lun=3,
    luns=1,
    t_r_ps=2_003_000,
    t_wc_ps=25_000,
    t_wp_ps=11_000,
    t_wh_ps=10_000,
    t_cs_ps=30_000,
    t_ch_ps=15_000,
    t_cals_ps=15_000,
    t_cah_ps=5_000,
    t_wb_ps=100_000,
    t_rr_ps=20_000,
    t_whr_ps=60_000,
    t_ccs_ps=95_000,
    t_rhw_ps=100_000,
    t_rpre_ps=15_000,
    t_rpst_ps=30_000,
    t_dqsre_ps=25_000,
    poll_first_ps=1_500_000,
    poll_period_ps=300_000,
)
"""Every time is short, no two that matter are equal in clocks where they could be confused."""

TINY_SDR = replace(
    TINY,
    name="tiny SDR",
    **NO_STROBE,
    sdr=SdrReadTimes(
        t_rc_ps=35_000,
        t_rp_ps=17_000,
        t_reh_ps=15_000,
        t_rea_ps=25_000,
        t_rhoh_ps=15_000,
        t_rloh_ps=0,
    ),
)
TINY_TWO_LUNS = replace(TINY, name="tiny two LUNs", luns=2)


@dataclass
class Lun:
    """Twin's view of one LUN."""

    queue: deque = field(default_factory=deque)
    state: str = "idle"
    look: int = 0
    ready_edge: int = 0
    array_ready: int = 0
    command: int = 0
    issued: int = 0
    polls: int = 0


class ChannelTwin:
    """Steps through the edges of a channel and lists what it completes and begins.

    ``completions`` has a dict of the fields of each :class:`ChannelCompletion` with the ``edge`` of
    its event; ``begins`` has (edge, way, lun, row). ``counters`` are as in the RTL.
    """

    def __init__(self, part, ways, *, slots=2, phases=2, period_ps=PERIOD_PS, free_delay=40):
        self.part, self.ways, self.phases, self.period_ps = part, ways, phases, period_ps
        self.free_delay = free_delay
        self.luns = [Lun() for _ in range(ways * part.luns)]
        self.slots = [0] * slots
        """Edge from which each landing slot may be chosen; ``None`` while it is taken."""
        self.mailbox = deque()
        self.checked = None
        """The command that was looked at at an edge before, and waits for its place."""
        self.decided = None
        """Edge at which it is carried out, kind and LUN of what was chosen for the bus."""
        self.asked = None
        """What was asked of the idle bus at the edge before."""
        self.refused = None
        self.decide_from = 0
        self.record_free_from = 0
        self.done = None
        self.served = {"read": -1, "poll": -1, "transfer": -1}
        self.blocked = False
        self.completions, self.begins = [], []
        self.outcome = None
        self.counters = dict.fromkeys(
            (
                "commands",
                "bad_commands",
                "polls",
                "polls_busy",
                "transfers",
                "ties",
                "class_conflicts",
                "pending_full",
                "landing_full",
            ),
            0,
        )

    def clocks(self, name):
        return cycles(getattr(self.part, f"t_{name}_ps"), self.period_ps)

    def run(self, reads, limit=200_000):
        """Completions of ``reads``, handed over by a :class:`Feeder`."""
        feeder = Feeder(reads)
        edge = 0
        while len(self.completions) < len(reads):
            known = len(self.completions)
            self.step(edge, feeder.take(edge))
            for completion in self.completions[known:]:
                feeder.complete(completion["tag"])
            edge += 1
            assert edge < limit, f"{len(self.completions)} of {len(reads)} done at edge {edge}"
        return self.completions

    def step(self, edge, arrival=None):
        self._learn_status(edge)
        decided = self._decide(edge)
        accepted = self._take_command(edge)
        self._look_at_ready(edge)
        self._complete(edge)
        if accepted is not None:
            self._accept(edge, accepted)
        if decided is not None:
            self._begin(edge, *decided)
        if arrival is not None:
            self.mailbox.append(arrival)

    def _take_command(self, edge):
        """The command that was checked, if there is a place for it; then the next is checked."""
        taken = self.checked if self._has_place(self.checked) else None
        if taken is self.checked:
            self.checked = self.mailbox.popleft() if self.mailbox else None
        return taken

    def _has_place(self, read):
        if read is None or self.refused is not None:
            return False
        if not read.is_good(self.part, self.ways):
            return True
        return len(self.luns[read.way * self.part.luns + read.lun].queue) < 2

    def _accept(self, edge, read):
        if not read.is_good(self.part, self.ways):
            self.refused = (edge, read)
            return
        lun = self.luns[read.way * self.part.luns + read.lun]
        self.counters["commands"] += 1
        self.counters["pending_full"] += len(lun.queue) == 1
        lun.queue.append((edge, read))

    def _candidates(self, edge):
        transfers = [lun.state == "ready" for lun in self.luns]
        slot = any(at is not None and at <= edge for at in self.slots)
        may_transfer = slot and edge >= self.record_free_from
        return any(transfers) and not slot, {
            "read": [bool(lun.queue) and lun.state == "idle" for lun in self.luns],
            "poll": [
                self.part.luns > 1 and lun.state == "sensing" and edge >= lun.look
                for lun in self.luns
            ],
            "transfer": [may_transfer and asks for asks in transfers],
        }

    def _decide(self, edge):
        """What begins at this edge: (kind, LUN number), or nothing.

        Four edges: what is asked is seen, one of it is chosen, its command is looked up, it begins.
        """
        if self.decided is not None:
            at, *decided = self.decided
            if at > edge:
                return None
            self.decided = None
            return decided
        asked, self.asked = self.asked, None
        if edge < self.decide_from:
            self.blocked = False
            return None
        starved, self.asked = self._candidates(edge)
        blocked = not any(map(any, asked.values() if asked else ())) and starved
        self.counters["landing_full"] += blocked and not self.blocked
        self.blocked = blocked
        if asked is not None and any(map(any, asked.values())):
            self.decided = (edge + 2, *self._choose(asked))
            self.asked, self.blocked = None, False
        return None

    def _choose(self, classes):
        asking = [kind for kind, wanted in classes.items() if any(wanted)]
        kind = asking[0]
        wanted = classes[kind]
        last = self.served[kind]
        order = [*range(last + 1, len(wanted)), *range(last + 1)]
        self.counters["ties"] += sum(wanted) > 1
        self.counters["class_conflicts"] += len(asking) > 1
        return kind, next(number for number in order if wanted[number])

    def _begin(self, edge, kind, number):
        """CE# falls after this edge."""
        self.served[kind] = number
        lun = self.luns[number]
        low = max(self.clocks("wp"), self.clocks("cals"))
        high = max(self.clocks("wh"), self.clocks("cah"), self.clocks("wc") - low)
        tail = max(high, self.clocks("ch"))
        setup = max(1, self.clocks("cs") - low)
        first = edge + setup
        rising = first + low + (3 if kind == "poll" else 6) * (low + high)
        if kind == "read":
            self._issue(lun, number, first, rising + 1)
            self.decide_from = rising + tail + 1
            return
        gap = self.clocks("whr" if kind == "poll" else "ccs")
        if kind == "transfer":
            gap = max(gap, self.clocks("rr") - (rising - edge))
        start = rising + max(gap, tail + 1)
        length = 2 if kind == "poll" else lun.queue[0][1].length
        captured, released = self._burst(start, length, setup)
        self.decide_from = 1 + max(released, captured + 2)
        if kind == "poll":
            self.counters["polls"] += 1
            lun.polls += 1
            lun.look = edge - 3 + cycles(self.part.poll_period_ps, self.period_ps)
            self.outcome = (captured + 1, lun, lun.array_ready <= captured - 1)
        else:
            self._transfer(edge, lun, first, captured + 1)

    def _burst(self, start, length, setup):
        """Edge that captures the last byte, and from which the bus is idle, of RE# from ``start``.

        That is after the rest of tRHW, of which four clocks are for the decision, and when the die,
        which drives until tDQSRE after CE#, has let go of DQ.
        """
        if self.part.sdr is not None:
            return self._pulses(start, length, setup)
        last = start + self.clocks("rpre") + -(-length // self.phases) - 1
        hold = max(self.clocks("rpst"), self.clocks("ch"), self.clocks("dqsre"))
        rest = self.clocks("rhw") - hold - setup - 4
        turn = max(1, rest, self.clocks("dqsre") - setup - 4)
        return last + 1 + self.clocks("dqsre"), last + 1 + hold + turn

    def _pulses(self, start, length, setup):
        """The same of an SDR bus: RE# falls for each byte."""
        times = self.part.sdr
        low = sdr_read_low(times, self.period_ps)
        rea = cycles(times.t_rea_ps, self.period_ps)
        last = start + (length - 1) * (low + cycles(times.t_reh_ps, self.period_ps))
        hold = max(1, self.clocks("ch"), rea - low)
        turn = max(1, self.clocks("rhw") - hold - setup - 4, rea - setup - 4)
        return last + 1 + rea, last + low + hold + turn

    def _issue(self, lun, number, command, issued):
        busy = issued + self.clocks("wb")
        way, place = divmod(number, self.part.luns)
        row = lun.queue[0][1].row
        self.begins.append((busy, way, place, row))
        lun.state, lun.command, lun.issued, lun.polls = "issuing", command, issued, 0
        lun.array_ready = (busy * self.period_ps + self.part.t_r_ps) // self.period_ps + 1
        lun.look = busy + 1
        if self.part.luns > 1:
            poll_first = cycles(self.part.poll_first_ps, self.period_ps)
            lun.look = max(issued + poll_first, busy + 1)
        lun.state = "sensing"

    def _transfer(self, edge, lun, first, last):
        self.counters["transfers"] += 1
        accepted, read = lun.queue.popleft()
        # It was chosen when the command was looked up, at the edge before.
        slot = next(n for n, at in enumerate(self.slots) if at is not None and at < edge)
        self.slots[slot] = None
        lun.state = "idle"
        self.record_free_from = last + 2
        self.done = {
            "tag": read.tag,
            "status": ChannelStatus.OK,
            "slot": slot,
            "accepted": accepted,
            "command": lun.command,
            "issued": lun.issued,
            "ready": lun.ready_edge,
            "transfer": first,
            "last": last,
            "polls": lun.polls,
            "edge": last + 1,
        }

    def _look_at_ready(self, edge):
        if self.part.luns > 1:
            return
        for lun in self.luns:
            if lun.state == "sensing" and edge >= max(lun.look, lun.array_ready):
                lun.state, lun.ready_edge = "ready", edge

    def _learn_status(self, edge):
        if self.outcome is None or self.outcome[0] != edge - 1:
            return
        at, lun, is_ready = self.outcome
        self.outcome = None
        self.counters["polls_busy"] += not is_ready
        if is_ready:
            lun.state, lun.ready_edge = "ready", at

    def _complete(self, edge):
        if self.done is not None and self.done["edge"] == edge:
            self.completions.append(self.done)
            self.slots[self.done["slot"]] = edge + self.free_delay + 1
            self.done = None
        elif self.refused is not None:
            accepted, read = self.refused
            self.refused = None
            self.counters["bad_commands"] += 1
            self.completions.append(
                {"tag": read.tag, "status": ChannelStatus.BAD_COMMAND, "edge": edge}
                | dict.fromkeys(("slot", "command", "issued", "ready", "transfer", "last"), 0)
                | {"accepted": accepted, "polls": 0}
            )
