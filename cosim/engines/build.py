"""Builds a design with Verilator or Icarus, once: its folder is named by a hash of its inputs."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cocotb_tools.config

import rtl
from cosim.engines.design import Design
from cosim.engines.leash import leashed
from cosim.engines.tools import (
    Simulator,
    instruction_set,
    require,
    verilator_root,
    versions,
)
from cosim.errors import UserError
from rtl.top import TOP, VECTORS, domain, write_top, written

__all__ = ["Build", "BuildError", "build", "cache_folder", "verilog"]

TIME_LIMIT_S = 900
LOG = "build.log"
OWN = "own"
READ = ("event", "counters")
# Without look-up tables and scoped data-flow names the code of all instances of a domain is equal,
# so Verilator keeps one copy: a fifth of the code of eight channels, to build and to run through.
VERILATOR_FLAGS = (
    "-O3", "--timing", "--no-sched-zero-delay", "--vpi", "-fno-table", "-fno-dfg-scoped",
    "-Wno-fatal", "-Wno-lint",
)  # fmt: skip
CXX_FLAGS = "-std=gnu++20 -fcoroutines"
# The wheel's make fragment was configured for another compiler: without an include flag for the
# precompiled header g++ fails. The model is compiled for this very machine, whose instruction set
# is therefore part of a build's key. Cold code (start-up, VPI tables) is not worth -O3's minutes.
MAKE_FLAGS = (
    "-- CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O3\\ -march=native OPT_SLOW=-O0 OPT_GLOBAL=-O2"
)


class BuildError(UserError):
    """A simulator's build failed, or took too long; the message names its log."""


@dataclass(frozen=True)
class Build:
    """A finished build: ``program`` is what the simulator runs; ``waves``: it can write waves."""

    simulator: Simulator
    folder: Path
    program: Path
    waves: bool

    @property
    def waves_name(self) -> str:
        """File of the waves: VCD from Verilator, whose FST writer needs a C library's headers."""
        return "waves.vcd" if self.simulator is Simulator.VERILATOR else "waves.fst"


