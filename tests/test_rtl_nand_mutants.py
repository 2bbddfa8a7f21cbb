# amaranth: UnusedElaboratable=no
"""Controllers with a slip of their designer's: one rule of the bus catches each, and nothing else.

Each mutant is a change of a line or two in the controller's source, on a channel with real dies.
Data, status and every stamp of the completions, array operations and counters are those of the
channel's twin, so that without the checker nobody would know.
"""

from dataclasses import dataclass, replace
from types import ModuleType

import pytest

from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import BusRule
from rtl.nand import burst, command_cycles, controller, lun_table, sequencer
from tests.mutation import mutated, put_in_place
from tests.nand_bench import CALM, UnitBench
from tests.scenarios.nand import ChannelTwin
from tests.scenarios.nand_reads import Read, page_image

pytestmark = pytest.mark.slow

WAYS = 2


def reads(*spans, spacing):
    """Columns and lengths, read in turn from both ways; the first is of a LUN's last page."""
    return tuple(
        Read(3 + spacing * tag, tag % WAYS, 0, CALM.rows - 1 - tag, column, length, tag)
        for tag, (column, length) in enumerate(spans)
    )


CROWDED = reads((0, 256), (130, 62), (8, 100), (240, 62), spacing=1)
"""All wanted at once; none touches the end of its page."""
APART = reads((0, 64), (130, 62), spacing=350)
"""One after the other: an operation that lasts too long makes nobody wait."""
TO_THE_END = reads((242, 62), (0, 304), spacing=350)

THREE_LUNS = replace(CALM, luns=3, poll_first_ps=1_500_000)
"""The first poll finds a LUN ready."""
ONE_LUN_IDLE = (Read(3, 0, 1, 5, 0, 304, 0), Read(123, 0, 2, 6, 10, 64, 1))
"""LUN 1 is polled, and chosen, while LUN 2 of the same way senses and LUN 0 idles."""

A_CYCLE_MORE = """
-with m.If(is_last):
+is_past = index == CONFIRM + 1
+with m.If(Mux(self.operation.kind == BusOperationKind.ISSUE, is_past, is_last)):
"""
"""A read is over a cycle late; that cycle repeats its confirm."""


@dataclass(frozen=True)
class Mutant:
    """What is wrong with ``module`` (see :func:`tests.mutation.mutated`), and where it shows."""

    module: ModuleType
    diff: str
    reads: tuple
    part: NandPart = CALM


