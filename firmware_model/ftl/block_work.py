"""What the routines have to do that write pages and reclaim blocks, by the state of their tables.

The costs of ``c/ftl_write.c`` and ``c/ftl_gc.c`` depend on these counts, and on some of
:mod:`firmware_model.ftl.work`. All take the state before the step.

=================  ================================================================
``directory``      the page is one of the map
``page``           the open block has room
``unused``         a block is opened that was never written
``freed``          one is opened that was erased
``none``           there is no place, or nothing to gain
``reserved``       units passed over whose last free blocks are the collector's
``empty``          units passed over without a free block
``unit``           units of the array that are looked at
``own``            of these, units of the collector's scope
``more``           of these, those which have more free blocks than all before
``seal``           the page is the last one of its block
``others``         pages under way that are passed over in their hash chain
``looked``         pages under way that are looked at there
``writing``        the host is writing the page
``old``            the page lay somewhere before
``listed``         the block that it leaves may be reclaimed
``ready``          the block that it is in now may be reclaimed from now on
``leaving``        the map page is cached, and being written
``absent``         it is not cached
``noted``          the entry is a new one of the log
``bad``            a retired block has pages that are to be copied
``waiting``        such blocks passed over which cannot be copied now
``lists``          lists of sealed blocks that are empty
``candidate``      blocks that are compared with the first one of a list
``better``         of these, blocks that were erased less than all before
``word``           words of a block's valid bits without one
``found``          there is a valid page
``good``           the copy can be made
``lost``           the page cannot be read
``stale``          the host has written the page meanwhile
``stale_ready``    and the block that the copy is in may be reclaimed from now on
``walk``           blocks of a unit that were erased less, or pages in a hash chain
``alone``          the unit has no other block that was erased
``before, after``  all of these were erased more; were erased less
``between``        some were
``open``           a block that is retired was open
``again``          it had been retired before
``copy``           what is in it is to be copied
=================  ================================================================
"""

from itertools import accumulate, pairwise

from firmware_model.ftl.block_entry import BlockState
from firmware_model.ftl.blocks import BlockTable, Stream
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block, Unit
from firmware_model.ftl.page_map import NOWHERE
from firmware_model.ftl.work import Counts, find_work
from rtl.contract.striping import PhysicalPage

__all__ = [
    "begin_work",
    "collect_work",
    "commit_work",
    "copy_work",
    "free_work",
    "move_work",
    "next_work",
    "pick_work",
    "place_work",
    "retire_work",
]

WORD_BITS = 32


def begin_work(ftl: Ftl, page: int) -> Counts:
    """Of ``write_begin``."""
    if ftl.map.is_map_page(page):
        none = dict.fromkeys(("hit", "known", "miss", "compare", "log_compare"), 0)
        return none | {"directory": 1}
    return find_work(ftl.map, page) | {"directory": 0}


def place_work(blocks: BlockTable) -> Counts:
    """Of ``write_place``."""
    unit, reserved, empty = blocks.host_unit()
    open_block = blocks.open_block(Stream.HOST, unit)
    return {"reserved": reserved, "empty": empty, **_take(blocks, unit, open_block)}


def collect_work(blocks: BlockTable, scope: int) -> Counts:
    """Of ``gc_place``."""
    counts = {"unit": 0, "own": 0, "more": 0}
    open_block = blocks.open_block(Stream.COLLECTOR, scope)
    if open_block is None:
        own = [unit for unit in blocks.units if blocks.scope(unit.channel) == scope]
        most = accumulate([0, *map(blocks.free_blocks, own)], max)
        counts = {
            "unit": len(blocks.units),
            "own": len(own),
            "more": sum(a < b for a, b in pairwise(most)),
        }
    taken = _take(blocks, blocks.collector_unit(scope), open_block)
    del taken["none"]  # the host leaves a collector a block
    return counts | taken


def _take(blocks: BlockTable, unit: Unit | None, open_block: Block | None) -> Counts:
    counts = dict.fromkeys(("page", "unused", "freed", "none", "seal"), 0)
    if unit is None:
        return counts | {"none": 1}
    written = 0
    if open_block is not None:
        kind, written = "page", blocks.written(open_block)
    else:
        is_new = len(blocks.freed(unit)) < blocks.free_blocks(unit)
        kind = "unused" if is_new else "freed"
    seals = written + 1 == blocks.pages_per_block
    return counts | {kind: 1, "seal": int(seals)}


def commit_work(ftl: Ftl, page: int, place: PhysicalPage) -> Counts:
    """Of ``write_commit``."""
    old = ftl.writing[page]
    counts = {
        "others": ftl.write_hashes.chain(page).index(page),
        "old": int(old != NOWHERE),
        "listed": _listed(ftl, old),
        "ready": _ready(ftl, place),
        "walk": 0,
        **_set_work(ftl, page),
    }
    if ftl.map.is_map_page(page):
        index = page - ftl.map.pages
        counts["walk"] = ftl.map.hashes.chain(index).index(index)
    return counts


