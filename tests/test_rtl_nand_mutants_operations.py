# amaranth: UnusedElaboratable=no
"""Channels with a slip in operations beyond the plain read: one rule of the bus catches each.

As in ``test_rtl_nand_mutants``: each mutant is a change of a line or two in the source, on a
channel with real dies, and nobody but the checker would know. Statuses, data that is read, pages
that are programmed and features are those of the channel without the slip; so are all stamps,
unless the slip makes an operation shorter or longer.
"""

from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType

import pytest

from rtl.contract.channel import ChannelOperation
from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import BusRule
from rtl.contract.operations import OPERATIONS
from rtl.nand import (
    burst,
    command_cycles,
    die_arrays,
    lun_orders,
    lun_suspends,
    operation_states,
    operation_table,
    sequencer,
    timing,
)
from rtl.nand.die import NandDie
from tests.mutation import mutated, put_in_place
from tests.operation_scenes import (
    CACHED_READS,
    DATA,
    ERASE,
    FEATURE,
    FULL,
    FULL_TWO_LUNS,
    FULL_TWO_PLANES,
    IN_A_ROW,
    INTO_THE_NEXT_BLOCK,
    OTHER_PLANE,
    PIECES,
    PROGRAM,
    SUSPENDING,
    commands,
)
from tests.unit_operations_bench import OperationUnitBench

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Mutant:
    """What is wrong with ``module`` (see :func:`tests.mutation.mutated`), and where it shows."""

    module: ModuleType
    diff: str
    commands: tuple
    part: NandPart = FULL
    ways: int = 1
    moves: bool = False
    """Operations become shorter or longer."""
    suspends: int = 0
    quick: tuple = ()
    """Times of the dies, which are quicker than their data sheet says."""


