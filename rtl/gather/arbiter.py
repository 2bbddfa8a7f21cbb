"""Joins the unit's read ports into one."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.gather.queue import Queue

__all__ = ["ReadArbiter"]


class ReadArbiter(wiring.Component):
    """Joins read ports, each with the AXI ID of its number, into one.

    Of the first ``urgent`` ports lower numbers come first, then the others take turns. Requests
    wait in a queue until they are taken. Beats have a register, and go to the port that their ID
    names, which must be ready at all times.

    Parameters
    ----------
    axi : Axi4Read
        Signature of all ports.
    ports : int
        How many.
    urgent : int, optional
        All but the last one, if not given.

    Members
    -------
    port0, port1, ... : In(Axi4Read)
        The ports.
    axi : Out(Axi4Read)
        The bus.
    """

    def __init__(self, axi, ports, *, urgent=None):
        if not 1 <= ports <= 1 << axi.id_bits:
            raise ValueError(f"ID width must tell {ports} ports apart, not {axi.id_bits} bits")
        self._axi = axi
        self._ports = ports
        self._urgent = ports - 1 if urgent is None else urgent
        super().__init__({"axi": Out(axi), **{f"port{n}": In(axi) for n in range(ports)}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Queue(self._axi.address_payload, 2)
        connect(m, kept.head, flipped(self.axi.ar))
        ports = [getattr(self, f"port{number}") for number in range(self._ports)]
        chosen = Signal(self._ports)
        m.d.comb += chosen.eq(self._choose(m, Cat(port.ar.valid for port in ports)))
        payload = 0
        for port, bit in zip(ports, chosen, strict=True):
            m.d.comb += port.ar.ready.eq(bit & kept.entries.ready)
            payload = payload | (port.ar.payload.as_value() & bit.replicate(self._request_bits))
        m.d.comb += [kept.entries.valid.eq(chosen.any()), kept.entries.payload.eq(payload)]
        self._answer(m, ports)
        return m

    @property
    def _request_bits(self):
        return self._axi.address_payload.size

    def _choose(self, m, asking):
        """One bit for the port whose turn it is."""
        urgent, turns = asking[: self._urgent], asking[self._urgent :]
        behind, later = Signal(len(turns)), Signal(len(turns))
        taken = Signal(len(turns))
        m.d.comb += later.eq(turns & behind)
        with m.If(later != 0):
            m.d.comb += taken.eq(later & -later)
        with m.Else():
            m.d.comb += taken.eq(turns & -turns)
        with m.If((urgent == 0) & turns.any() & self._has_room(m)):
            # Those above the one that is served come next.
            m.d.sync += behind.eq(~(taken | (taken - 1)))
        return Cat((urgent & -urgent)[: self._urgent], taken & (urgent == 0).replicate(len(turns)))

    def _has_room(self, m):
        return m.submodules.kept.entries.ready

    def _answer(self, m, ports):
        r = self.axi.r
        beat, valid = Signal(self._axi.data_payload), Signal(self._ports)
        m.d.comb += r.ready.eq(1)
        m.d.sync += beat.eq(r.payload)
        for number, port in enumerate(ports):
            m.d.sync += valid[number].eq(r.valid & (r.payload.id == number))
            m.d.comb += [port.r.payload.eq(beat), port.r.valid.eq(valid[number])]