def copy_work(ftl: Ftl, page: int, old: PhysicalPage, new: PhysicalPage) -> Counts:
    """Of ``gc_commit``."""
    change, ready = _set_work(ftl, page), _ready(ftl, new)
    names = "stale", "stale_ready", "looked", "writing", "listed", "ready", *change
    counts = dict.fromkeys(names, 0)
    if not ftl.blocks.is_valid(old):
        return counts | {"stale": 1, "stale_ready": ready}
    chain, writing = ftl.write_hashes.chain(page), page in ftl.writing
    return {
        **counts,
        "looked": chain.index(page) + 1 if writing else len(chain),
        "writing": int(writing),
        "listed": int(ftl.blocks.is_listed(ftl.parameters.block(old)[0])),
        "ready": ready,
        **change,
    }


def _listed(ftl: Ftl, number: int) -> int:
    if number == NOWHERE:
        return 0
    block, _ = ftl.parameters.block(ftl.striping.physical(number))
    return int(ftl.blocks.is_listed(block))


def _ready(ftl: Ftl, place: PhysicalPage) -> int:
    block, _ = ftl.parameters.block(place)
    is_sealed = ftl.blocks.state(block) is BlockState.SEALED
    return int(is_sealed and ftl.blocks.programs(block) == 1)


def _set_work(ftl: Ftl, page: int) -> Counts:
    """Of a change of the map."""
    table = ftl.map
    counts = dict.fromkeys(
        ("directory", "hit", "leaving", "absent", "compare", "log_compare", "noted"), 0
    )
    if table.is_map_page(page):
        return counts | {"directory": 1}
    index = table.index(page)
    chain = table.hashes.chain(index)
    if not table.is_cached(index):
        counts |= {"absent": 1, "compare": len(chain)}
    else:
        counts["compare"] = chain.index(index) + 1
        if index not in table.leaving:
            return counts | {"hit": 1}
        counts["leaving"] = 1
    log = table.log_hashes.chain(page)
    if page in table.log:
        return counts | {"log_compare": log.index(page) + 1}
    return counts | {"log_compare": len(log), "noted": 1}


def pick_work(blocks: BlockTable, scope: int) -> Counts:
    """Of ``gc_pick``."""
    names = ("bad", "found", "none", "waiting", "lists", "candidate", "better")
    counts = dict.fromkeys(names, 0)
    bad = [blocks.can_copy(block) for block in blocks.bad_blocks(scope)]
    if any(bad):
        return counts | {"bad": 1, "waiting": bad.index(True)}
    counts["waiting"] = len(bad)
    lists, found = blocks.sparsest(scope)
    if not found:
        return counts | {"none": 1, "lists": lists}
    least = accumulate(map(blocks.wear, found), min)
    better = sum(a != b for a, b in pairwise(least))
    return counts | {"found": 1, "lists": lists, "candidate": len(found) - 1, "better": better}


def next_work(blocks: BlockTable, block: Block, start: int) -> Counts:
    """Of ``gc_next``, from page ``start`` on."""
    pages = blocks.pages_per_block
    page = next((n for n in range(start, pages) if blocks.valid_mask(block) >> n & 1), None)
    end = pages - 1 if page is None else page
    return {
        "found": int(page is not None),
        "none": int(page is None and start < pages),
        "end": int(start == pages),
        "word": max(0, end // WORD_BITS - start // WORD_BITS),
    }


def move_work(blocks: BlockTable, place: PhysicalPage, *, ok: bool, is_whole: bool) -> Counts:
    """Of ``gc_move``: the page was corrected or not, its metadata is whole or not."""
    counts = dict.fromkeys(("stale", "lost", "broken", "good"), 0)
    if not blocks.is_valid(place):
        return counts | {"stale": 1}
    if not ok:
        return counts | {"lost": 1}
    return counts | {"good" if is_whole else "broken": 1}


def free_work(blocks: BlockTable, block: Block) -> Counts:
    """Of ``gc_free``."""
    freed = blocks.freed(blocks.unit(block))
    erases = blocks.erases.get(block, 0) + 1
    walk = sum(one < (erases, block.number) for one in freed)
    where = ("after" if walk == len(freed) else "between") if walk else "before"
    counts = dict.fromkeys(("alone", "before", "between", "after"), 0)
    return counts | {where if freed else "alone": 1, "walk": walk}


def retire_work(blocks: BlockTable, block: Block, *, copy: bool) -> Counts:
    """Of ``block_retire``."""
    state = blocks.state(block)
    return {
        "open": int(state is BlockState.OPEN),
        "again": int(state is BlockState.BAD),
        "listed": int(blocks.is_listed(block)),
        "copy": int(copy),
    }