MUTANTS = {
    # The levels of CE# between two operations are written as if it were active high.
    BusRule.CE_ONE_LOW: Mutant(
        sequencer,
        """
        -m.d.sync += self.phy.ce_n.eq(~0)
        +m.d.sync += self.phy.ce_n.eq(0)
        """,
        CROWDED,
    ),
    # RE# is released in a state of its own, a clock after CE#.
    BusRule.NO_TARGET: Mutant(
        burst,
        """
             m.d.comb += self.done.eq(1)
        -    m.d.sync += self.re_n.eq(~Const(0, self._phases))
        +    m.next = "RELEASE"
        +with m.State("RELEASE"):
        +    m.d.sync += self.re_n.eq(~Const(0, self._phases))
        """,
        CROWDED,
    ),
    # ALE leaves through a register that CLE has not.
    BusRule.LATCH_BOTH: Mutant(
        sequencer,
        """
        +m.d.sync += self.phy.ale.eq(cycles.ale)
         m.d.comb += [
             self.phy.cle.eq(cycles.cle),
        -    self.phy.ale.eq(cycles.ale),
        """,
        CROWDED,
        replace(CALM, t_wp_ps=30_000, t_wc_ps=50_000),
    ),
    # 31h follows the 30h of a read, as for a cached one.
    BusRule.OPCODE: Mutant(
        command_cycles,
        A_CYCLE_MORE
        + """
        -m.d.sync += [self.dq_o.eq(steps.confirm), self.cle.eq(1), self.ale.eq(0)]
        +confirm = Mux(index == CONFIRM, steps.confirm, 0x31)
        +m.d.sync += [self.dq_o.eq(confirm), self.cle.eq(1), self.ale.eq(0)]
        """,
        APART,
    ),
    BusRule.SEQUENCE: Mutant(command_cycles, A_CYCLE_MORE, APART),
    # 05h-E0h names the row after the one that was sensed.
    BusRule.ROW: Mutant(
        controller,
        """
        -bus.operation.row.eq(table.context.row),
        +bus.operation.row.eq(table.context.row + (kind == BusOperationKind.TRANSFER)),
        """,
        CROWDED,
    ),
    # Columns are counted from one; dies, which put out pairs, do not mind.
    BusRule.COLUMN: Mutant(
        lun_table,
        """
        -write.data.column.eq(command.column),
        +write.data.column.eq(command.column + 1),
        """,
        CROWDED,
    ),
    # A poll's row lacks the LUN: another LUN's status is taken for it.
    BusRule.BUSY: Mutant(
        controller,
        """
        -bus.operation.row.eq(table.context.row),
        +bus.operation.row.eq(
        +    Mux(
        +        kind == BusOperationKind.POLL,
        +        table.context.row[: (self._part.rows - 1).bit_length()],
        +        table.context.row,
        +    )
        +),
        """,
        ONE_LUN_IDLE,
        THREE_LUNS,
    ),
    # 70h follows the 30h of a read, and nobody looks at the status.
    BusRule.T_WB_ACCESS: Mutant(
        command_cycles,
        A_CYCLE_MORE
        + """
        -m.d.sync += [self.dq_o.eq(steps.confirm), self.cle.eq(1), self.ale.eq(0)]
        +confirm = Mux(index == CONFIRM, steps.confirm, Opcode.READ_STATUS)
        +m.d.sync += [self.dq_o.eq(confirm), self.cle.eq(1), self.ale.eq(0)]
        """,
        APART,
    ),
    # A read ends in a burst as the other operations do.
    BusRule.BURST_SOURCE: Mutant(
        sequencer,
        """
        -is_burst.eq(operation.kind.matches(*BURSTS)),
        +is_burst.eq(1),
        """,
        APART,
    ),
    # RE# is idle after the last pair, and so rises once more.
    BusRule.BURST_LENGTH: Mutant(
        burst,
        """
        -m.d.sync += [self.re_n.eq(0), wait.eq(timing.postamble - 1)]
        +m.d.sync += [self.re_n.eq(~Const(0, self._phases)), wait.eq(timing.postamble - 1)]
        """,
        APART,
        replace(CALM, t_rpst_ps=10_000),
    ),
    # RE# rests after the last pair, then asks for one more; the capture drops it.
    BusRule.BURST_PAUSE: Mutant(
        burst,
        """
        -with m.If(is_final):
        +with m.If(left == self._phases):
        +    m.d.sync += self.re_n.eq(0)
        +    m.next = "PREAMBLE"
        +with m.Elif(is_final):
        """,
        APART,
    ),
    # A burst is a pair too long; the capture drops it.
    BusRule.PAGE_END: Mutant(
        burst,
        """
        -is_final = left <= self._phases
        +is_final = left < self._phases
        """,
        TO_THE_END,
    ),
    # The drivers of DQ stay on for good.
    BusRule.CONTENTION: Mutant(
        command_cycles,
        """
         m.d.comb += self.done.eq(1)
        -m.d.sync += [self.cle.eq(0), self.ale.eq(0), self.dq_oe.eq(0)]
        +m.d.sync += [self.cle.eq(0), self.ale.eq(0)]
        """,
        CROWDED,
    ),
}


def rules_broken(part, played):
    """Rules reported while a channel plays reads and does all that its twin does."""
    bench, twin = UnitBench(part, WAYS), ChannelTwin(part, WAYS)
    assert bench.run(played) == twin.run(played)
    assert bench.begins == twin.begins
    assert {name: bench.counters[name] for name in twin.counters} == twin.counters
    for read in played:
        page = page_image(part, read.way, read.lun, read.row)
        assert bench.data[read.tag] == page[read.column : read.column + read.length]
    return {BusRule(rule) for _, rule, _ in bench.violations}


@pytest.mark.parametrize("rule", MUTANTS, ids=lambda rule: rule.name)
def test_a_mutant_breaks_its_rule_alone(monkeypatch, rule):
    mutant = MUTANTS[rule]
    put_in_place(monkeypatch, mutant.module, mutated(mutant.module, mutant.diff))
    assert rules_broken(mutant.part, mutant.reads) == {rule}


SCENES = list(dict.fromkeys((mutant.part, mutant.reads) for mutant in MUTANTS.values()))


@pytest.mark.parametrize(("part", "played"), SCENES)
def test_the_controller_breaks_no_rule_where_its_mutants_do(part, played):
    assert rules_broken(part, played) == set()
