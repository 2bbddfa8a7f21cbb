"""Mutants of hardware: a module's source with a few lines changed, put in the module's place."""

import inspect
import re
import sys
import textwrap
from types import ModuleType

__all__ = ["mutated", "put_in_place"]


def mutated(module, diff):
    """A copy of ``module``, made from its source with the changes of ``diff``.

    ``diff`` has hunks of lines that begin with ``-``, ``+`` or a blank, as in a unified diff, with
    an empty line between hunks and no headers. The old lines of a hunk must occur exactly once,
    whatever the depth of their indentation.
    """
    lines = inspect.getsource(module).splitlines()
    for hunk in re.split(r"\n\s*\n", diff.strip("\n")):
        changes = [line for line in textwrap.dedent(hunk).splitlines() if line]
        _apply(lines, changes, module.__name__)
    mutant = ModuleType(module.__name__)
    code = compile("\n".join(lines), f"{module.__file__} with changes", "exec")
    exec(code, vars(mutant))
    return mutant


def put_in_place(monkeypatch, module, mutant):
    """Let all of the package of ``module`` use the public names of ``mutant`` instead."""
    users = [user for name, user in sys.modules.items() if name.startswith(module.__package__)]
    for name in module.__all__:
        for user in users:
            if vars(user).get(name) is vars(module)[name] and user is not module:
                monkeypatch.setattr(user, name, vars(mutant)[name])


def _apply(lines, hunk, where):
    old = [line[1:] for line in hunk if line[0] in " -"]
    new = [line[1:] for line in hunk if line[0] in " +"]
    places = [
        start
        for start in range(len(lines))
        if _flush(lines[start : start + len(old)]) == _flush(old)
    ]
    assert len(places) == 1, f"{where} has {len(places)} times:\n" + "\n".join(old)
    (start,) = places
    deeper = " " * (_depth(lines[start]) - _depth(old[0]))
    lines[start : start + len(old)] = [deeper + line for line in new]


def _flush(lines):
    return textwrap.dedent("\n".join(lines))


def _depth(line):
    return len(line) - len(line.lstrip())
