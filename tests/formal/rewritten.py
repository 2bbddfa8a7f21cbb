"""A class with pieces of its module's text replaced."""

import inspect
from types import ModuleType

__all__ = ["rewritten"]


def rewritten(module, name, *changes):
    """Class ``name`` of ``module`` with pieces of the module's text replaced.

    Raises
    ------
    ValueError
        If a piece is not there exactly once.
    """
    text = inspect.getsource(module)
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{module.__name__} must hold {old!r} once, not {text.count(old)}")
        text = text.replace(old, new)
    broken = ModuleType(f"{module.__name__}_broken")
    exec(compile(text, broken.__name__, "exec"), broken.__dict__)
    return getattr(broken, name)
