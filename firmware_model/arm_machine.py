"""Compiles the firmware's C routines for an ARM core and executes them, counting what they do."""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from unicorn import (
    UC_ARCH_ARM,
    UC_ARCH_ARM64,
    UC_HOOK_CODE,
    UC_HOOK_MEM_READ,
    UC_HOOK_MEM_WRITE,
    UC_MODE_ARM,
    UC_MODE_MCLASS,
    UC_MODE_THUMB,
)
from unicorn.arm64_const import UC_ARM64_REG_SP, UC_ARM64_REG_X0, UC_ARM64_REG_X30
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_R0, UC_ARM_REG_SP
from unicorn.unicorn import Uc

from firmware_model.ftl_tables import DEFINES as FTL_DEFINES
from firmware_model.tables import DEFINES as TABLE_DEFINES
from rtl.contract.channel import COMMANDS_PER_LUN
from rtl.contract.ns_config import MAX_DISTINCT

__all__ = ["CORES", "FLAGS", "SOURCES", "ArmCore", "ArmProgram", "Run", "compiler_version"]

SOURCES = Path(__file__).parent / "c"
FLAGS = (
    "-O2",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-builtin",
    "-fno-jump-tables",  # they are absolute addresses, which the harness does not relocate
    "-Wall",
    "-Werror",
)
DEFINES = (
    f"-DCOMMANDS_PER_LUN={COMMANDS_PER_LUN}",
    f"-DMAX_DISTINCT={MAX_DISTINCT}",
    *TABLE_DEFINES,
    *FTL_DEFINES,
)
"""What routines share with the hardware and the harness, and no header of theirs repeats."""

CODE_BASE = 0x0001_0000
RETURN_ADDRESS = 0x0000_F000
STACK_TOP = 0x0800_0000
STACK_BYTES = 0x1_0000
OBJECT_BASE = 0x1000_0000
OBJECT_STEP = 0x0100_0000
LIMIT = 1_000_000
STACK_ALIGNMENT = 16
MAP_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class ArmCore:
    """How to compile for a core, to execute its instructions, and to call a function there.

    ``registers`` hold the first arguments, the others lie on the stack in words of ``word_bytes``
    (AAPCS32, section 6.5; AAPCS64, section 6.4).
    """

    name: str
    target: tuple[str, ...]
    architecture: int
    mode: int
    registers: tuple[int, ...]
    stack_pointer: int
    link: int
    word_bytes: int

    @property
    def thumb_bit(self) -> int:
        """Lowest bit of a function's address."""
        return int(bool(self.mode & UC_MODE_THUMB))


def _arm32(name: str, mode: int, *target: str) -> ArmCore:
    return ArmCore(
        name=name,
        target=("-target", *target),
        architecture=UC_ARCH_ARM,
        mode=mode,
        registers=tuple(range(UC_ARM_REG_R0, UC_ARM_REG_R0 + 4)),
        stack_pointer=UC_ARM_REG_SP,
        link=UC_ARM_REG_LR,
        word_bytes=4,
    )


CORES = {
    core.name: core
    for core in (
        # Without NEON: the public board firmware is scalar code.
        _arm32("cortex_a9", UC_MODE_ARM, "arm-freestanding-eabihf", "-mcpu=cortex_a9-neon"),
        _arm32(
            "cortex_m7",
            UC_MODE_THUMB | UC_MODE_MCLASS,
            "thumb-freestanding-eabihf",
            "-mcpu=cortex_m7",
            "-mllvm",
            "-ifcvt-limit=0",
        ),
        ArmCore(
            name="cortex_a53",
            target=("-target", "aarch64-freestanding", "-mcpu=cortex_a53", "-mgeneral-regs-only"),
            architecture=UC_ARCH_ARM64,
            mode=UC_MODE_ARM,
            registers=tuple(range(UC_ARM64_REG_X0, UC_ARM64_REG_X0 + 8)),
            stack_pointer=UC_ARM64_REG_SP,
            link=UC_ARM64_REG_X30,
            word_bytes=8,
        ),
    )
}


