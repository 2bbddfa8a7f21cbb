# amaranth: UnusedElaboratable=no
# (Blocks are made to see whether they can be, and only some of them become hardware.)
"""Blocks of a user's that take the place of ours, found and ready to be made into components."""

import contextlib
import hashlib
import importlib
import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, UnusedElaboratable, Value
from amaranth.lib import wiring

from cosim.config.own import OwnBlock
from cosim.config.part import nearest
from cosim.errors import UserError
from cosim.own.verilog import HEADERS, SOURCES, VerilogRefused, module_names, read_ports
from rtl.block import VerilogBlock, leaves, ports

__all__ = ["OURS", "AmaranthOwn", "Own", "VerilogOwn", "find_block"]

Ports = Mapping[str, tuple[bool, int]]

OURS = (
    "csd_top", "csd_dump", "sim_ram", "unit_clock", "nand_die", "flash_channel_unit",
    "flash_channel_unit_domain", "gather_unit", "gather_unit_domain", "gather_core", "own_block",
)  # fmt: skip
"""Names of modules that are taken."""


_FINE_TIMESCALE = re.compile(r"`timescale[^\n]*/\s*\d+\s*fs")


@dataclass(frozen=True)
class VerilogOwn:
    """Module ``top`` of Verilog files.

    ``place`` is where the configuration says so, for messages; ``digests`` are the SHA-256 of the
    files' contents.
    """

    place: str = field(repr=False)
    files: tuple[Path, ...] = field(repr=False)
    top: str
    parameters: Mapping[str, int | str | bool]
    found: Ports = field(repr=False)
    digests: Mapping[str, str]
    is_verilog = True

    def component(self, signature: Any, arguments: Mapping[str, Any]) -> Any:
        """The block as a component of ``signature``, whose emitted ports it must have.

        ``arguments`` are those that ours is made with; a Verilog module gets none of them.

        Raises
        ------
        UserError
            If it has not.
        """
        _check(self.place, ports(signature), self.found)
        return VerilogBlock(signature, self.top, self.parameters)


@dataclass(frozen=True)
class AmaranthOwn:
    """An Amaranth component; ``digests`` is that of its netlist, once one has been made."""

    place: str = field(repr=False)
    name: str
    make: Any = field(repr=False)
    module: ModuleType | None = field(repr=False)
    parameters: Mapping[str, int | str | bool]
    digests: dict[str, str] = field(default_factory=dict)
    is_verilog = False
    files: tuple[Path, ...] = ()

    def component(self, signature: Any, arguments: Mapping[str, Any]) -> Any:
        """A new component, which must have the members of ``signature``.

        Its class is called with the configuration's parameters, and with those of ``arguments``,
        which are what ours is made with, that it names.

        Raises
        ------
        UserError
            If it cannot be made, or does not have the members.
        """
        names = inspect.signature(self.make).parameters
        offered = {name: value for name, value in arguments.items() if name in names}
        try:
            made = self.make(**{**offered, **self.parameters})
            _check(self.place, ports(signature), ports(made.signature))
            if not self.digests:
                other = self.make(**{**offered, **self.parameters})
                pins = [Value.cast(pin) for _, _, pin in leaves(other.signature, other)]
                text = rtlil.convert(
                    other, name="own", ports=pins, emit_src=False, missing_domain=_only_sync
                )
                self.digests[self.name] = hashlib.sha256(text.encode()).hexdigest()
        except UserError:
            raise
        except (Exception, SystemExit) as error:  # the user's code may raise anything
            told = _told(error, self.module)
            raise UserError(f"{self.place}.amaranth must become a circuit: {told}") from None
        return made


Own = VerilogOwn | AmaranthOwn


def find_block(block: OwnBlock, base: Path, place: str) -> Own:
    """The block that a configuration in folder ``base`` names.

    Raises
    ------
    UserError
        If files, module or class are not there, or are not what they should be; the message
        begins with ``place`` or with a file and line.
    """
    if block.verilog is not None:
        return _find_verilog(block, base, place)
    return _find_amaranth(block, base, place)


