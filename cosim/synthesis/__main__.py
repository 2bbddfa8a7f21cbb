"""``python -m cosim.synthesis``: synthesise the units, print the table, keep it."""

import argparse
import json
import sys
from pathlib import Path

from cosim.errors import UserError
from cosim.synthesis.flow import Figures, synthesise
from cosim.synthesis.table import as_json, between, merged, replace_between, table
from cosim.synthesis.units import SynthesisUnit, units

MARK = "synthesis"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 2 if something is the user's to mend, else 0."""
    parser = argparse.ArgumentParser(prog="python -m cosim.synthesis", description=__doc__)
    parser.add_argument("--units", help="names, joined by commas; default: all")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--page", type=Path, help="also put their lines between this page's marks")
    options = parser.parse_args(arguments)
    try:
        figures = [_tell(unit) for unit in _chosen(options.units)]
        print(table(figures), end="")
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(as_json(figures), indent=2) + "\n")
        if options.page:
            order = [unit.name for unit in units()]
            replace_between(options.page, MARK, merged(between(options.page, MARK), figures, order))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _chosen(names: str | None) -> list[SynthesisUnit]:
    known = {unit.name: unit for unit in units()}
    wanted = names.split(",") if names else list(known)
    for name in wanted:
        if name not in known:
            raise UserError(f"--units: must be among {', '.join(known)}, not {name!r}")
    return [known[name] for name in wanted]


def _tell(unit: SynthesisUnit) -> Figures:
    print(f"{unit.name} ...", file=sys.stderr, flush=True)
    return synthesise(unit)


if __name__ == "__main__":
    sys.exit(main())