MUTANTS = {
    # DQS is driven a clock too early: the preamble grows.
    BusRule.T_ADL: Mutant(
        burst,
        """
        -with m.State("GAP"), m.If((wait == 0) & self.data.valid):
        -    m.d.sync += [self.dqs_oe.eq(1), wait.eq(timing.write_preamble - 1)]
        -    m.next = "PREAMBLE"
        +with m.State("GAP"):
        +    m.d.sync += self.dqs_oe.eq(wait <= 1)
        +    with m.If((wait == 0) & self.data.valid):
        +        m.d.sync += [self.dqs_oe.eq(1), wait.eq(timing.write_preamble - 1)]
        +        m.next = "PREAMBLE"
        """,
        PROGRAM,
    ),
    # The same after 85h alone.
    BusRule.T_CCS_WRITE: Mutant(
        burst,
        """
        -with m.State("GAP"), m.If((wait == 0) & self.data.valid):
        -    m.d.sync += [self.dqs_oe.eq(1), wait.eq(timing.write_preamble - 1)]
        -    m.next = "PREAMBLE"
        +with m.State("GAP"):
        +    m.d.sync += self.dqs_oe.eq(self.is_more & (wait <= 1))
        +    with m.If((wait == 0) & self.data.valid):
        +        m.d.sync += [self.dqs_oe.eq(1), wait.eq(timing.write_preamble - 1)]
        +        m.next = "PREAMBLE"
        """,
        PIECES,
    ),
    # The preamble is a clock short.
    BusRule.T_WPRE: Mutant(
        timing,
        """
        -return self._cycles(self.part.extended.t_wpre_ps)
        +return self._cycles(self.part.extended.t_wpre_ps) - 1
        """,
        PROGRAM,
        moves=True,
        quick=(("t_wpre_ps", 5_000),),
    ),
    # The postamble is a clock short.
    BusRule.T_WPST: Mutant(
        timing,
        """
        -return self._cycles(self.part.extended.t_wpst_ps)
        +return self._cycles(self.part.extended.t_wpst_ps) - 1
        """,
        PROGRAM,
        moves=True,
        quick=(("t_wpst_ps", 15_000),),
    ),
    # A long burst is cut in two, and DQS released between them.
    BusRule.WRITE_SOURCE: Mutant(
        burst,
        """
         with m.State("DATA"):
        -    with m.If(left != 0):
        +    with m.If((left != 0) & (left != 100)):
                 m.d.comb += self.data.ready.eq(1)

         with m.State("POSTAMBLE"), m.If(wait == 0):
        -    m.d.comb += self.done.eq(1)
             m.d.sync += self.dqs_oe.eq(0)
        -    m.next = "IDLE"
        +    with m.If(left == 0):
        +        m.d.comb += self.done.eq(1)
        +        m.next = "IDLE"
        +    with m.Else():
        +        m.next = "GAP"
        """,
        PROGRAM,
        moves=True,
    ),
    # DQS is driven from the last address cycle on, while ALE is still high.
    BusRule.WRITE_ALONE: Mutant(
        burst,
        """
         with m.State("IDLE"), m.If(self.start):
             m.d.sync += left.eq(self.length)
             m.d.sync += wait.eq(write_wait(self, timing))
        +    m.d.sync += self.dqs_oe.eq(1)
        """,
        PROGRAM,
        replace(
            FULL, t_wh_ps=30_000, t_wc_ps=50_000, extended=replace(FULL.extended, t_adl_ps=5_000)
        ),
    ),
    # Zeros are left to whatever pulls the bus down.
    BusRule.WRITE_DRIVEN: Mutant(
        burst,
        """
        -self.dq_oe.eq(1),
        +self.dq_oe.eq(self.data.payload != 0),
        """,
        PROGRAM,
    ),
    # A feature has a pair of bytes too many, which the die does not take any more.
    BusRule.WRITE_LENGTH: Mutant(
        sequencer,
        """
        -write.length.eq(length),
        +write.length.eq(length + 2 * (operation.operation == ChannelOperation.SET_FEATURES)),

        -from rtl.contract.onfi import Opcode
        +from rtl.contract.onfi import Opcode
        +from rtl.contract.channel import ChannelOperation
        """,
        FEATURE,
        moves=True,
    ),
    # DQS rests before the last pair.
    BusRule.WRITE_PAUSE: Mutant(
        burst,
        """
         with m.State("DATA"):
        -    with m.If(left != 0):
        +    with m.If(left == self._phases):
        +        m.d.sync += self.dqs_o.eq(0)
        +        m.next = "PREAMBLE"
        +    with m.Elif(left != 0):
                 m.d.comb += self.data.ready.eq(1)
        """,
        PROGRAM,
        moves=True,
    ),
    # A burst is a pair too long; the die has no place for it.
    BusRule.WRITE_PAGE_END: Mutant(
        burst,
        """
         with m.State("IDLE"), m.If(self.start):
        -    m.d.sync += left.eq(self.length)
        +    m.d.sync += left.eq(self.length + 2)
             m.d.sync += wait.eq(write_wait(self, timing))
        """,
        PROGRAM,
        moves=True,
    ),
    # FFh, too, follows the address of its LUN.
    BusRule.LOAD_LEFT: Mutant(
        command_cycles,
        """
        -if part.luns > 1 and steps.address is AddressCycles.NONE and not steps.is_target:
        +if part.luns > 1 and steps.address is AddressCycles.NONE:
        """,
        commands((ChannelOperation.LOAD, {}), (ChannelOperation.RESET, {})),
        FULL_TWO_LUNS,
        moves=True,
    ),
    # All programs are confirmed by 15h: the LUN is ready before its array has done the work.
    BusRule.TARGET_IDLE: Mutant(
        command_cycles,
        """
        -"confirm": steps.confirm or 0,
        +"confirm": Opcode.PROGRAM_CACHE if steps.programs else steps.confirm or 0,
        """,
        commands(
            ERASE,
            (ChannelOperation.PROGRAM, {}),
            (ChannelOperation.READ_ID, {"row": 0x20, "length": 4}),
        ),
        moves=True,
    ),
    # An address of one byte has the bits of its LUN, too.
    BusRule.TARGET_ADDRESS: Mutant(
        operation_table,
        """
        -return Mux(is_byte, command.row, super()._row_cycles(command))
        +return super()._row_cycles(command)
        """,
        commands((ChannelOperation.READ_PARAMETER_PAGE, {"lun": 1})),
        FULL_TWO_LUNS,
    ),
    # A cached read takes the short form; the page is the next one in any case.
    BusRule.CACHE_ORDER: Mutant(
        command_cycles,
        """
         found = {code: steps for code, steps in OPERATIONS.items() if steps.first is not None}
        +short = ChannelOperation.READ_CACHE_SEQUENTIAL
        +found[ChannelOperation.READ_CACHE_RANDOM] = found[short]
        """,
        INTO_THE_NEXT_BLOCK,
        moves=True,
    ),
    # The last cached read asks for one more page, which nobody wants.
    BusRule.ARRAY_BUSY: Mutant(
        command_cycles,
        """
         found = {code: steps for code, steps in OPERATIONS.items() if steps.first is not None}
        +further = ChannelOperation.READ_CACHE_SEQUENTIAL
        +found[ChannelOperation.READ_CACHE_END] = found[further]
        """,
        CACHED_READS,
    ),
    # A page that is sensed without a transfer is queued; a program of the other plane drops it.
    BusRule.PLANE_ORDER: Mutant(
        command_cycles,
        """
         found = {code: steps for code, steps in OPERATIONS.items() if steps.first is not None}
        +queued = replace(found[ChannelOperation.SENSE], confirm=Opcode.READ_MULTI_PLANE)
        +found[ChannelOperation.SENSE] = queued
        """,
        OTHER_PLANE,
        FULL_TWO_PLANES,
        moves=True,
    ),
    # A page that is read is not sensed: its data is still in the register.
    BusRule.PAGE_REGISTER: Mutant(
        lun_orders,
        """
        -"is_silent": lambda steps: steps.first is None,
        +"is_silent": lambda steps: steps.first in (None, Opcode.READ),
        """,
        PROGRAM,
        moves=True,
    ),
    # A second command takes the place of the first.
    BusRule.PROGRAM_ORDER: Mutant(
        operation_states,
        """
        -self.head.eq(self.head ^ (self.take | put_aside)),
        +self.head.eq(self.head ^ self.take ^ self.accept & occupied),
        """,
        IN_A_ROW,
        ways=2,
        moves=True,
    ),
    # Erases are left out; their status is good.
    BusRule.PROGRAM_ERASED: Mutant(
        lun_orders,
        """
        -"is_silent": lambda steps: steps.first is None,
        +"is_silent": lambda steps: steps.first in (None, Opcode.BLOCK_ERASE),
        """,
        PROGRAM,
        moves=True,
    ),
    # A die: its array rests while the LUN is busy.
    BusRule.STATUS_BITS: Mutant(
        die_arrays,
        """
        -self.at_rest.eq(self.ready & ~working & ~held),
        +self.at_rest.eq(~working & ~held),
        """,
        PROGRAM,
        FULL_TWO_LUNS,
    ),
    # What was over when the suspend came is taken to be held, and is resumed.
    BusRule.SUSPEND_ORDER: Mutant(
        lun_suspends,
        """
        -& (self.is_rdy & ~self.is_ardy).replicate(self._luns)
        +& self.is_rdy.replicate(self._luns)
        """,
        commands(ERASE, (ChannelOperation.READ, {"row": 4, "edge": 20})),
        SUSPENDING,
        moves=True,
        suspends=1,
    ),
    # A read of the block under erase does not wait either; it finds it erased.
    BusRule.SUSPENDED_ROW: Mutant(
        operation_table,
        """
        -m.d.comb += states.conflicts.eq(conflicts)
        +m.d.comb += states.conflicts.eq(0)
        """,
        commands(ERASE, (ChannelOperation.READ, {"row": 2})),
        replace(SUSPENDING, extended=replace(FULL.extended, t_bers_ps=2_000_000)),
        moves=True,
        suspends=1,
    ),
}


