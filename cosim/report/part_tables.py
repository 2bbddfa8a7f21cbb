"""Tables of docs/parts.md, from the part files and the timing modes: ``python -m`` prints them."""

from collections.abc import Iterable, Mapping, Sequence

from cosim.config.nand_file import NandPartFile, load_part_file, part_names
from cosim.config.part import Part
from cosim.config.platform import Constant, constants
from rtl.contract.bus_times import Interface
from rtl.contract.interface_timing import interface_timing
from rtl.contract.onfi_modes import MODES

__all__ = ["part_tables"]

PERIODS_PS = (20_000, 10_000, 5_000)
"""Clocks of 50, 100 and 200 MHz."""


def part_tables() -> str:
    """All constants of all parts, and what some clocks make of each timing mode, as Markdown."""
    return f"## Constants\n\n{_constant_table()}\n## Timing modes\n\n{_mode_table()}"


def _constant_table() -> str:
    files = {name: load_part_file(name)[0] for name in part_names()}
    found = [dict(constants(file)) for file in files.values()]
    rows = [(f"`{key}`", *(_cell(key, part.get(key)) for part in found)) for key in _keys(files)]
    return _table(("constant", *files), rows)


def _keys(files: Mapping[str, NandPartFile]) -> list[str]:
    """Keys that any part has, in the order of the models."""
    sections = list(NandPartFile.model_fields)
    models = {
        section: type(part).model_fields
        for section in sections
        for file in files.values()
        if isinstance(part := getattr(file, section), Part)
    }

    def place(key: str) -> tuple[int, int]:
        section, name = key.split(".")[:2]
        return sections.index(section), list(models[section]).index(name)

    keys = dict.fromkeys(key for file in files.values() for key, _ in constants(file))
    return sorted(keys, key=place)


def _cell(key: str, constant: Constant[object] | None) -> str:
    if constant is None:
        return "–"
    value = constant.model_dump(mode="json")["value"]
    if isinstance(value, list):
        value = " ".join(map(str, value))
    elif key.startswith("suspend.") and isinstance(value, int):
        value = f"{value:02X}h"
    return f"{value}, {constant.mark}"


def _mode_table() -> str:
    clocks = [f"at {10**6 // period} MHz" for period in PERIODS_PS]
    rows = [
        (f"{times}", *(_transfers(times, period) for period in PERIODS_PS))
        for interface in Interface
        for times in MODES[interface]
    ]
    return _table(("mode", *clocks), rows)


def _transfers(times: object, period_ps: int) -> str:
    try:
        timing = interface_timing(times, period_ps)
    except ValueError:
        return "–"
    rate = f"{timing.transfers_per_second / 10**6:.4g} MT/s"
    if timing.clocks_per_transfer > 1:
        return f"{rate}, {timing.clocks_per_transfer} clocks a transfer"
    return f"{rate}, {timing.phases} a clock"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(part_tables(), end="")
