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
        If the file cannot be read, is not YAML, names a key twice, or is not a mapping.
    """
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{file}: file must exist, and does not") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: file must be readable text: {error}") from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        places: dict[KeyPath, Place] = {}
        values = None if node is None else _values(loader, node, (), file, places)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{file}:{line}: file must be YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UserError(f"{file}: file must be YAML: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()
    if not isinstance(values, dict):
        found = "nothing" if values is None else f"a {type(values).__name__}"
        raise UserError(f"{file}:1: file must hold a mapping of keys, not {found}")
    return YamlSource(file, values, places)


def _values(
    loader: Any,
    node: yaml.Node,
    path: KeyPath,
    file: str,
    places: dict[KeyPath, Place],
) -> Any:
    places.setdefault(path, Place(file, node.start_mark.line + 1))
    if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
        line = node.start_mark.line + 1
        raise UserError(f"{file}:{line}: file must hold plain YAML, not {node.tag}")
    if isinstance(node, yaml.SequenceNode):
        return [_values(loader, n, (*path, i), file, places) for i, n in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node, deep=True)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            where = f"{dotted(path)} keys" if path else "keys"
            raise UserError(f"{file}:{line}: {where} must be words, not {key!r}")
        if key in values:
            first = places[(*path, key)].line
            raise UserError(
                f"{file}:{line}: {dotted((*path, key))} must be given once, "
                f"and is given in line {first} already"
            )
        places[(*path, key)] = Place(file, line)
        values[key] = _values(loader, value_node, (*path, key), file, places)
    return values