def _find_verilog(block: OwnBlock, base: Path, place: str) -> VerilogOwn:
    assert block.verilog is not None
    assert block.top is not None
    files = tuple(base / name for name in block.verilog)
    for path in files:
        if path.suffix not in (*SOURCES, *HEADERS):
            endings = ", ".join((*SOURCES, *HEADERS))
            raise UserError(f"{place}.verilog must be files with one of {endings}, not {path}")
        if not path.is_file():
            raise UserError(f"{place}.verilog must be files that exist; {path} does not")
    if all(path.suffix in HEADERS for path in files):
        raise UserError(
            f"{place}.verilog must have a file with one of {', '.join(SOURCES)}, not headers alone"
        )
    names = [path.name for path in files]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{place}.verilog must be files of different names, not {name} twice")
    taken = sorted(set(module_names(files)) & set(OURS))
    if taken:
        raise UserError(f"{place}.verilog must not declare modules of our names: {taken[0]}")
    for path in files:
        if _FINE_TIMESCALE.search(path.read_text(errors="replace")):
            raise UserError(f"{place}.verilog must have no timescale below 1 ps: {path}")
    try:
        found = read_ports(files, block.top, block.parameters)
    except VerilogRefused as error:
        message = str(error)
        about_file = message.startswith(tuple(f"{path}:" for path in files))
        raise UserError(message if about_file else f"{place}: {message}") from None
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return VerilogOwn(place, files, block.top, block.parameters, found, digests)


def _find_amaranth(block: OwnBlock, base: Path, place: str) -> AmaranthOwn:
    assert block.amaranth is not None
    module_name, _, class_name = block.amaranth.partition(":")
    key = f"{place}.amaranth"
    # Its parts, made to see whether they can be, are not to be complained about.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    module = _import(module_name, base, key)
    made = getattr(module, class_name, None)
    if not (isinstance(made, type) and issubclass(made, wiring.Component)):
        known = [
            name
            for name, each in vars(module).items()
            if isinstance(each, type) and issubclass(each, wiring.Component)
        ]
        hint = nearest(class_name, known)
        raise UserError(f"{key} must name a wiring.Component of {module_name}{hint}")
    return AmaranthOwn(place, block.amaranth, made, module, block.parameters)


def _import(name: str, base: Path, place: str) -> ModuleType:
    """Module ``name``, one below ``base`` first."""
    folder = str(base.resolve())
    beside = Path(folder, *name.split(".")).with_suffix(".py")
    loaded = sys.modules.get(name)
    if beside.is_file() and loaded is not None and loaded.__file__ != str(beside):
        del sys.modules[name]
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: must be Python: {error.msg}") from None
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise UserError(
            f"{place} must name a module that can be imported: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from None
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _only_sync(name: str) -> ClockDomain | None:
    """The one clock domain that a block may leave to its surroundings."""
    return ClockDomain(name) if name == "sync" else None


def _told(error: BaseException, module: ModuleType | None) -> str:
    """An error of the user's code as one line, with the last of its own lines that led there."""
    own = [
        f"{frame.filename}:{frame.lineno}: "
        for frame in traceback.extract_tb(error.__traceback__)
        if module is not None and frame.filename == module.__file__
    ]
    return f"{own[-1] if own else ''}{type(error).__name__}: {' '.join(str(error).split())}"


def _check(place: str, wanted: Ports, found: Ports) -> None:
    """Refuse ports that are not those that are wanted; further outputs are left open."""
    problems = [*_problems(wanted, found)]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserError(f"{place}: {problems[0]}{more}")


def _problems(wanted: Ports, found: Ports) -> list[str]:
    problems = []
    for name, (is_input, bits) in wanted.items():
        kind = "an input" if is_input else "an output"
        if name not in found:
            problems.append(f"port {name}, {kind} of {_bits(bits)}, must be there, and is not")
        elif found[name][0] != is_input:
            other = "an output" if is_input else "an input"
            problems.append(f"port {name} must be {kind}, not {other}")
        elif found[name][1] != bits:
            problems.append(f"port {name} must have {_bits(bits)}, not {found[name][1]}")
    problems += [
        f"port {name} must not be an input: nothing drives it{nearest(name, wanted)}"
        for name, (is_input, _) in found.items()
        if is_input and name not in wanted
    ]
    return problems


def _bits(count: int) -> str:
    return "1 bit" if count == 1 else f"{count} bits"
