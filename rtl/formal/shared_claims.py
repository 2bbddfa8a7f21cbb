"""Claims about commands that share a flash channel, for a :class:`ChannelCheck`."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cat, Cover, Mux, Signal

from rtl.formal.monitors import transfers

__all__ = [
    "complete_in_order",
    "each_completes_once",
    "each_completes_within",
    "finish_together",
]

TAG_BITS = 2
"""Of the tags of all commands that come."""


class _Followed:
    """A command that the model checker chooses, by its tag, which no other command has.

    ``ends`` is a completion by its tag, and ``is_open`` from the clock after the one that took the
    command to that of its completion.
    """

    def __init__(self, m, check):
        commands, completions = check.controller.commands, check.controller.completions
        tag = AnyConst(TAG_BITS)
        self.is_open = Signal()
        begins = transfers(commands) & (commands.payload.tag == tag)
        self.ends = transfers(completions) & (completions.payload.tag == tag)
        m.d.sync += self.is_open.eq(begins | self.is_open & ~self.ends)


def each_completes_once(m, check):
    """A command completes once at most, by its tag, after it came, and nothing else completes."""
    command, completions = _Followed(m, check), check.controller.completions
    with m.If(command.ends):
        m.d.comb += Assert(command.is_open)
    with m.If(transfers(completions)):
        m.d.comb += Assert(completions.payload.tag < 1 << TAG_BITS)


def complete_in_order(m, check):
    """Commands, whose tags count them, complete in the order in which they came."""
    commands, completions = check.controller.commands, check.controller.completions
    came, ended = Signal(TAG_BITS + 1), Signal(TAG_BITS + 1)
    m.d.sync += [came.eq(came + transfers(commands)), ended.eq(ended + transfers(completions))]
    with m.If(transfers(completions)):
        m.d.comb += Assert((ended < came) & (completions.payload.tag == ended))


def each_completes_within(bound):
    """Claim that a command is open for at most ``bound`` clocks, whatever else is."""

    def claim(m, check):
        command, waited = _Followed(m, check), Signal(range(bound + 1))
        m.d.sync += waited.eq(Mux(command.is_open, waited + 1, 0))
        m.d.comb += Assert(~command.is_open | (waited != bound))

    return claim


def finish_together(count):
    """Not a claim but a goal: the first ``count`` commands complete.

    All were open at once, and all dies busy at once.
    """

    def goal(m, check):
        commands, completions = check.controller.commands, check.controller.completions
        came, ended = Signal(range(count + 1)), Signal(range(count + 1))
        were_open, were_busy = Signal(), Signal()
        m.d.sync += [came.eq(came + transfers(commands)), ended.eq(ended + transfers(completions))]
        with m.If((came == count) & (ended == 0)):
            m.d.sync += were_open.eq(1)
        with m.If(~Cat(die.rb_n for die in check.dies).any()):
            m.d.sync += were_busy.eq(1)
        m.d.comb += Cover((ended == count) & were_open & were_busy)

    return goal
