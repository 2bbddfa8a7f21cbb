"""Errors of parameter objects in the words of the platform file that they were made from."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cosim.config.yaml_source import KeyPath, YamlSource, dotted
from cosim.errors import UserError

__all__ = ["naming"]

_WORD = re.compile(r"\b[A-Za-z][a-z0-9_]*\b")
_UNITS = ("_ps", "_bytes", "_hours", "_ppm", "_ppt")
_OTHER_NAMES = {
    "bytes_per_second": ("rate",),
    "completion_entries": ("queue_entries",),
    "m": ("field_bits",),
    "order": ("striping",),
    "outstanding": ("outstanding_reads",),
    "parity_bytes": ("corrected_bits",),
    "read_request_bytes": ("max_read_request",),
    "slot_bytes": ("stage_slot",),
    "slots": ("landing_slots", "stage_slots"),
    "submission_entries": ("queue_entries",),
    "t": ("corrected_bits",),
}
"""Names of parameters that differ from their constants' by more than a unit."""


@contextmanager
def naming(part: str, source: YamlSource | None = None, *keys: str) -> Iterator[None]:
    """Make an error of a parameter object or of hardware one of the platform ``part``.

    With the ``source`` of the platform it is one of file and line: of the constant that it begins
    with, looked for below ``keys``; but of an override where the message mentions one.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        if source is None:
            raise UserError(f"platform {part}: {error}") from None
        bases: list[KeyPath] = [tuple(key.split(".")) if key else () for key in keys or ("",)]
        raise _explain(str(error), part, source, bases) from None


def _explain(message: str, part: str, source: YamlSource, bases: list[KeyPath]) -> UserError:
    mentioned: dict[KeyPath, None] = {}

    def plain(match: re.Match[str]) -> str:
        for base in bases:
            path = _constant(match[0], source.values, base)
            if path is not None:
                mentioned[path] = None
                return str(path[-1])
        return match[0]

    text = _WORD.sub(plain, message)
    if not mentioned:
        mentioned[bases[0]] = None
    changed = [path for path in mentioned if (*path, "value") in source.labels]
    path = (changed or list(mentioned))[0]
    key = source.labels.get((*path, "value"), ".".join(filter(None, (part, dotted(path)))))
    rest = text.removeprefix(f"{path[-1]} " if path else "")
    between = " " if rest != text else ": "
    return UserError(f"{source.place((*path, 'value'))}: {key}{between}{rest}")


def _constant(word: str, values: Any, base: KeyPath) -> KeyPath | None:
    """Path of the constant that a parameter's name ``word`` stands for, at ``base`` or below."""
    for name in base:
        # A part file may leave a section out, as that of suspends.
        values = values.get(name) if isinstance(values, Mapping) else None
    if not isinstance(values, Mapping):
        return None
    word = word.lower()
    word = next((name for name in _OTHER_NAMES.get(word, ()) if name in values), word)
    for unit in _UNITS:
        word = word.removesuffix(unit)
    if "value" in values:
        return base if base and word == base[-1] else None
    return (*base, word) if word in values and "value" in values[word] else None
