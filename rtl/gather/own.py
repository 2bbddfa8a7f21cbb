# amaranth: UnusedElaboratable=no
# (The block is made in the constructor, which must refuse what it refuses.)
"""A user's block in place of the gather core, and what can be counted at its ports."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.axi4 import Axi4Read
from rtl.block import join
from rtl.gather.core import COUNTS, METERED, PULSES
from rtl.gather.meter import LaunchMeter

__all__ = [
    "INNER_COUNTERS",
    "FlatBlock",
    "OwnGatherCore",
    "core_signature",
    "flat_leaves",
    "flat_signature",
]

INNER_COUNTERS = (
    "descriptors",
    "bad_descriptors",
    "empty",
    "id_reads",
    "merges",
    "outstanding_full",
)
"""Counters of what goes on inside our core: there are none of another block."""

MOST_BEATS = (1 << 16) - 1
"""Beats that a block may have on the bus."""


def core_signature(ours):
    """The documented ports, as a structured signature: those of ``ours`` without its pulses."""
    inner = (*PULSES, *COUNTS)
    return wiring.Signature(
        {name: member for name, member in ours.signature.members.items() if name not in inner}
    )


def flat_signature(signature):
    """The same ports as a Verilog module has them, each of plain bits.

    Names are joined by two underscores; those of AXI channels are the standard's, with ``m_`` and
    the port's name in front: ``m_axi_araddr``.
    """
    return wiring.Signature(
        {name: flow(len(value)) for name, flow, value in flat_leaves(signature, signature.create())}
    )


def flat_leaves(signature, interface):
    """(name in Verilog, flow, value) of everything in an interface of ``signature``."""
    for path, member, value in signature.flatten(interface):
        first = signature.members[path[0]]
        if not (first.is_signature and isinstance(_plain(first.signature), Axi4Read)):
            yield "__".join(path), member.flow, Value.cast(value)
            continue
        port, channel, part = path
        prefix = f"m_{port}_{channel}"
        if part == "payload":
            for name, _ in value.shape():
                yield f"{prefix}{name}", member.flow, Value.cast(value[name])
        else:
            yield f"{prefix}{part}", member.flow, Value.cast(value)


def _plain(signature):
    """The signature that one with directions reversed was made from."""
    return signature.flip() if isinstance(signature, wiring.FlippedSignature) else signature


class FlatBlock(wiring.Component):
    """A component with the ports of ``signature``, as a Verilog module has them.

    Parameters
    ----------
    signature : Signature
        What of the component's signature becomes ports.
    block : Component
    """

    def __init__(self, signature, block):
        self._ports = signature
        self.block = block
        super().__init__(flat_signature(signature))

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        for name, flow, value in flat_leaves(self._ports, self.block):
            outside = getattr(self, name)
            m.d.comb += value.eq(outside) if flow is In else outside.eq(value)
        return m


class OwnGatherCore(wiring.Component):
    """A :class:`GatherUnit` to all around it, and another block inside.

    Its pulses are what the ports tell; those of :data:`INNER_COUNTERS` never come.

    Parameters
    ----------
    ours : GatherUnit
        The unit whose place it takes.
    own : object
        ``own.component(signature, arguments)`` makes the block: of :func:`core_signature`, or,
        where ``own.is_verilog``, of :func:`flat_signature` of that.
    arguments : dict
        What ours was made with.
    """

    def __init__(self, ours, own, arguments):
        self._ports = core_signature(ours)
        self._is_flat = own.is_verilog
        ports = flat_signature(self._ports) if self._is_flat else self._ports
        self.block = own.component(ports, arguments)
        super().__init__(ours.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        if self._is_flat:
            self._join_flat(m)
        else:
            m.d.comb += join(self._ports, self, self.block)
        self._count(m)
        return m

    def _join_flat(self, m):
        """As :func:`rtl.block.join` does it."""
        valids = {"results__payload": "results__valid", "done__payload": "done__valid"}
        for name in self._ports.members["axi"].signature.address_payload.members:
            valids[f"m_axi_ar{name}"] = "m_axi_arvalid"
        for name, flow, value in flat_leaves(self._ports, self):
            inside = getattr(self.block, name)
            if flow is In:
                m.d.comb += inside.eq(value)
            elif name in valids:
                m.d.comb += value.eq(Mux(getattr(self.block, valids[name]), inside, 0))
            else:
                m.d.comb += value.eq(inside)

    def _count(self, m):
        m.submodules.meter = meter = LaunchMeter(MOST_BEATS)
        ar, r, results = self.axi.ar, self.axi.r, self.results
        left = Signal(32)
        m.d.comb += [
            self.beat.eq(r.valid & r.ready),
            meter.busy.eq(self.busy),
            meter.request.eq(ar.valid),
            meter.granted.eq(ar.valid & ar.ready),
            meter.beats.eq(ar.payload.len),
            meter.answer.eq(self.beat),
            meter.word.eq(results.valid),
            meter.taken.eq(results.ready),
            *(getattr(self, name).eq(getattr(meter, name)) for name in METERED),
        ]
        # Ids that are still to come behind the header that was last, before each word.
        headers, to_come = 0, left
        for number, word in enumerate(results.payload.words):
            counts, is_header = number < results.payload.count, to_come == 0
            headers = headers + (counts & is_header)
            after = Signal(32, name=f"left{number}")
            m.d.comb += after.eq(Mux(is_header, word[:32], to_come - 1))
            to_come = Mux(counts, after, to_come)
        with m.If(results.valid & results.ready):
            m.d.comb += [
                self.words.eq(results.payload.count),
                self.ids.eq(results.payload.count - headers),
            ]
            m.d.sync += left.eq(Mux(results.payload.last, 0, to_come))