def compiler_version() -> str:
    """Version of the compiler, as it gives it."""
    command = [sys.executable, "-m", "ziglang", "version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True, kw_only=True)
class Run:
    """One execution of a routine: its return value, counts, and the objects it wrote to."""

    value: int
    instructions: int
    loads: Mapping[str, int]
    """Load accesses by object; ``stack`` is one of them."""
    stores: Mapping[str, int]
    memory: Mapping[str, bytes]


class ArmProgram:
    """One compiled C file, whose functions can be run.

    Parameters
    ----------
    source : Path
        A file without data of its own and without calls to elsewhere.
    core : ArmCore
    policy : str
        The page buffer's replacement policy, by the name of its header.

    Raises
    ------
    ValueError
        If the object file needs relocations.
    subprocess.CalledProcessError
        If it does not compile; the compiler's words are on standard error.
    """

    def __init__(
        self, source: Path, core: ArmCore = CORES["cortex_a9"], policy: str = "lru"
    ) -> None:
        self.core = core
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "routine.o"
            command = [sys.executable, "-m", "ziglang", "cc", *core.target, *FLAGS, *DEFINES]
            command += [f'-DPOLICY="{policy}.h"', "-c", str(source), "-o", str(made)]
            subprocess.run(command, check=True, cwd=source.parent)
            with made.open("rb") as file:
                self._load(source, ELFFile(file))

    def _load(self, source: Path, elf: Any) -> None:
        text = elf.get_section_by_name(".text")
        if any(elf.get_section_by_name(f".{kind}.text") for kind in ("rel", "rela")):
            raise ValueError(f"{source.name} must not need relocations")
        code = text.data()
        self._mapped: dict[int, int] = {}
        self._machine = Uc(self.core.architecture, self.core.mode)
        self._map(CODE_BASE, len(code))
        self._machine.mem_write(CODE_BASE, code)
        self._map(STACK_TOP - STACK_BYTES, STACK_BYTES)
        self._counts = _Counts(self._machine)
        self._functions = {
            symbol.name: CODE_BASE + symbol["st_value"] | self.core.thumb_bit
            for symbol in elf.get_section_by_name(".symtab").iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }

    def run(self, function: str, *arguments: str | int, objects: Mapping[str, bytes]) -> Run:
        """Call ``function``; an argument is a number, or the name of an object for its address.

        Objects with one name before a colon (``table:map``, ``table:list``) are counted together.
        """
        machine, counts = self._machine, self._counts
        addresses = {}
        counts.start()
        for number, (name, content) in enumerate(objects.items()):
            addresses[name] = address = OBJECT_BASE + number * OBJECT_STEP
            counts.names[address // OBJECT_STEP] = name.partition(":")[0]
            self._map(address, len(content))
            machine.mem_write(address, content)
        self._pass([addresses[name] if isinstance(name, str) else name for name in arguments])
        machine.emu_start(self._functions[function], RETURN_ADDRESS, count=LIMIT)
        return Run(
            value=machine.reg_read(self.core.registers[0]) & 0xFFFF_FFFF,
            instructions=counts.instructions,
            loads=dict(counts.loads),
            stores=dict(counts.stores),
            memory={
                name: bytes(machine.mem_read(addresses[name], len(content)))
                for name, content in objects.items()
            },
        )

    def _map(self, address: int, size: int) -> None:
        """Have memory there, and keep it: to map anew for each run takes most of a run's time."""
        mapped = self._mapped.get(address, 0)
        needed = -(-size // MAP_BYTES) * MAP_BYTES
        if needed > mapped:
            self._machine.mem_map(address + mapped, needed - mapped)
            self._mapped[address] = needed

    def _pass(self, values: Sequence[int]) -> None:
        """Arguments, stack pointer and return address, as the caller leaves them."""
        core, machine = self.core, self._machine
        for register, value in zip(core.registers, values, strict=False):
            machine.reg_write(register, value)
        rest = values[len(core.registers) :]
        pushed = b"".join(value.to_bytes(core.word_bytes, "little") for value in rest)
        bottom = STACK_TOP - -(-len(pushed) // STACK_ALIGNMENT) * STACK_ALIGNMENT
        machine.mem_write(bottom, pushed)
        machine.reg_write(core.stack_pointer, bottom)
        machine.reg_write(core.link, RETURN_ADDRESS | core.thumb_bit)


class _Counts:
    def __init__(self, machine: Any) -> None:
        self.names: dict[int, str] = {}
        self.start()
        machine.hook_add(UC_HOOK_CODE, self._instruction)
        machine.hook_add(UC_HOOK_MEM_READ, self._load)
        machine.hook_add(UC_HOOK_MEM_WRITE, self._store)

    def start(self) -> None:
        """Begin a run."""
        self.instructions = 0
        self.loads: Counter[str] = Counter()
        self.stores: Counter[str] = Counter()
        self.names.clear()
        self.names[(STACK_TOP - STACK_BYTES) // OBJECT_STEP] = "stack"

    def _instruction(self, *_: Any) -> None:
        self.instructions += 1

    def _load(self, _machine: Any, _kind: int, address: int, *_: Any) -> None:
        self.loads[self.names[address // OBJECT_STEP]] += 1

    def _store(self, _machine: Any, _kind: int, address: int, *_: Any) -> None:
        self.stores[self.names[address // OBJECT_STEP]] += 1
