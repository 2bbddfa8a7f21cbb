"""Joins AXI4 write ports into one. Synthesisable."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.gather.queue import Queue

__all__ = ["WriteArbiter"]


class WriteArbiter(wiring.Component):
    """Lets write ports onto one bus by turns, burst by burst, without a clock of delay.

    Data follows in the order of the addresses, each burst's from its own port; a port may offer
    data as early as it likes. Responses go to the port whose number is their ID.

    Parameters
    ----------
    axi : Axi4Write
        Signature of all ports.
    ports : int
        How many; port n uses ID n alone.
    depth : int
        Bursts whose address was taken and whose data was not; a power of two.

    Members
    -------
    port0, port1, ... : In(Axi4Write)
        The ports.
    axi : Out(Axi4Write)
        The bus.
    """

    def __init__(self, axi, ports, *, depth=64):
        if not 1 <= ports <= 1 << axi.id_bits:
            raise ValueError(f"ID width must tell {ports} ports apart, not {axi.id_bits} bits")
        self._ports = ports
        self._depth = depth
        super().__init__({"axi": Out(axi), **{f"port{n}": In(axi) for n in range(ports)}})

    def elaborate(self, platform):
        m = Module()
        ports = [getattr(self, f"port{number}") for number in range(self._ports)]
        number_shape = range(max(self._ports, 2))
        m.submodules.order = order = Queue(number_shape, self._depth)
        aw, w, b = self.axi.aw, self.axi.w, self.axi.b
        chosen, held, waits = Signal(number_shape), Signal(number_shape), Signal()
        last = Signal(number_shape)
        # The first that asks after the one served last; an offer that was not taken stays.
        for number in reversed(range(self._ports)):
            with m.If(ports[number].aw.valid):
                m.d.comb += chosen.eq(number)
        for number in reversed(range(self._ports)):
            with m.If(ports[number].aw.valid & (number > last)):
                m.d.comb += chosen.eq(number)
        with m.If(waits):
            m.d.comb += chosen.eq(held)
        m.d.sync += [held.eq(chosen), waits.eq(aw.valid & ~aw.ready)]
        with m.If(aw.valid & aw.ready):
            m.d.sync += last.eq(chosen)
        m.d.comb += [
            order.entries.payload.eq(chosen),
            order.entries.valid.eq(aw.valid & aw.ready),
            order.head.ready.eq(w.valid & w.ready & w.payload.last),
        ]
        for number, port in enumerate(ports):
            with m.If(chosen == number):
                m.d.comb += [
                    aw.payload.eq(port.aw.payload),
                    aw.valid.eq(port.aw.valid & order.entries.ready),
                    port.aw.ready.eq(aw.ready & order.entries.ready),
                ]
            with m.If(order.head.valid & (order.head.payload == number)):
                m.d.comb += [
                    w.payload.eq(port.w.payload),
                    w.valid.eq(port.w.valid),
                    port.w.ready.eq(w.ready),
                ]
            m.d.comb += [
                port.b.payload.eq(b.payload),
                port.b.valid.eq(b.valid & (b.payload.id == number)),
            ]
            with m.If(b.payload.id == number):
                m.d.comb += b.ready.eq(port.b.ready)
        return m
