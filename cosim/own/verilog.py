"""Reads the ports of a Verilog module, with Verilator's front end."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cosim.config.part import nearest
from cosim.engines.tools import verilator_root

__all__ = ["HEADERS", "SOURCES", "VerilogRefused", "module_names", "read_ports"]

SOURCES, HEADERS = (".v", ".sv"), (".vh", ".svh")
TIME_LIMIT_S = 60
_ERROR = re.compile(
    r"%(?:Error(?:-\w+)?|Warning-MODDUP): "
    r"(?:(?P<file>[^:\s]+):(?P<line>\d+):(?:\d+:)? )?(?P<text>.+)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MODULE = re.compile(r"\bmodule\s+(?:automatic\s+|static\s+)?(\w+)")
_RANGE = re.compile(r"\[?(-?\d+):(-?\d+)\]?")
_DIRECTIONS = {"INPUT": True, "OUTPUT": False}


class VerilogRefused(Exception):
    """Files are not Verilog, or do not have the module; the message begins with file and line."""


def module_names(files: Sequence[Path]) -> list[str]:
    """Names of the modules that files declare, as far as the bare text tells."""
    texts = (_COMMENT.sub(" ", path.read_text(errors="replace")) for path in files)
    return [name for text in texts for name in _MODULE.findall(text)]


def read_ports(
    files: Sequence[Path], top: str, parameters: Mapping[str, int | str | bool]
) -> dict[str, tuple[bool, int]]:
    """Ports of module ``top``: name -> (whether it is an input, width in bits).

    Headers among ``files`` are only there to be included, by their bare names.

    Raises
    ------
    VerilogRefused
        If a file does not parse, something in it is not there, or ``top`` is not, or has a port
        that is no plain vector.
    """
    with TemporaryDirectory(prefix="csd-cosim-own-") as folder:
        work = Path(folder)
        for path in files:
            shutil.copy(path, work)
        printed = _verilate(work, files, top, parameters)
        tree = work / "objects" / "Vtop.tree.json"
        # Of modules of one name Verilator takes the first, and Icarus none.
        if not tree.exists() or "%Warning-MODDUP" in printed:
            raise VerilogRefused(_first_error(printed, files, top))
        document = json.loads(tree.read_text())
    types = {each["addr"]: each for each in _types(document)}
    module = next(each for each in document["modulesp"] if each.get("origName") == top)
    return dict(_ports(module, types, top))


def _verilate(
    work: Path, files: Sequence[Path], top: str, parameters: Mapping[str, int | str | bool]
) -> str:
    root = verilator_root()
    values = [f"-G{name}={_literal(value)}" for name, value in parameters.items()]
    names = [path.name for path in files if path.suffix in SOURCES]
    options = ["--json-only", "-Wno-fatal", "-Wno-lint", "--timing", "--prefix", "Vtop", "-I."]
    done = subprocess.run(
        [root / "bin" / "verilator_bin", *options, "--top-module", top, "-Mdir", "objects",
         *values, *names],
        cwd=work,
        env={"VERILATOR_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIME_LIMIT_S,
        check=False,
    )  # fmt: skip
    return done.stdout


def _literal(value: int | str | bool) -> str:
    return f'"{value}"' if isinstance(value, str) else str(int(value))


def _first_error(printed: str, files: Sequence[Path], top: str) -> str:
    known = {path.name: path for path in files}
    for found in map(_ERROR.match, printed.splitlines()):
        if found is None:
            continue
        text = found["text"].strip()
        if "was not found in design" in text and found["file"] is None:
            names = module_names([path for path in files if path.suffix in SOURCES])
            return f"top must be a module of these files, not {top!r}{nearest(top, names)}"
        if found["file"] is None:
            return f"files must be Verilog: {text}"
        path = known.get(found["file"], found["file"])
        return f"{path}:{found['line']}: must be Verilog: {text}"
    return f"files must be Verilog: {(printed.splitlines() or ['Verilator gave up'])[-1]}"


def _types(node: Any) -> Iterator[dict[str, Any]]:
    for table in node["miscsp"]:
        yield from table.get("typesp", [])


def _ports(
    module: Mapping[str, Any], types: Mapping[str, Any], top: str
) -> Iterator[tuple[str, tuple[bool, int]]]:
    for item in module["stmtsp"]:
        direction = item.get("direction", "NONE") if item["type"] == "VAR" else "NONE"
        if direction == "NONE":
            continue
        bits = _bits(types.get(item["dtypep"]), types)
        if direction not in _DIRECTIONS or bits is None:
            kind = "an inout" if direction == "INOUT" else "no plain vector"
            raise VerilogRefused(
                f"port {item['name']} of {top} must be an input or output vector; it is {kind}"
            )
        yield item["name"], (_DIRECTIONS[direction], bits)


def _bits(of: Mapping[str, Any] | None, types: Mapping[str, Any]) -> int | None:
    """Width of a packed type; None for any other."""
    if of is None:
        return None
    kind = of["type"]
    if kind == "BASICDTYPE":
        return _span(of["range"]) if "range" in of else 1
    if kind in ("REFDTYPE", "ENUMDTYPE"):
        return _bits(types.get(of["refDTypep"]), types)
    if kind == "PACKARRAYDTYPE":
        inner = _bits(types.get(of["refDTypep"]), types)
        return None if inner is None else inner * _span(of["declRange"])
    if kind == "STRUCTDTYPE" and of.get("packed", True):
        members = [_bits(types.get(member["dtypep"]), types) for member in of.get("membersp", [])]
        return None if None in members else sum(filter(None, members))
    return None


def _span(text: str) -> int:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise VerilogRefused(f"range {text} must be of numbers")
    high, low = int(found[1]), int(found[2])
    return abs(high - low) + 1
