"""What the routines of the page buffer have to do, by the state of its tables.

The costs of ``c/page_buffer.c`` depend on these counts, and on those of the policy
(:mod:`firmware_model.replacement`). All take the state before the step.

=============  ======================================================================
``compare``    frames of the page's hash chain that are looked at
``pinned``     the page has a frame, which is in use
``idle``       the page has an idle frame; of a release: the frame becomes idle
``fresh``      the page gets a frame that never held one
``evict``      the page gets the frame of another one, that the policy chooses
``walk``       frames before it in the hash chain that it leaves (reads, for a fill)
``wait``       all frames are pinned: the job waits, the first one for its page
``join``       all frames are pinned: the job waits with others for its page
``queue``      pages that wait and are passed over to find the job's place
``later``      the job joins others that are not the first to wait
``fill``       reads in flight into the frame
``merge``      what is missing is on its way
``miss``       something must be read
``search``     reads that are passed over since they do not bring what is missing
``behind``     other jobs wait for the read that does
``again``      a job must wait for another read
``lost``       there is no such read
``good``       the read could be corrected
``waiters``    jobs wait for the read that ended
``last``       the job is the last one that waits for it
``hand_over``  the frame goes to a page that waits
``wake``       jobs that wait for that page
=============  ======================================================================
"""

from collections.abc import Sequence

from firmware_model.page_buffer import Fill, Frame, PageBuffer

__all__ = ["OUTCOMES", "claim_work", "fill_work", "grant_work", "release_work", "wake_work"]

Counts = dict[str, int]

OUTCOMES = ("pinned", "idle", "fresh", "evict", "wait", "join")
"""Of a claim: one of them."""
NEED = dict.fromkeys(("fill", "merge", "miss", "search", "behind"), 0)
CLAIM = dict.fromkeys(("compare", *OUTCOMES, "walk", "queue", "later"), 0)
RELEASE = dict.fromkeys(("idle", "hand_over", "walk", "wake"), 0)
GO_ON = dict.fromkeys(("again", "lost", "search", "behind"), 0)


def claim_work(buffer: PageBuffer, page: int, pairs: int) -> Counts:
    """Of ``buffer_claim``, for the codeword pairs of the mask ``pairs``."""
    policy, chain = buffer.replacement, buffer.hashes.chain(page)
    frame = buffer.frame(page)
    counts = CLAIM | policy.no_claim | NEED
    if frame is not None:
        counts["pinned" if frame.pins else "idle"] = 1
        counts["compare"] = chain.index(page) + 1
        return counts | policy.use_work(page) | grant_work(frame, pairs)
    counts["compare"] = len(chain)
    if buffer.has_fresh:
        return counts | {"fresh": 1, "miss": 1}
    if policy.has_idle:
        leaver = policy.leaver()
        counts["evict"] = counts["miss"] = 1
        counts["walk"] = buffer.hashes.chain(leaver).index(leaver)
        return counts | policy.replace_work(page)
    pages = list(buffer.waiting)
    if page in buffer.waiting:
        queue = pages.index(page)
        return counts | {"join": 1, "queue": queue, "later": int(queue > 0)}
    return counts | {"wait": 1, "queue": len(pages)}


def grant_work(frame: Frame, pairs: int) -> Counts:
    """Of ``buffer_grant``: what a job with a frame still needs."""
    return _need(frame.fills, pairs & ~frame.valid)


def fill_work(frame: Frame, fill: Fill, pairs: int, *, ok: bool) -> Counts:
    """Of ``buffer_fill``, by the job that wants ``pairs`` and asked for ``fill``."""
    rest = [one for one in frame.fills if one is not fill]
    missing = pairs & ~(frame.valid | fill.pairs) if ok else 0
    return {
        "walk": frame.fills.index(fill),
        "good": int(ok),
        "waiters": int(fill.waiting > 0),
        **_go_on(rest, missing),
    }


def wake_work(frame: Frame, fill: Fill, pairs: int, *, ok: bool) -> Counts:
    """Of ``buffer_wake``, by a job that wants ``pairs`` and waited for ``fill``."""
    return {
        "good": int(ok),
        "last": int(fill.waiting == 1),
        **_go_on(frame.fills, pairs & ~frame.valid if ok else 0),
    }


def release_work(buffer: PageBuffer, frame: Frame) -> Counts:
    """Of ``buffer_release``."""
    counts = RELEASE | buffer.replacement.no_release
    if frame.pins > 1:
        return counts
    if not buffer.waiting:
        return counts | {"idle": 1}
    walk = buffer.hashes.chain(frame.page).index(frame.page)
    page, jobs = next(iter(buffer.waiting.items()))
    work = buffer.replacement.hand_over_work(frame.page, page)
    return counts | {"hand_over": 1, "walk": walk, "wake": len(jobs)} | work


def _need(fills: Sequence[Fill], missing: int) -> Counts:
    """Of a look at what ``missing`` pairs the reads in flight bring."""
    if not missing:
        return NEED
    arriving = 0
    for fill in fills:
        arriving |= fill.pairs
    if missing & ~arriving:
        return NEED | {"fill": len(fills), "miss": 1}
    found = _search(fills, missing)
    return NEED | {
        "fill": len(fills),
        "merge": 1,
        "search": found,
        "behind": int(fills[found].waiting > 0),
    }


def _go_on(fills: Sequence[Fill], missing: int) -> Counts:
    if not missing:
        return GO_ON
    found = _search(fills, missing)
    if found == len(fills):
        return GO_ON | {"lost": 1, "search": found}
    return GO_ON | {"again": 1, "search": found, "behind": int(fills[found].waiting > 0)}


def _search(fills: Sequence[Fill], missing: int) -> int:
    """Number of the first read that brings some of ``missing``; that of all where none does."""
    return next((n for n, fill in enumerate(fills) if fill.pairs & missing), len(fills))
