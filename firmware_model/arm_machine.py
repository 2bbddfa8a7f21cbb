"""Compiles the firmware's C routines for an ARM core and executes them, counting what they do."""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from unicorn import UC_ARCH_ARM, UC_HOOK_CODE, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MODE_ARM
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_R0, UC_ARM_REG_SP
from unicorn.unicorn import Uc

from rtl.contract.channel import COMMANDS_PER_LUN

__all__ = ["FLAGS", "SOURCES", "TARGET", "ArmProgram", "Run", "compiler_version"]

SOURCES = Path(__file__).parent / "c"
TARGET = ("-target", "arm-freestanding-eabihf", "-mcpu=cortex_a9-neon")
"""Without NEON: the public board firmware is scalar code."""
FLAGS = ("-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-builtin", "-Wall", "-Werror")
DEFINES = (f"-DCOMMANDS_PER_LUN={COMMANDS_PER_LUN}",)
"""What routines share with the hardware, and no header of theirs repeats."""

CODE_BASE = 0x0001_0000
RETURN_ADDRESS = 0x0000_F000
STACK_TOP = 0x0800_0000
STACK_BYTES = 0x1_0000
OBJECT_BASE = 0x1000_0000
OBJECT_STEP = 0x0100_0000
LIMIT = 1_000_000
REGISTER_ARGUMENTS = 4


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

    Raises
    ------
    ValueError
        If the object file needs relocations.
    subprocess.CalledProcessError
        If it does not compile; the compiler's words are on standard error.
    """

    def __init__(self, source: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "routine.o"
            command = [sys.executable, "-m", "ziglang", "cc", *TARGET, *FLAGS, *DEFINES]
            subprocess.run(
                [*command, "-c", str(source), "-o", str(made)], check=True, cwd=source.parent
            )
            with made.open("rb") as file:
                self._load(source, ELFFile(file))

    def _load(self, source: Path, elf: Any) -> None:
        text = elf.get_section_by_name(".text")
        if elf.get_section_by_name(".rel.text") is not None:
            raise ValueError(f"{source.name} must not need relocations")
        self._code = text.data()
        self._functions = {
            symbol.name: CODE_BASE + symbol["st_value"]
            for symbol in elf.get_section_by_name(".symtab").iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }

    def run(self, function: str, *arguments: str | int, objects: Mapping[str, bytes]) -> Run:
        """Call ``function``; an argument is a number, or the name of an object for its address.

        The first four arguments go in registers, the others on the stack (AAPCS32, section 6.5).
        Objects with one name before a colon (``table:map``, ``table:list``) are counted together.
        """
        machine = Uc(UC_ARCH_ARM, UC_MODE_ARM)
        machine.mem_map(CODE_BASE, -(-len(self._code) // 4096) * 4096)
        machine.mem_write(CODE_BASE, self._code)
        machine.mem_map(STACK_TOP - STACK_BYTES, STACK_BYTES)
        addresses = {}
        names = {(STACK_TOP - STACK_BYTES) // OBJECT_STEP: "stack"}
        for number, (name, content) in enumerate(objects.items()):
            addresses[name] = OBJECT_BASE + number * OBJECT_STEP
            names[addresses[name] // OBJECT_STEP] = name.partition(":")[0]
            machine.mem_map(addresses[name], -(-len(content) // 4096) * 4096)
            machine.mem_write(addresses[name], content)
        counts = _Counts(machine, names)
        values = [addresses[name] if isinstance(name, str) else name for name in arguments]
        for number, value in enumerate(values[:REGISTER_ARGUMENTS]):
            machine.reg_write(UC_ARM_REG_R0 + number, value)
        pushed = b"".join(value.to_bytes(4, "little") for value in values[REGISTER_ARGUMENTS:])
        bottom = STACK_TOP - -(-len(pushed) // 8) * 8
        machine.mem_write(bottom, pushed)
        machine.reg_write(UC_ARM_REG_SP, bottom)
        machine.reg_write(UC_ARM_REG_LR, RETURN_ADDRESS)
        machine.emu_start(self._functions[function], RETURN_ADDRESS, count=LIMIT)
        return Run(
            value=machine.reg_read(UC_ARM_REG_R0),
            instructions=counts.instructions,
            loads=dict(counts.loads),
            stores=dict(counts.stores),
            memory={
                name: bytes(machine.mem_read(addresses[name], len(content)))
                for name, content in objects.items()
            },
        )


class _Counts:
    def __init__(self, machine: Any, names: Mapping[int, str]) -> None:
        self.instructions = 0
        self.loads: Counter[str] = Counter()
        self.stores: Counter[str] = Counter()
        self._names = names
        machine.hook_add(UC_HOOK_CODE, self._instruction)
        machine.hook_add(UC_HOOK_MEM_READ, self._access, self.loads)
        machine.hook_add(UC_HOOK_MEM_WRITE, self._access, self.stores)

    def _instruction(self, *_: Any) -> None:
        self.instructions += 1

    def _access(
        self, _machine: Any, _kind: int, address: int, _size: int, _value: int, into: Any
    ) -> None:
        into[self._names[address // OBJECT_STEP]] += 1
