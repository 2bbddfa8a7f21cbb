"""Waveforms that keep, or break, the bus rules about suspends and what they hold."""

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import FULL, SUSPEND, SUSPENDING
from tests.scenarios.onfi_scene import case


def erasing(part=SUSPENDING):
    """LUN 0 of way 1 erases block 0."""
    made = scene(part)
    made.begin(made.bus.erase(1, 0, 0))
    return made


def programming():
    """LUN 0 of way 1 programs page 2."""
    made = erased(SUSPENDING)
    made.begin(made.bus.program(1, 0, 2))
    return made


def has_erased():
    """LUN 0 of way 1 has erased block 0, and nobody has said so."""
    made = scene(SUSPENDING)
    made.erase(1, 0, 0)
    return made


def has_programmed():
    """LUN 0 of way 1 has programmed page 2, and nobody has said so."""
    made = erased(SUSPENDING)
    made.program(1, 0, 2)
    return made


def held():
    """LUN 0 of way 1 holds the erase of block 0, and has said so."""
    made = erasing()
    made.suspend(1, 0, 0, SUSPEND.erase_suspend)
    return made


def suspended(made, lun=0):
    """Suspends the erase of block 0."""
    made.bus.suspend(1, lun, 0, SUSPEND.erase_suspend)
    return made


def program_suspended(made):
    """Suspends the program of page 2."""
    made.bus.suspend(1, 0, 2, SUSPEND.program_suspend)
    return made


def resume(made):
    """Resumes the erase of block 0; returns the edge of its last cycle."""
    return made.bus.suspend(1, 0, 0, SUSPEND.erase_resume)


def resumed(made):
    """Resumes the erase of block 0; it is over, and the LUN has said so."""
    made.wait(resume(made), 1, 0)
    made.bus.status_enhanced(1, 0, 0)


@case(BusRule.OPCODE)
def suspend_of_a_part_without(broken):
    made = erasing(FULL if broken else SUSPENDING)
    made.bus.begin(1)
    made.bus.command(SUSPEND.erase_suspend)
    return made


@case(BusRule.ROW)
def suspend_beyond_the_lun(broken):
    made = erasing()
    made.bus.suspend(1, 0, 12 if broken else 11, SUSPEND.erase_suspend)
    return made


@case(BusRule.BUSY)
def resume_of_a_lun_that_reads(broken):
    made = held()
    confirm = made.bus.sense(1, 0, 4)
    made.begin(confirm)
    if not broken:
        made.wait(confirm, 1, 0)
    resume(made)
    return made


@case(BusRule.T_WB_ACCESS)
def suspend_within_twb(broken):
    """The opcode's first cycle counts, as it does in a status command."""
    made = scene(SUSPENDING)
    confirm = made.bus.erase(1, 0, 0)
    # A clock with CE# high, then tCS.
    begin = confirm + made.bus.limit("wb") - made.bus.limit("cs") - 1
    made.bus.until(begin - broken)
    return suspended(made)


@case(BusRule.TARGET_IDLE)
def identifier_of_a_way_that_holds_an_erase(broken):
    made = held()
    if not broken:
        resumed(made)
    made.bus.ask(1, Opcode.READ_ID)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_after_a_resume(broken):
    made = held()
    made.read(1, 0, 4)
    resumed(made)
    if not broken:
        made.read(1, 0, 4)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.STATUS_BITS)
def array_at_work_behind_a_suspend_alone(broken):
    """RDY without ARDY is right while something is held, and wrong after FFh."""
    made = held()
    ready = made.wait(made.bus.reset(1), 1)
    made.bus.until(ready + 20)
    first = made.bus.status_enhanced(1, 0, 0)
    shown = first + made.bus.limit("rpre") + made.bus.limit("dqsre")
    if broken:
        made.forced[shown] = {"dq_i": 0xC0C0}
    return made