def cache_folder() -> Path:
    """Where builds are kept: ``CSD_COSIM_CACHE``, else the user's cache folder."""
    own = os.environ.get("CSD_COSIM_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "csd-cosim"


def build(
    design: Design, simulator: Simulator, *, waves: bool = False, cache: Path | None = None
) -> Build:
    """Build ``design``, or find it built. Two processes that ask at once build it once.

    Raises
    ------
    MissingSimulator
        If the simulator is not installed.
    BuildError
        If a tool fails or exceeds its time limit. Nothing that looks like a build stays.
    """
    require(simulator)
    root = cache if cache is not None else cache_folder()
    sources = verilog(design, root)
    flags = [_control_file(design), *VERILATOR_FLAGS, CXX_FLAGS, MAKE_FLAGS]
    key = _hash([simulator, str(waves), json.dumps(versions()), instruction_set(), *flags], sources)

    def make(work: Path) -> None:
        if simulator is Simulator.VERILATOR:
            _verilate(design, sources, waves, work)
        else:
            _compile_icarus(sources, waves, work)

    folder = _cached(root / f"{simulator}-{key}", make)
    program = folder / ("sim.vvp" if simulator is Simulator.ICARUS else TOP)
    return Build(simulator, folder, program, waves)


def verilog(design: Design, cache: Path | None = None) -> list[Path]:
    """All Verilog files of ``design``, its sources behind ours and the top last.

    Each emission is made once for each state of ``rtl``, whatever design it is a part of; sources,
    and headers among them, are in one folder.
    """
    root = cache if cache is not None else cache_folder()
    rtl_folder = Path(next(iter(rtl.__path__)))
    shapes = [path for path in sorted(rtl_folder.rglob("*")) if path.suffix in (".py", ".v")]
    top = design.top or write_top(design.units)
    made_from = _hash([json.dumps(versions())], shapes)
    parameters = [emission.parameters for emission in design.emissions]
    key = _hash([made_from, *parameters, top], design.sources)

    def make(work: Path) -> None:
        for path in sorted((rtl_folder / "verilog").glob("*.v")):
            shutil.copy(path, work)
        (work / OWN).mkdir()
        for path in design.sources:
            shutil.copy(path, work / OWN)
        for emission in design.emissions:
            emitted = _hash([made_from, emission.parameters], [])
            for path in _cached(root / f"emitted-{emitted}", emission.write).iterdir():
                shutil.copy(path, work)
        (work / f"{TOP}.v").write_text(top)

    folder = _cached(root / f"verilog-{key}", make)
    ours = [path for path in sorted(folder.glob("*.v")) if path.stem != TOP]
    own = [folder / OWN / path.name for path in design.sources]
    return [*ours, *own, folder / f"{TOP}.v"]


def _hash(texts: Iterable[str], files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for text in texts:
        state.update(text.encode() + b"\0")
    for path in files:
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()[:20]


def _compiled(sources: Iterable[Path]) -> tuple[list[str], list[str]]:
    """Arguments that say where headers are, and the files that are compiled."""
    sources = list(sources)
    headers = [path for path in sources if path.suffix not in (".v", ".sv")]
    folders = dict.fromkeys(f"-I{path.parent}" for path in headers)
    return [*folders], [str(path) for path in sources if path not in headers]


def _cached(folder: Path, make: Callable[[Path], None]) -> Path:
    """``folder``, filled by ``make`` if it is not there; whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.with_name(f"{folder.name}.lock").touch()
    except OSError as error:
        raise UserError(
            f"{folder.parent}: cache folder must be writable: {error.strerror} "
            "(the variable CSD_COSIM_CACHE can name another)"
        ) from None
    with _lock(folder.with_name(f"{folder.name}.lock")):
        if folder.exists():
            return folder
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))
        try:
            make(work)
            work.rename(folder)
        except BaseException:
            # The log outlives a failure; what looks like a build does not.
            log = work / LOG
            if log.exists():
                shutil.copy(log, folder.with_name(f"{folder.name}.log"))
            shutil.rmtree(work, ignore_errors=True)
            raise
    return folder


def _verilate(design: Design, sources: Sequence[Path], waves: bool, work: Path) -> None:
    root = verilator_root()
    control = work / "public.vlt"
    control.write_text(_control_file(design))
    libs = cocotb_tools.config.libs_dir
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    environment = {
        # OPT breaks Verilator's makefile; MAKEFLAGS of an outer make would add to ours.
        **{key: value for key, value in os.environ.items() if key not in ("OPT", "MAKELEVEL")},
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": MAKE_FLAGS,
    }
    objects = work / "objects"
    folders, files = _compiled(sources)
    verilate = [
        "verilator", "-cc", "--exe", "-Mdir", str(objects), "--prefix", "Vtop",
        "--top-module", TOP, "-o", str(work / TOP), *VERILATOR_FLAGS, "-CFLAGS", CXX_FLAGS,
        "-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator",
        *(["--trace-vcd"] if waves else []),
        *folders, str(control), *files, str(main),
    ]  # fmt: skip
    _run(verilate, work, environment)
    jobs = str(len(os.sched_getaffinity(0)))
    _run(["make", "-j", jobs, "-C", str(objects), "-f", "Vtop.mk"], work, environment)
    shutil.rmtree(objects)


def _control_file(design: Design) -> str:
    """What Verilator is to leave visible (all else it may optimise away) and what not to copy."""
    kinds = {unit.ports.module: unit.ports for unit in design.units}.values()
    lines = ["`verilator_config"]
    if not design.top:
        lines += [f'public_flat_rd -module "{TOP}" -var "{name}"' for name, _, _ in VECTORS]
    for ports in kinds:
        module = domain(ports)
        lines += [f'no_inline -module "{module}"']
        lines += [f'public_flat_rw -module "{module}" -var "{name}"' for name in written(ports)]
        lines += [f'public_flat_rd -module "{module}" -var "{name}"' for name in READ]
    lines += [f'public_flat_rw -module "{module}" -var "{name}"' for module, name in design.public]
    lines += [f'inline -module "{module}"' for module in design.inlined]
    return "\n".join([*lines, ""])


def _compile_icarus(sources: Sequence[Path], waves: bool, work: Path) -> None:
    extra = []
    if waves:
        dump = work / "dump.v"
        dump.write_text(
            "`timescale 1ps/1ps\nmodule csd_dump;\nreg [8*1024-1:0] path;\n"
            'initial if ($value$plusargs("waves=%s", path)) begin\n'
            f"$dumpfile(path); $dumpvars(0, {TOP}); end\nendmodule\n"
        )
        extra = ["-s", "csd_dump", str(dump)]
    folders, files = _compiled(sources)
    command = ["iverilog", "-g2012", "-s", TOP, "-o", str(work / "sim.vvp"), *extra]
    _run([*command, *folders, *files], work, dict(os.environ))


def _run(command: Sequence[str], work: Path, environment: dict[str, str]) -> None:
    log = work / LOG
    with log.open("a") as out:
        out.write(" ".join(command) + "\n")
        out.flush()
        try:
            done = subprocess.run(
                leashed(command, signal.SIGTERM),  # which make hands on
                cwd=work,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=TIME_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(
                f"{command[0]} must build the RTL within {TIME_LIMIT_S} s; it was stopped"
            ) from None
    if done.returncode:
        raise BuildError(f"{command[0]} must build the RTL, but failed: {_first_error(log)}")


def _first_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines[-1:] or ["no output"])[0].strip()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
