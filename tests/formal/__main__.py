"""``python -m tests.formal``: all properties, or those that are named; the table as it grows."""

import argparse
import sys
from pathlib import Path

from cosim.errors import UserError
from cosim.formal.report import line, table
from cosim.synthesis.table import between, replace_between
from rtl.formal.properties import PROPERTIES
from tests.formal.run import check_property

MARK = "properties"
TIME_LIMIT_S = 3600


def main():
    """Run the command; 1 if a property or a mutant is not what it should be, 2 for an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.formal", description=__doc__)
    parser.add_argument("names", nargs="*", help="properties; default: all")
    parser.add_argument("--out", type=Path, default=Path("build/formal"), help="folder of the runs")
    parser.add_argument("--page", type=Path, help="also bring this page's table up to date")
    options = parser.parse_args()
    known = {item.name: item for item in PROPERTIES}
    results = []
    try:
        for name in options.names or known:
            if name not in known:
                raise UserError(f"property must be among {', '.join(known)}, not {name!r}")
            results.append(check_property(known[name], options.out, time_limit_s=TIME_LIMIT_S))
            print(line(results[-1]), flush=True)
        if options.page:
            replace_between(
                options.page, MARK, table(between(options.page, MARK), results, list(known))
            )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    bad = [result.name for result in results if not result.is_good]
    if bad:
        print(f"not as it should be: {', '.join(bad)}", file=sys.stderr)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