@case(BusRule.SUSPEND_ORDER)
def suspend_of_a_read(broken):
    made = scene(SUSPENDING)
    made.begin(made.bus.sense(1, 0, 0) if broken else made.bus.erase(1, 0, 0))
    return suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_a_read_after_an_erase(broken):
    """Nobody has said that the erase is over, but a read has begun."""
    made = has_erased()
    if broken:
        made.begin(made.bus.sense(1, 0, 4))
    return suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_a_read_after_a_program(broken):
    made = has_programmed()
    if broken:
        made.begin(made.bus.sense(1, 0, 4))
    return program_suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_a_cached_program(broken):
    made = erased(SUSPENDING)
    confirm = Opcode.PROGRAM_CACHE if broken else Opcode.PROGRAM_CONFIRM
    made.begin(made.bus.program(1, 0, 0, confirm=confirm))
    made.bus.suspend(1, 0, 0, SUSPEND.program_suspend)
    return made


@case(BusRule.SUSPEND_ORDER)
def suspend_of_another_kind(broken):
    made = programming()
    opcode = SUSPEND.erase_suspend if broken else SUSPEND.program_suspend
    made.bus.suspend(1, 0, 2, opcode)
    return made


@case(BusRule.SUSPEND_ORDER)
def suspend_of_another_lun(broken):
    return suspended(erasing(), lun=1 if broken else 0)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_what_is_over(broken):
    """It may be over, but nobody has said so."""
    made = has_erased()
    made.bus.status_enhanced(1, 0 if broken else 1, 0)
    return suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_a_program_that_is_over(broken):
    made = has_programmed()
    made.bus.status_enhanced(1, 0 if broken else 1, 0)
    return program_suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_after_a_reset(broken):
    made = scene(SUSPENDING)
    confirm = made.bus.erase(1, 0, 0)
    made.begin(confirm)
    way = 1 if broken else 0
    made.wait(made.bus.reset(way), way)
    return suspended(made)


@case(BusRule.SUSPEND_ORDER)
def suspend_of_what_is_held(broken):
    made = held()
    if not broken:
        made.begin(resume(made))
    return suspended(made)


@case(BusRule.SUSPEND_ORDER)
def resume_before_the_lun_said_that_it_holds(broken):
    made = erasing()
    made.wait(made.bus.suspend(1, 0, 0, SUSPEND.erase_suspend), 1, 0)
    made.bus.status_enhanced(1, 1 if broken else 0, 0)
    resume(made)
    return made


@case(BusRule.SUSPEND_ORDER)
def resume_of_another_kind(broken):
    made = held()
    opcode = SUSPEND.program_resume if broken else SUSPEND.erase_resume
    made.bus.suspend(1, 0, 0, opcode)
    return made


@case(BusRule.SUSPENDED)
def erase_of_a_lun_that_holds_one(broken):
    made = held()
    made.begin(made.bus.erase(1, 0 if broken else 1, 4))
    return made


@case(BusRule.SUSPENDED)
def program_of_a_lun_that_holds_an_erase(broken):
    made = held()
    made.bus.load(1, 0 if broken else 1, 4)
    return made


@case(BusRule.SUSPENDED)
def cached_read_of_a_lun_that_holds_an_erase(broken):
    made = held()
    made.read(1, 0, 4)
    made.read(1, 1, 4)
    made.alone(1, 0 if broken else 1, Opcode.READ_CACHE)
    return made


@case(BusRule.SUSPENDED)
def erase_before_the_lun_said_that_it_holds_one(broken):
    made = erasing()
    made.wait(made.bus.suspend(1, 0, 0, SUSPEND.erase_suspend), 1, 0)
    made.bus.erase(1, 0 if broken else 1, 4)
    return made


@case(BusRule.SUSPENDED_ROW)
def read_of_the_page_under_program(broken):
    made = programming()
    made.suspend(1, 0, 2, SUSPEND.program_suspend)
    made.read(1, 0, 2 if broken else 3)
    return made


@case(BusRule.SUSPENDED_ROW)
def read_of_the_block_under_erase(broken):
    made = held()
    made.read(1, 0, 3 if broken else 4)
    return made


@case(BusRule.SUSPENDED_ROW)
def read_after_the_resume(broken):
    """The page may be read when the erase is over."""
    made = held()
    made.read(1, 0, 4)
    if not broken:
        resumed(made)
    made.read(1, 0, 0)
    return made
