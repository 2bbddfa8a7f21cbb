"""The blocks of a user's that a system's configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.config.load import LoadedConfig
from cosim.config.model import System
from cosim.config.own import OwnBlock
from cosim.config.part import nearest
from cosim.config.yaml_source import KeyPath
from cosim.errors import UserError
from cosim.own.block import Own, find_block

__all__ = ["BLOCKS", "OwnRtl", "block_of", "blocks", "digests", "find_own", "named_system"]

BLOCKS = ("gather", "flash_channel")
"""Keys of a system that name a block."""


@dataclass(frozen=True)
class OwnRtl:
    """What of a system's RTL is the user's; None is ours."""

    gather: Own | None = None
    flash_channel: Own | None = None

    @property
    def digests(self) -> dict[str, Mapping[str, str]]:
        """SHA-256 of what each block consists of: of its files, or of its netlist."""
        found = {"gather": self.gather, "flash_channel": self.flash_channel}
        return {key: own.digests for key, own in found.items() if own is not None}


def find_own(loaded: LoadedConfig, system: System) -> OwnRtl:
    """The blocks that take the place of ours in ``system``.

    Raises
    ------
    UserError
        If one is not what it should be, or two of them have files of one name.
    """
    found = {key: block_of(loaded, system, key) for key in BLOCKS}
    names: dict[str, Path] = {}
    for own in found.values():
        for path in () if own is None else own.files:
            other = names.setdefault(path.name, path)
            if other.resolve() != path.resolve():
                raise UserError(
                    f"{loaded.source.file}: {system.name}: verilog must be files of different "
                    f"names, not {other} and {path}"
                )
    return OwnRtl(**found)


def blocks(system: System) -> list[OwnBlock | None]:
    """What a system's configuration says of each of :data:`BLOCKS`."""
    return [getattr(system, key, None) for key in BLOCKS]


def named_system(loaded: LoadedConfig, name: str) -> System:
    """The system of that name; :exc:`UserError` if there is none."""
    known = {system.name: system for system in loaded.config.systems}
    if name not in known:
        raise UserError(
            f"--system must name one of {loaded.source.file}, not {name!r}{nearest(name, known)}"
        )
    return known[name]


def block_of(loaded: LoadedConfig, system: System, key: str) -> Own | None:
    """Block ``key`` of :data:`BLOCKS`; None if it is ours."""
    block: OwnBlock | None = getattr(system, key, None)
    if block is None:
        return None
    number = loaded.config.systems.index(system)
    written: Any = loaded.source.values.get("systems", [])
    for place, item in enumerate(written):
        if item.get("name", item.get("kind")) == system.name:
            number = place
    path: KeyPath = ("systems", number, key)
    where = f"{loaded.source.place(path)}: systems[{number}].{key}"
    return find_block(block, Path(loaded.source.file).parent, where)


def digests(owns: Mapping[str, OwnRtl]) -> dict[str, Any]:
    """Of each system with a block of the user's: what its blocks consist of."""
    return {name: own.digests for name, own in owns.items() if own.digests}
