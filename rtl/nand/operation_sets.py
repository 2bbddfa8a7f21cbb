"""Sets of channel operations as hardware conditions, from the one table of their steps."""

from rtl.contract.operations import OPERATIONS

__all__ = ["is_any"]


def is_any(operation, predicate):
    """Whether ``operation`` is one whose :class:`OperationSteps` satisfy ``predicate``."""
    return operation.matches(*(code for code, steps in OPERATIONS.items() if predicate(steps)))
