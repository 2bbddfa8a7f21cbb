"""What the routines of the map have to do, by the state of its tables.

The costs of ``c/ftl_map.c`` depend on these counts. All take the state before the step.

================  =================================================================
``hit``           the map page is cached
``known``         it is not, but the log has the entry
``miss``          neither
``compare``       cached map pages of the hash chain that are looked at
``log_compare``   entries of the log's hash chain that are looked at
``fresh``         a place in the cache is free
``clean``         the place of a map page that has not changed
``dirty``         that of one which must be written first
``full``          none: all are of pages that come, leave or are needed
``kept``          such pages that are passed over
``walk``          pages before one in the hash chain that it leaves
``clear``         entries of a map page that never was on flash
``log``           entries that leave the log
``log_deep``      of these, entries that are not the first in their hash chain
``log_walk``      entries before them in the hash chains that they leave
``index``         map pages of the whole map
``more``          of these, those which have more in the log than all before
================  =================================================================
"""

from itertools import accumulate, pairwise

from firmware_model.ftl.page_map import PageMap

__all__ = ["find_work", "keep_work", "load_work", "log_work", "room_work"]

Counts = dict[str, int]


def find_work(table: PageMap, page: int) -> Counts:
    """Of ``map_find``."""
    counts = dict.fromkeys(("hit", "known", "miss", "compare", "log_compare"), 0)
    index = table.index(page)
    chain = table.hashes.chain(index)
    if table.is_cached(index):
        return counts | {"hit": 1, "compare": chain.index(index) + 1}
    counts["compare"] = len(chain)
    log = table.log_hashes.chain(page)
    if page in table.log:
        return counts | {"known": 1, "log_compare": log.index(page) + 1}
    return counts | {"miss": 1, "log_compare": len(log)}


def room_work(table: PageMap, *, has_room: bool) -> Counts:
    """Of ``map_room``."""
    counts = dict.fromkeys(("fresh", "clean", "dirty", "full", "kept", "walk"), 0)
    if has_room:
        return counts | {"fresh": 1}
    index = table.oldest()
    if index is None:
        return counts | {"full": 1, "kept": len(table)}
    counts["kept"] = table.uses.index(index)
    if index in table.dirty:
        return counts | {"dirty": 1}
    return counts | {"clean": 1, "walk": table.hashes.chain(index).index(index)}


def load_work(table: PageMap, index: int, *, is_new: bool) -> Counts:
    """Of ``map_load``, of a map page that ``is_new`` if it never was on flash."""
    return {"clear": table.entries_per_page * is_new, **_log(table, index)}


def keep_work(table: PageMap, index: int) -> Counts:
    """Of ``map_keep``."""
    return _log(table, index)


def _log(table: PageMap, index: int) -> Counts:
    """Entries of a map page leave the log, the newest first."""
    pages, deep, walk = table.logged.get(index, []), 0, 0
    chains: dict[int, list[int]] = {}
    for page in reversed(pages):
        hashes = table.log_hashes
        chain = chains.setdefault(page & hashes.mask, list(hashes.chain(page)))
        deep += chain[0] != page
        walk += chain.index(page)
        chain.remove(page)
    return {"log": len(pages), "log_deep": deep, "log_walk": walk}


def log_work(table: PageMap) -> Counts:
    """Of ``log_pick``, where the log is long."""
    if not table.is_log_long:
        return {"index": 0, "more": 0}
    counts = [len(table.logged.get(index, ())) for index in range(table.map_pages)]
    most = accumulate([0, *counts], max)
    return {"index": len(counts), "more": sum(a < b for a, b in pairwise(most))}