def play(mutant):
    """Rules broken, what came of the commands, and the completions."""
    slots = {0: bytes(DATA), 1: bytes(DATA[::-1])}
    bench = OperationUnitBench(mutant.part, mutant.ways, launch=slots, suspends=mutant.suspends)
    completions = bench.run(mutant.commands)
    pages = {
        command.tag: bench.page(command.way, command.lun, command.row)
        for command in mutant.commands
        if OPERATIONS[command.operation].programs
    }
    statuses = {completion["tag"]: completion["status"] for completion in completions}
    rules = {BusRule(rule) for _, rule, _ in bench.violations}
    return rules, (statuses, bench.data, pages, bench.features), completions


@cache
def right(scene):
    """What :func:`play` finds without the slip."""
    return play(scene)


def scene_of(mutant):
    """The mutant without its slip, that others may share."""
    return replace(mutant, module=None, diff="", moves=False, quick=())


@pytest.mark.parametrize("rule", MUTANTS, ids=lambda rule: rule.name)
def test_a_mutant_breaks_its_rule_alone(monkeypatch, rule):
    mutant = MUTANTS[rule]
    _, outcome, completions = right(scene_of(mutant))
    put_in_place(monkeypatch, mutant.module, mutated(mutant.module, mutant.diff))
    if mutant.quick:
        extended = replace(mutant.part.extended, **dict(mutant.quick))
        part = replace(mutant.part, extended=extended)
        monkeypatch.setattr("rtl.nand.unit.NandDie", lambda _, **sizes: NandDie(part, **sizes))
    rules, found, stamps = play(mutant)
    assert rules == {rule}
    assert found == outcome
    assert (stamps != completions) == mutant.moves


@pytest.mark.parametrize(
    "scene", dict.fromkeys(map(scene_of, MUTANTS.values())), ids=lambda scene: scene.part.name
)
def test_no_rule_is_broken_without_the_slip(scene):
    rules, (statuses, _, _, _), _ = right(scene)
    assert rules == set()
    assert set(statuses.values()) == {0}
