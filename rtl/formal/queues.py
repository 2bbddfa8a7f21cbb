"""Queues and mailboxes between a writer and a reader that do what they may do."""

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.formal.monitors import claim_conserved, claim_stable, transfers

__all__ = ["MailboxCheck", "QueueCheck"]


class QueueCheck(wiring.Component):
    """A queue that is offered words, and asked for them, in any clock.

    Claims: words on offer are stable; words come out in order, each once; it never holds more than
    ``depth``, and it takes a word whenever it holds less.

    Parameters
    ----------
    queue : rtl.gather.queue.Queue
        What is checked: streams ``entries`` and ``head``.
    depth : int
        Its places.

    Members
    -------
    clk, offer, word, taken : In
        Clock, and the model checker's choices.
    """

    def __init__(self, queue, depth):
        self._queue = queue
        self._depth = depth
        bits = len(Value.cast(queue.entries.payload))
        super().__init__({"clk": In(1), "offer": In(1), "word": In(bits), "taken": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.queue = queue = self._queue
        m.d.comb += [
            ClockSignal().eq(self.clk),
            queue.entries.valid.eq(self.offer),
            Value.cast(queue.entries.payload).eq(self.word),
            queue.head.ready.eq(self.taken),
        ]
        claim_stable(m, queue.head)
        put = transfers(queue.entries)
        claim_conserved(m, put, queue.entries.payload, queue.head, self._depth)
        return m


class MailboxCheck(wiring.Component):
    """A mailbox whose writer hands words over in any clock, but never more than fit.

    Claims: as of :class:`QueueCheck`, from the clock on in which the toggle has changed.

    Parameters
    ----------
    mailbox : Component
        What is checked: ``word`` and ``toggle``.
    output : stream.Interface
        Its stream of words.
    depth : int
        Words that may be waiting.

    Members
    -------
    clk, hand, word, taken : In
        Clock, and the model checker's choices.
    """

    def __init__(self, mailbox, output, depth):
        self._mailbox = mailbox
        self._output = output
        self._depth = depth
        bits = len(Value.cast(mailbox.word))
        super().__init__({"clk": In(1), "hand": In(1), "word": In(bits), "taken": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.mailbox = mailbox = self._mailbox
        output = self._output
        waiting, hands, handed = Signal(range(self._depth + 1)), Signal(), Signal()
        word, toggle = Signal(len(self.word)), Signal()
        m.d.comb += [
            ClockSignal().eq(self.clk),
            hands.eq(self.hand & (waiting != self._depth)),
            Value.cast(mailbox.word).eq(word),
            mailbox.toggle.eq(toggle),
            output.ready.eq(self.taken),
        ]
        m.d.sync += [handed.eq(hands), waiting.eq(waiting + hands - transfers(output))]
        with m.If(hands):
            m.d.sync += [word.eq(self.word), toggle.eq(~toggle)]
        claim_stable(m, output)
        claim_conserved(m, handed, word, output, self._depth)
        return m
