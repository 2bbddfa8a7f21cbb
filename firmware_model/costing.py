"""Counts the cost of the firmware's C routines and writes ``costs/cortex_*.yaml``.

Run as ``python -m firmware_model.costing [--check]``. Each routine is executed over a grid of
inputs, or along a story told to the Python model too; its results must be the model's, and its
counts are fitted by base + sum of coefficient x count, exactly, in fractions.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence

from firmware_model.arm_machine import CORES, FLAGS, SOURCES, ArmCore, ArmProgram, compiler_version
from firmware_model.cost_table import COSTS
from firmware_model.fits import Fit, Rows, entered, fit
from firmware_model.replacement import POLICIES
from firmware_model.replacement_cases import POLICY_HEADERS
from firmware_model.routines import GROUPS, Group

__all__ = ["main", "measure", "table_text"]

Fits = dict[str, dict[str, Fit]]


def measure(
    group: Group, core: ArmCore, policy: str = "lru"
) -> dict[str, tuple[Sequence[str], Fits]]:
    """Of each routine: what its cost depends on, and its fits.

    Those are ``instructions``, and ``loads`` and ``stores`` by object. With another ``policy`` than
    LRU they are those of the routines that depend on it.
    """
    program = ArmProgram(SOURCES / f"{group.source}.c", core, POLICY_HEADERS[policy])
    found = group.rows(program, policy) if group.of_policy else group.rows(program)
    return {
        routine: ([*rows[0][0]], _fits(group, routine, rows))
        for routine, rows in found.items()
        if policy == "lru" or routine in group.of_policy
    }


def _fits(group: Group, routine: str, rows: Rows) -> Fits:
    terms = [entered(counts, group.loops) for counts, _ in rows]
    base = routine not in group.without_base
    runs = [run for _, run in rows]

    def of(values: Iterable[int]) -> Fit:
        return fit(routine, list(zip(terms, values, strict=True)), base=base)

    fits = {"instructions": {"": of(run.instructions for run in runs)}}
    for kind in ("loads", "stores"):
        objects = sorted({name for run in runs for name in getattr(run, kind)})
        fits[kind] = {name: of(getattr(run, kind).get(name, 0) for run in runs) for name in objects}
    return fits


def table_text(core: ArmCore) -> str:
    """The whole cost table of a core as YAML."""
    lines = [
        "# Counted by `python -m firmware_model.costing` from the routines in firmware_model/c.",
        "# Do not edit. Stores are posted: they are listed, and cost their instruction.",
        "# `n>0` counts 1 where n is not 0: what it costs to enter a loop.",
        f"core: {core.name}",
        f'compiler: "ziglang {compiler_version()}"',
        f'options: "{" ".join((*core.target, *FLAGS))}"',
        "routines:",
    ]
    of_policy: dict[str, list[str]] = {policy: [] for policy in POLICIES}
    for group in GROUPS:
        for policy, text in of_policy.items():
            if policy == "lru" or group.of_policy:
                for routine, found in measure(group, core, policy).items():
                    where = text if routine in group.of_policy else lines
                    where += _routine_text(routine, *found)
    lines.append("policies:  # of the page buffer")
    for policy, text in of_policy.items():
        lines += (f"  {line}" for line in (f"{policy}:", *text))
    return "\n".join(lines) + "\n"


def _routine_text(routine: str, counts: Sequence[str], fits: Fits) -> list[str]:
    residual = max(one.residual for kind in fits.values() for one in kind.values())
    lines = [f"  {routine}:  # residual {float(residual):.3g}"]
    if counts:
        lines.append(f"    counts: [{', '.join(counts)}]")
    lines.append(f"    instructions: {_form(fits['instructions'][''])}")
    for kind in ("loads", "stores"):
        lines.append(f"    {kind}:" if fits[kind] else f"    {kind}: {{}}")
        lines += [f"      {name}: {_form(one)}" for name, one in fits[kind].items()]
    return lines


def _form(one: Fit) -> str:
    parts = [
        f"{name}: {value if value.denominator == 1 else repr(str(value))}"
        for name, value in one.coefficients.items()
        if value or name == "base"
    ]
    return "{" + ", ".join(parts) + "}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables; with ``--check`` only say whether the files are the same."""
    parser = argparse.ArgumentParser(prog="python -m firmware_model.costing", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    parser.add_argument("--core", choices=[*CORES], action="append", help="only this one")
    options = parser.parse_args(arguments)
    same = True
    for name in options.core or CORES:
        path = COSTS / f"{name}.yaml"
        text = table_text(CORES[name])
        if options.check:
            equal = path.exists() and path.read_text(encoding="utf-8") == text
            print(f"{path.name} {'is up to date' if equal else 'must be made again'}")
            same &= equal
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.name} is written")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
