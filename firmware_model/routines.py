"""The firmware's C routines, and how to run each so that its cost can be fitted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from firmware_model.admin_cases import admin_rows
from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.buffer_cases import buffer_rows
from firmware_model.distinct_cases import DISTINCT_COUNTS, distinct_case, distinct_total
from firmware_model.fits import Rows
from firmware_model.flash_cases import flash_rows, translate_rows
from firmware_model.flash_choice_cases import choice_rows
from firmware_model.ftl_cases import gc_rows, write_rows
from firmware_model.ftl_map_cases import map_rows
from firmware_model.header_cases import header_rows
from firmware_model.hop_cases import hop_rows
from firmware_model.nvme_cases import block_rows, dma_rows, finish_rows, queue_rows
from firmware_model.reset_cases import reset_rows
from firmware_model.retry_cases import retry_rows
from firmware_model.routine_cases import (
    body_case,
    gather_case,
    group_counts,
    group_run,
    sqe_case,
    turns,
)

__all__ = ["GROUPS", "Group"]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Routines of one C file, and their runs.

    Routines in ``without_base`` have one of several outcomes, each with a term of its own. To enter
    one of ``loops``, by the name of its count, has a cost of its own.
    """

    source: str
    rows: Callable[..., Mapping[str, Rows]]
    """Of a program, and a policy where routines depend on one."""
    without_base: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    of_policy: tuple[str, ...] = ()


def _grid(
    case: Callable[..., Run],
    grid: Mapping[str, Sequence[int]],
    terms: Mapping[str, Callable[..., int]],
) -> Callable[[ArmProgram], Rows]:
    """Runs over all points of a grid; ``terms`` are functions of its coordinates."""

    def rows(program: ArmProgram) -> Rows:
        found = []
        for point in product(*grid.values()):
            place = dict(zip(grid, point, strict=True))
            counts = {name: term(**place) for name, term in terms.items()}
            found.append((counts, case(program, **place)))
        return found

    return rows


_DISTINCT = _grid(
    distinct_case,
    {
        "target": (1, 2, 3, 8),
        "fan_out": (1, 2, 5, 10, 25),
        "degree": (0, 1, 4, 6, 11, 26, 1 << 19),
    },
    {
        "target": lambda target, fan_out, degree: target,
        **{
            name: lambda target, fan_out, degree, name=name: distinct_total(
                target, fan_out, degree
            )[name]
            for name in DISTINCT_COUNTS
        },
    },
)


def _body_rows(program: ArmProgram) -> dict[str, Rows]:
    rows = {}
    for routine, count in (("body_parse", "position"), ("body_draw", "draw")):
        rows[routine] = _grid(
            lambda program, target, fan_out, routine=routine: body_case(
                program, routine, target, fan_out
            ),
            {"target": (1, 2, 3, 8), "fan_out": (0, 1, 2, 5, 10, 25)},
            {
                "target": lambda target, fan_out: target,
                "list": lambda target, fan_out: target if fan_out else 0,
                count: lambda target, fan_out: target * fan_out,
            },
        )(program)
    rows["body_draw_distinct"] = _DISTINCT(program)
    return rows


_GROUPING = _grid(
    lambda program, piece, page: group_run(program, turns(piece, page)),
    {"piece": (1, 2, 3, 5, 10, 25), "page": (1, 2, 3, 5)},
    {
        name: lambda piece, page, name=name: group_counts(turns(piece, page))[name]
        for name in ("page", "more", "compare")
    },
)
_GATHER = _grid(
    gather_case,
    {"id": (1, 2, 3, 5, 10, 25), "size": (1, 2)},
    {"id": lambda id, size: id, "word": lambda id, size: id * size},
)

GROUPS = (
    Group(source="queues", rows=queue_rows),
    Group(source="sqe_decode", rows=lambda program: {"sqe_decode": [({}, sqe_case(program))]}),
    Group(source="admin", rows=admin_rows, without_base=("admin_command",)),
    Group(source="dma", rows=dma_rows),
    Group(source="ns_config", rows=header_rows),
    Group(source="hops", rows=hop_rows),
    Group(source="body_parse", rows=_body_rows),
    Group(source="group_pieces", rows=lambda program: {"group_pieces": _GROUPING(program)}),
    Group(source="translate", rows=translate_rows),
    Group(
        source="page_buffer",
        rows=buffer_rows,
        without_base=("buffer_claim",),
        loops=("compare", "walk", "queue", "fill", "ghost", "drop_walk"),
        of_policy=("buffer_claim", "buffer_release"),
    ),
    Group(source="flash", rows=flash_rows),
    Group(source="flash_choice", rows=choice_rows),
    Group(source="read_retry", rows=retry_rows),
    Group(source="way_reset", rows=reset_rows),
    Group(
        source="ftl_map",
        rows=map_rows,
        without_base=("map_find", "map_room"),
        loops=("compare", "log_compare", "kept", "walk", "clear", "log", "index"),
    ),
    Group(
        source="ftl_write",
        rows=write_rows,
        without_base=("write_begin", "write_place", "gc_place", "write_commit"),
        loops=("compare", "log_compare", "others", "walk"),
    ),
    Group(
        source="ftl_gc",
        rows=gc_rows,
        without_base=("gc_pick", "gc_next", "gc_move", "gc_commit", "gc_free"),
        loops=("compare", "log_compare", "looked", "waiting", "lists", "candidate", "word"),
    ),
    Group(source="gather", rows=lambda program: {"gather": _GATHER(program)}),
    Group(source="finish", rows=finish_rows),
    Group(source="block_io", rows=block_rows),
)
