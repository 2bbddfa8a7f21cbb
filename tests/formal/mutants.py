# amaranth: UnusedElaboratable=no
"""For each property a broken design on which it must fail.

Controllers are broken at their ports, or made for a part with a shorter time, so that the mutants
outlive a change inside; queues and mailboxes are small and are broken inside, line by line.
"""

from functools import partial

from amaranth.hdl import Signal

import rtl.gather.arbiter
import rtl.gather.control
import rtl.gather.ids
import rtl.gather.mailbox
import rtl.gather.queue
import rtl.mixer
import rtl.nand.landing
import rtl.nand.launch
import rtl.nand.mailbox
from rtl.axi4 import Axi4Read
from rtl.formal.channel_part import CLOCK, controller
from rtl.formal.properties import DISTANCES, with_times
from tests.formal.gather_mutants import GATHER_MUTANTS
from tests.formal.gather_part_mutants import GATHER_PART_MUTANTS
from tests.formal.meddled import Meddled
from tests.formal.rewritten import rewritten
from tests.formal.shared_mutants import SHARED_MUTANTS

__all__ = ["MUTANTS"]


def meddled(meddle):
    return lambda part, **arguments: Meddled(controller(part, **arguments), meddle)


def hasty(name):
    """A controller made for a part whose time ``name`` is as short as can be."""

    def make(part, **arguments):
        return controller(with_times(part, **{name: CLOCK, **shortened(name)}), **arguments)

    return make


def shortened(name):
    """Times that must not contradict, or stand in for, a shorter ``name``."""
    return {"t_wc_ps": 2 * CLOCK} if name in ("t_wp_ps", "t_wh_ps", "t_wc_ps") else {}


def all_chips_at_first(m, inner, ours):
    """All CE# fall with the one that should; the others rise a clock later."""
    was_high = Signal(init=1)
    m.d.sync += was_high.eq(inner.phy.ce_n.all())
    with m.If(was_high & ~inner.phy.ce_n.all()):
        m.d.comb += ours.phy.ce_n.eq(0)


def drivers_stay_on(m, inner, ours):
    """The controller's drivers, once on, stay on until CE# rises."""
    was_on = Signal()
    m.d.sync += was_on.eq(ours.phy.dq_oe & ~inner.phy.ce_n.all())
    m.d.comb += ours.phy.dq_oe.eq(inner.phy.dq_oe | was_on)


def strobe_stays_on(m, inner, ours):
    """The controller's strobe, once on, is never released."""
    was_on = Signal()
    m.d.sync += was_on.eq(ours.phy.dqs_oe)
    m.d.comb += ours.phy.dqs_oe.eq(inner.phy.dqs_oe | was_on)


def completion_moves(m, inner, ours):
    """The stamp of a completion on offer goes on counting."""
    m.d.comb += ours.completions.payload.last.eq(inner.now)


def completion_repeats(m, inner, ours):
    """A completion is offered once more after it was taken."""
    again = Signal()
    m.d.sync += again.eq(ours.completions.valid & ours.completions.ready & ~again)
    m.d.comb += inner.completions.ready.eq(ours.completions.ready & again)


def completion_is_lost(m, inner, ours):
    """The first completion is swallowed."""
    is_first = Signal(init=1)
    with m.If(inner.completions.valid & is_first):
        m.d.sync += is_first.eq(0)
        m.d.comb += [inner.completions.ready.eq(1), ours.completions.valid.eq(0)]


def never_completes(m, inner, ours):
    m.d.comb += ours.completions.valid.eq(0)


queue = partial(rewritten, rtl.gather.queue, "Queue")
pair = partial(rewritten, rtl.gather.queue, "Pair")
landing = partial(rewritten, rtl.nand.landing, "Landing")
launch = partial(rewritten, rtl.nand.launch, "Launch")


def impatient_arbiter():
    waits = "connect(m, kept.head, flipped(self.axi.ar))"
    hurries = (
        "m.d.comb += [self.axi.ar.payload.eq(kept.head.payload), "
        "self.axi.ar.valid.eq(kept.head.valid), kept.head.ready.eq(1)]"
    )
    arbiter = rewritten(rtl.gather.arbiter, "ReadArbiter", (waits, hurries))
    return arbiter(Axi4Read(64, 512, 2), 3)


