"""What the reference model of a die keeps of each LUN, and the words between it and the kernel."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rtl.contract.channel import ArrayOperation

KINDS = {
    ArrayOperation.PROGRAM: (ArrayOperation.PROGRAM_SUSPEND, ArrayOperation.PROGRAM_RESUME),
    ArrayOperation.ERASE: (ArrayOperation.ERASE_SUSPEND, ArrayOperation.ERASE_RESUME),
}
"""What can be suspended, and by which operations it is suspended and resumed."""
SUSPENDS, RESUMES = zip(*KINDS.values(), strict=True)
FOR_ALL = {
    ArrayOperation.RESET,
    ArrayOperation.PARAMETER_PAGE,
    ArrayOperation.GET_FEATURES,
    ArrayOperation.SET_FEATURES,
}


class Begin(NamedTuple):
    edge: int
    lun: int
    number: int
    operation: ArrayOperation
    row: int
    register: int


class Answer(NamedTuple):
    """The kernel's answer to a begin; ``pages`` has what it writes, by plane and register."""

    lun: int
    number: int
    is_cached: bool = False
    fail: bool = False
    failc: bool = False
    pages: dict = {}


@dataclass
class Lun:
    """State of one LUN; ``starts`` is the edge of a begin to come."""

    number: int = 0
    starts: int | None = None
    start: tuple = ()
    is_busy: bool = False
    works: bool = False
    kind: ArrayOperation | None = None
    """Operation begun last, but for reads while one is held."""
    is_suspending: bool = False
    is_held: bool = False
    fail: bool = False
    failc: bool = False
    reads: bool = False
    last_row: int = 0
    queued: set = field(default_factory=set)
    cache: dict = field(default_factory=dict)
    sensed: dict = field(default_factory=dict)
