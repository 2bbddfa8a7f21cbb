"""Checks a property on the design and on its mutants."""

from cosim.formal.report import Result
from cosim.formal.sby import check
from tests.formal.mutants import MUTANTS

__all__ = ["check_property"]


def check_property(item, folder, *, time_limit_s):
    """All outcomes of a property; each run is left in a folder of its own below ``folder``."""

    def outcome(name, *design):
        return check(
            item.make(*design),
            mode=item.mode,
            depth=item.depth,
            folder=folder / name,
            time_limit_s=time_limit_s,
        )

    return Result(
        name=item.name,
        statement=item.statement,
        mode=item.mode,
        depth=item.depth,
        design=outcome(item.name),
        mutants={
            text: outcome(f"{item.name}-mutant{number}", design)
            for number, (text, design) in enumerate(MUTANTS[item.name].items())
        },
    )