def hasty_requester():
    changed = ("run_up.head.ready.eq(self.requests.ready)", "run_up.head.ready.eq(1)")
    return rewritten(rtl.gather.ids, "IdRequester", changed)(512)


def leaky_mixer():
    changed = ("run_up.head.ready.eq(self.positions.ready)", "run_up.head.ready.eq(1)")
    return rewritten(rtl.mixer, "PositionMixer", changed)(8)


MUTANTS = {
    "queue": {
        "takes one too many": queue(
            ("ready.eq(~self.level[-1])", "ready.eq(self.level != self._depth + 1)")
        ),
        "lets go without a reader": queue(
            ("take.eq(self.head.valid & self.head.ready)", "take.eq(self.head.valid)")
        ),
        "forgets to advance": queue(("first.eq(first + 1)", "first.eq(first)")),
    },
    "pair": {
        "takes one too many": pair(("is_full.eq(self.head.valid)", "is_full.eq(0)")),
        "writes over what it holds": pair(("with m.If(is_free[number]):", "with m.If(1):")),
        "gives the same again": pair(("first.eq(first ^ goes)", "first.eq(first)")),
    },
    "gather-mailbox": {
        "misses a word when it is read": rewritten(
            rtl.gather.mailbox,
            "Mailbox",
            ("entries.valid.eq(self.unread)", "entries.valid.eq(self.unread & ~queue.head.ready)"),
        ),
    },
    "channel-mailbox": {
        "takes a word twice": rewritten(
            rtl.nand.mailbox,
            "Mailbox",
            ("m.d.sync += seen.eq(self.toggle)", "m.d.sync += seen.eq(self.toggle & seen)"),
        ),
    },
    "landing": {
        "a short end lies askew": landing(
            ("storage.write_data.eq(filled[unused:])", "storage.write_data.eq(filled)")
        ),
        "goes on where it was": landing(("[lane.eq(0), index.eq(0)]", "[lane.eq(0)]")),
        "lets a slot be taken twice": landing(
            ("(self.ready | freed) & ~self.take", "self.ready | freed")
        ),
    },
    "launch": {
        "does not wait at the end of a memory word": launch(
            ("self.data.valid & self.data.ready & (lane", "self.data.valid & (lane")
        ),
        "sends a memory word twice": launch(("address.eq(address + 1)", "address.eq(address)")),
    },
    "axi-request-stable": {"does not wait": impatient_arbiter},
    "id-request-stable": {"does not wait": hasty_requester},
    "launch-done-stable": {
        "does not wait": rewritten(
            rtl.gather.control, "LaunchControl", ("with m.If(self.done.ready):", "with m.If(1):")
        ),
    },
    "position-stable": {"moves on": leaky_mixer},
    **GATHER_MUTANTS,
    **GATHER_PART_MUTANTS,
    "chip-enable": {"all fall at first": meddled(all_chips_at_first)},
    "drivers": {"stay on": meddled(drivers_stay_on)},
    **{
        f"gap-{name.removesuffix('_ps').replace('_', '-')}": {"too short": hasty(name)}
        for name in DISTANCES
    },
    "completion-stable": {"its last stamp runs": meddled(completion_moves)},
    "completion-reached": {"none is offered": meddled(never_completes)},
    "completes-once": {"repeated": meddled(completion_repeats)},
    "completes-in-time": {
        "lost": meddled(completion_is_lost),
        "repeated": meddled(completion_repeats),
    },
    "writes-reached": {"none is offered": meddled(never_completes)},
    "writing-chip-enable": {"all fall at first": meddled(all_chips_at_first)},
    "writing-drivers": {
        "stay on": meddled(drivers_stay_on),
        "the strobe stays on": meddled(strobe_stays_on),
    },
    "writing-completion-stable": {"its last stamp runs": meddled(completion_moves)},
    "write-completes-in-time": {
        "lost": meddled(completion_is_lost),
        "repeated": meddled(completion_repeats),
    },
    **SHARED_MUTANTS,
}
"""By property: what is wrong, and who makes such a design."""
