"""Joins the unit's read ports into one."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.gather.queue import Queue

__all__ = ["ReadArbiter"]


class ReadArbiter(wiring.Component):
    """Joins read ports, each with AXI IDs of its own, into one.

    Of the first ``urgent`` ports lower numbers come first, then the others take turns: one goes on
    for ``run`` requests, or until it has none, since addresses of a port lie closer together than
    those of several. Requests wait in a queue until they are taken. Beats go to the port that their
    ID names, which must be ready at all times: to the first ``held`` ports through a register, a
    clock later, and to the others as they come.

    Parameters
    ----------
    axi : Axi4Read
        Signature of all ports.
    ports : int
        How many.
    urgent : int, optional
        All but the last one, if not given.
    run : int, optional
        Requests of a port in a row, while others ask; a power of two.
    held : int, optional
        All, if not given. What is behind the other ports has a register of its own.
    ids : sequence of range, optional
        AXI IDs of each port: a power of two of them from a multiple of it on; else its number.

    Members
    -------
    port0, port1, ... : In(Axi4Read)
        The ports.
    axi : Out(Axi4Read)
        The bus.
    """

    def __init__(self, axi, ports, *, urgent=None, run=1, held=None, ids=None):
        ids = [range(number, number + 1) for number in range(ports)] if ids is None else ids
        if not ids or max(each.stop for each in ids) > 1 << axi.id_bits:
            raise ValueError(f"ID width must tell {ports} ports apart, not {axi.id_bits} bits")
        for each in ids:
            count = len(each)
            if count < 1 or count & count - 1 or each.start % count:
                raise ValueError(f"IDs of a port must be 2^n from a multiple of it on, not {each}")
        if not isinstance(run, int) or run < 1 or run & run - 1:
            raise ValueError(f"Run must be a power of two of requests, not {run!r}")
        self._axi = axi
        self._ports = ports
        self._urgent = ports - 1 if urgent is None else urgent
        self._run = run
        self._held = ports if held is None else held
        self._ids = ids
        self.kept = Queue(axi.address_payload, 2)
        super().__init__({"axi": Out(axi), **{f"port{n}": In(axi) for n in range(ports)}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = self.kept
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
        before, count, past = Signal(len(turns)), Signal(range(self._run)), Signal(range(self._run))
        ends = Signal()
        m.d.comb += [
            past.eq(Mux((taken & before) != 0, count, 0)),
            ends.eq(past == self._run - 1),
        ]
        with m.If((urgent == 0) & turns.any() & self._has_room(m)):
            # Those above the one that is served come next, and before them itself in its run.
            m.d.sync += [
                behind.eq(~((taken - 1) | Mux(ends, taken, 0))),
                before.eq(taken),
                count.eq(past + 1),
            ]
        return Cat((urgent & -urgent)[: self._urgent], taken & (urgent == 0).replicate(len(turns)))

    def _has_room(self, m):
        return m.submodules.kept.entries.ready

    def _answer(self, m, ports):
        r = self.axi.r
        beat, valid = Signal(self._axi.data_payload), Signal(self._held)
        m.d.comb += r.ready.eq(1)
        m.d.sync += beat.eq(r.payload)
        for number, port in enumerate(ports):
            ids = self._ids[number]
            shift = (len(ids) - 1).bit_length()
            mine = r.valid & (r.payload.id >> shift == ids.start >> shift)
            if number < self._held:
                m.d.sync += valid[number].eq(mine)
                m.d.comb += [port.r.payload.eq(beat), port.r.valid.eq(valid[number])]
            else:
                m.d.comb += [port.r.payload.eq(r.payload), port.r.valid.eq(mine)]
