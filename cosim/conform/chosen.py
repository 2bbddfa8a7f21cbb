"""Which system's block is judged, and by which cases."""

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from cosim.config.load import LoadedConfig
from cosim.config.model import System
from cosim.errors import UserError
from cosim.own.find import named_system

__all__ = ["chosen_cases", "chosen_system"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


CaseT = TypeVar("CaseT", bound=_Named)


def chosen_system(loaded: LoadedConfig, name: str | None, key: str) -> System:
    """System ``name``, or the first whose block ``key`` is the user's, or else the first with one.

    Raises
    ------
    UserError
        If there is none.
    """
    known = [each for each in loaded.config.systems if key in type(each).model_fields]
    if not known:
        raise UserError(f"{loaded.source.file}: systems must have one with a {key} key")
    if name is not None:
        named = named_system(loaded, name)
        if named not in known:
            raise UserError(f"--system must name a system with a {key} key, not {name!r}")
        return named
    return ([each for each in known if getattr(each, key) is not None] or known)[0]


def chosen_cases(cases: Sequence[CaseT], pattern: str) -> list[CaseT]:
    """Cases whose names a regular expression finds.

    Raises
    ------
    UserError
        If it is none, or finds none.
    """
    try:
        chosen = [case for case in cases if re.search(pattern, case.name)]
    except re.error as error:
        raise UserError(
            f"--filter must be a regular expression, not {pattern!r}: {error}"
        ) from None
    if not chosen:
        known = ", ".join(case.name for case in cases)
        raise UserError(f"--filter must find one of {known}; {pattern!r} does not")
    return chosen
