"""YAML files as plain values, with the file and line of every key for messages."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cosim.errors import UserError

__all__ = ["KeyPath", "Place", "YamlSource", "dotted", "read_yaml"]

KeyPath = tuple[str | int, ...]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where PyYAML was built with it: ten times as fast."""

MAX_NODES = 20_000
"""Far more than any configuration has; aliases of aliases multiply."""

MAX_BITS = 128
"""Of an integer: more could not even be shown in a message."""

_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


@dataclass(frozen=True)
class Place:
    """Where something stands."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class YamlSource:
    """Values of a file, and the place of each key and list item."""

    file: str
    values: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    labels: dict[KeyPath, str] = field(default_factory=dict)
    """What messages call a key that was put in from elsewhere."""

    def place(self, path: KeyPath) -> Place:
        """Place of ``path``, or of the nearest thing around it that stands in the file."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(self.file, 1)

    def error(self, path: KeyPath, message: str) -> UserError:
        """The error ``file:line: key.path message``."""
        label = self.labels.get(path, dotted(path))
        subject = f"{label} " if label else ""
        return UserError(f"{self.place(path)}: {subject}{message}")


def dotted(path: KeyPath) -> str:
    """Key path as people write it: ``systems[0].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_yaml(path: Path | str) -> YamlSource:
    """Read one mapping.

    Raises
    ------
    UserError
        If the file cannot be read, is not YAML, names a key twice, is too large, or is not a
        mapping.
    """
    file = str(path)
    text = _read_text(file)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        reader = _Reader(loader, file)
        values = None if node is None else reader.values(node, ())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{file}:{line}: file must be YAML: {error.problem}") from None
    except RecursionError:
        raise UserError(f"{file}: file must be YAML that is nested less deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{file}: file must be YAML: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()
    if not isinstance(values, dict):
        found = "nothing" if values is None else f"a {type(values).__name__}"
        raise UserError(f"{file}:1: file must hold a mapping of keys, not {found}")
    return YamlSource(file, values, reader.places)


def _read_text(file: str) -> str:
    path = Path(file)
    try:
        if not path.exists():
            raise UserError(f"{file}: file must exist, and does not")
        # A pipe or a device could keep its reader waiting for ever.
        if not path.is_file():
            raise UserError(f"{file}: file must be a regular file")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{file}: file must be readable text: {reason}") from None


class _Reader:
    """Turns the nodes of one file into values, and keeps the place of each.

    Aliases may repeat a thing, but neither contain themselves nor multiply beyond ``MAX_NODES``.
    """

    def __init__(self, loader: Any, file: str) -> None:
        self.places: dict[KeyPath, Place] = {}
        self._loader = loader
        self._file = file
        self._nodes = 0
        self._open: set[int] = set()

    def values(self, node: yaml.Node, path: KeyPath) -> Any:
        """Values of ``node``, which stands at ``path``."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._error(node, f"file must have at most {MAX_NODES} values, aliases followed")
        self.places.setdefault(path, Place(self._file, node.start_mark.line + 1))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node.tag not in _PLAIN_TAGS:
            raise self._error(node, f"file must hold plain YAML, not {node.tag}")
        if id(node) in self._open:
            raise self._error(node, f"{dotted(path)} must not contain itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.values(item, (*path, i)) for i, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._open.remove(id(node))

    def _mapping(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                where = f"{dotted(path)} keys" if path else "keys"
                found = "a list or mapping" if key is None else repr(key)
                raise self._error(key_node, f"{where} must be words, not {found}")
            if key in values:
                first = self.places[(*path, key)].line
                raise self._error(
                    key_node,
                    f"{dotted((*path, key))} must be given once, "
                    f"and is given in line {first} already",
                )
            self.places[(*path, key)] = Place(self._file, key_node.start_mark.line + 1)
            values[key] = self.values(value_node, (*path, key))
        return values

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            value = self._loader.construct_object(node, deep=True)
        except yaml.MarkedYAMLError:
            raise
        except Exception:  # a constructor fails on text that is not of its tag, each in its own way
            kind = node.tag.rpartition(":")[2]
            raise self._error(node, f"file must be YAML: {node.value!r:.60} is no {kind}") from None
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise self._error(node, f"file must have integers of at most {MAX_BITS} bits")
        return value

    def _error(self, node: yaml.Node, message: str) -> UserError:
        return UserError(f"{self._file}:{node.start_mark.line + 1}: {message}")
