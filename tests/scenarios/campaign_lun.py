"""Random sequences of operations of one LUN, legal by construction, with what each must bring."""

from dataclasses import dataclass

from rtl.contract.channel import ChannelOperation as Op
from rtl.contract.channel import ChannelStatus as Status
from tests.scenarios.campaign_pages import Image

__all__ = ["LunPlan", "Order"]

READY, WORKING, FAIL = 0xE0, 0xC0, 0x01
"""Status bytes: WP# and RDY with ARDY, and without; a bit of either."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command, what it may end with, what its data must be, and pauses in picoseconds."""

    operation: Op
    lun: int
    row: int = 0
    column: int = 0
    length: int = 0
    data: bytes = b""
    statuses: tuple = (Status.OK,)
    image: Image | None = None
    bytes_told: tuple = ()
    """Status bytes that it may bring, FAILC aside; none is any."""
    pause_ps: int = 0
    """Before it is submitted."""
    hold_ps: int = 0
    """Until its landing slot is given back."""


class LunPlan:
    """Orders for one LUN."""

    def __init__(self, rng, part, lun, pages, *, short):
        self._rng, self._part, self._lun, self._pages = rng, part, lun, pages
        self._short = short
        self._size = part.raw_page_bytes
        self._failed = False
        self.open_rows = []
        """Programs that a reset may cut off."""

    def first_erases(self):
        for block in self._pages.blocks:
            yield self._erase_of(block)

    def sequence(self):
        """Orders of one whole sequence."""
        rng = self._rng
        kinds = {
            self._read: 5,
            self._sense: 2,
            self._cache_reads: 3,
            self._sequential_reads: 2,
            self._plane_reads: 3,
            self._plane_cache_reads: 2,
            self._program: 5,
            self._pieces: 3,
            self._cached_programs: 3,
            self._plane_programs: 3,
            self._plane_cached_programs: 2,
            self._erase: 2,
            self._plane_erases: 1,
            self._status: 1,
            self._bad: 1,
        }
        if self._part.luns == 1:
            kinds[self._status_of_way] = 3
        (kind,) = rng.choices(list(kinds), kinds.values())
        yield from kind()
        if self._part.luns == 1 and self._failed:
            yield from self._status_of_way()

    def cut_off(self):
        """A sequence that only a reset ends."""
        rows = self._rows_to_program(1)
        if rows and self._rng.random() < 0.6:
            statuses = _statuses(not self._will_do(rows[0]), False, is_cached=True)
            yield self._program_of(Op.PROGRAM_CACHE, rows[0], statuses)[0]
            self._pages.cut_off(rows[0])
        else:
            row = self._row()
            yield self._order(Op.SENSE, row=row)
            yield self._transfer(Op.READ_CACHE_RANDOM, self._row(like=row), row)
        self._failed = False

    def after_reset(self):
        self._failed = False

    # Reads

    def _row(self, like=None):
        """Any page, of the plane of ``like``."""
        rows = list(self._pages.images)
        if like is not None:
            rows = [row for row in rows if self._pages.plane(row) == self._pages.plane(like)]
        return self._rng.choice(rows)

    def _other(self, row, rows):
        """A page of the same number in a block of another plane."""
        per_block = self._part.pages_per_block
        fitting = [
            other
            for other in rows
            if other % per_block == row % per_block
            and self._pages.plane(other) != self._pages.plane(row)
        ]
        return self._rng.choice(fitting)

    def _span(self):
        """Column and length, both even; mostly short, since the bus is what takes time."""
        rng, size = self._rng, self._size
        if rng.random() > self._short:
            return 0, size
        length = 2 * rng.randint(1, 16)
        return 2 * rng.randint(0, (size - length) // 2), length

    def _transfer(self, operation, row, shown):
        """A command that brings a piece of page ``shown``."""
        column, length = self._span()
        self._failed = self._failed and operation is Op.TRANSFER
        image = self._pages.images[shown].piece(column, length)
        return self._order(operation, row=row, column=column, length=length, image=image)

    def _read(self):
        row = self._row()
        yield self._transfer(Op.READ, row, row)

    def _sense(self):
        row = self._row()
        yield self._order(Op.SENSE, row=row)
        self._failed = False
        for _ in range(self._rng.randint(1, 3)):
            yield self._transfer(Op.TRANSFER, row, row)

    def _cache_reads(self):
        row = self._row()
        yield self._order(Op.SENSE, row=row)
        for _ in range(self._rng.randint(1, 3)):
            following = self._row(like=row)
            yield self._transfer(Op.READ_CACHE_RANDOM, following, row)
            yield from self._status_within(False)
            row = following
        yield self._transfer(Op.READ_CACHE_END, row, row)

    def _sequential_reads(self):
        per_block = self._part.pages_per_block
        rows = [row for row in self._pages.images if row % per_block < per_block - 1]
        row = self._rng.choice(rows)
        yield self._order(Op.SENSE, row=row)
        left = min(3, per_block - 1 - row % per_block)
        for _ in range(self._rng.randint(1, left)):
            yield self._transfer(Op.READ_CACHE_SEQUENTIAL, row, row)
            row += 1
        yield self._transfer(Op.READ_CACHE_END, row, row)

    def _plane_reads(self):
        row = self._row()
        other = self._other(row, self._pages.images)
        yield self._order(Op.SENSE_PLANE, row=other)
        yield self._transfer(Op.READ, row, row)
        yield self._transfer(Op.TRANSFER, other, other)

    def _plane_cache_reads(self):
        row = self._row()
        other = self._other(row, self._pages.images)
        yield self._order(Op.SENSE_PLANE, row=other)
        yield self._order(Op.SENSE, row=row)
        following = self._row(like=row)
        beside = self._other(following, self._pages.images)
        yield self._order(Op.SENSE_PLANE, row=beside)
        yield self._transfer(Op.READ_CACHE_RANDOM, following, row)
        yield self._transfer(Op.TRANSFER, other, other)
        yield self._transfer(Op.READ_CACHE_END, following, following)
        yield self._transfer(Op.TRANSFER, beside, beside)

    # Programs

    def _rows_to_program(self, count):
        """Up to ``count`` pages to program one after the other; some pages are left out."""
        rng, pages, rows = self._rng, self._pages, []
        following = dict(pages.next_page)
        for _ in range(count):
            is_open = [
                block
                for block in pages.open_blocks()
                if following[block] < self._part.pages_per_block
            ]
            if not is_open:
                break
            block = rng.choice(is_open)
            left = self._part.pages_per_block - following[block]
            page = following[block] + (rng.random() < 0.15 and left > 1)
            following[block] = page + 1
            rows.append(block * self._part.pages_per_block + page)
        return rows

    def _plane_pairs(self, count):
        """Up to ``count`` pairs of pages of the same number in two planes."""
        pages, per_block = self._pages, self._part.pages_per_block
        is_open = pages.open_blocks()
        pairs = [
            (first, second)
            for first in is_open
            for second in is_open
            if first % pages.planes != second % pages.planes
        ]
        if not pairs:
            return []
        first, second = self._rng.choice(pairs)
        page = max(pages.next_page[first], pages.next_page[second])
        rows = range(page, min(per_block, page + count))
        return [(first * per_block + row, second * per_block + row) for row in rows]

    def _data(self):
        column, length = self._span()
        return column, self._rng.randbytes(length)

    def _program_of(self, operation, row, statuses=(Status.OK,)):
        """The order that programs a page, and whether that is done."""
        column, data = self._data()
        is_done = self._pages.program(row, [(column, data)])
        order = self._order(operation, row=row, column=column, data=data, statuses=statuses)
        return order, is_done

    def _programs(self, steps):
        """Cached programs, of one plane or two; the last one is a plain one, which ends them."""
        before = False
        for number, rows in enumerate(steps, 1):
            is_last = number == len(steps)
            failed = not all(self._will_do(row) for row in rows)
            for row in rows[:-1]:
                yield self._program_of(Op.PROGRAM_PLANE, row)[0]
            statuses = _statuses(failed, before, is_cached=not is_last)
            operation = Op.PROGRAM if is_last else Op.PROGRAM_CACHE
            yield self._program_of(operation, rows[-1], statuses)[0]
            if not is_last:
                yield from self._status_within(failed)
            before = failed
        if steps:
            self._failed = before

    def _will_do(self, row):
        return row not in self._pages.failing_rows

    def _program(self):
        return self._programs([[row] for row in self._rows_to_program(1)])

    def _cached_programs(self):
        rows = self._rows_to_program(self._rng.randint(2, 4))
        return self._programs([[row] for row in rows])

    def _plane_programs(self):
        return self._programs(self._plane_pairs(1))

    def _plane_cached_programs(self):
        return self._programs(self._plane_pairs(self._rng.randint(2, 3)))

    def _pieces(self):
        rows = self._rows_to_program(1)
        if not rows:
            return
        pieces = [self._data() for _ in range(self._rng.randint(2, 4))]
        is_done = self._pages.program(rows[0], pieces)
        operations = [Op.LOAD, *[Op.LOAD_MORE] * (len(pieces) - 2), Op.PROGRAM_MORE]
        for operation, (column, data) in zip(operations, pieces, strict=True):
            is_last = operation is Op.PROGRAM_MORE
            statuses = _statuses(not is_done, False) if is_last else (Status.OK,)
            # 85h has no row, but the command's must exist.
            row = rows[0] if operation is Op.LOAD else 0
            yield self._order(operation, row=row, column=column, data=data, statuses=statuses)
        self._failed = not is_done

    # Erases, and the rest

    def _erase_of(self, block, operation=Op.ERASE, failed=False):
        failed |= not self._pages.erase(block)
        row = self._rng.choice(self._pages.rows(block))
        if operation is Op.ERASE_PLANE:
            return self._order(operation, row=row)
        self._failed = failed
        return self._order(operation, row=row, statuses=_statuses(failed, False))

    def _erase(self):
        """Rather one that is full."""
        pages, rng = self._pages, self._rng
        full = [block for block in pages.blocks if block not in pages.open_blocks()]
        chosen = full if full and rng.random() < 0.8 else pages.blocks
        yield self._erase_of(rng.choice(chosen))

    def _plane_erases(self):
        pages, rng = self._pages, self._rng
        first = rng.choice(pages.blocks)
        others = [b for b in pages.blocks if b % pages.planes != first % pages.planes]
        failed = first in pages.failing_blocks
        yield self._erase_of(first, Op.ERASE_PLANE)
        yield self._erase_of(rng.choice(others), failed=failed)

    def _status(self):
        yield self._order(Op.READ_STATUS, statuses=_statuses(self._failed, False))

    def _status_of_way(self):
        """70h: the LUN has ended all that it was told to do."""
        byte = READY | FAIL if self._failed else READY
        statuses = _statuses(self._failed, False)
        yield self._order(Op.READ_TARGET_STATUS, statuses=statuses, bytes_told=(byte,))

    def _status_within(self, failed):
        """70h in the midst of cached work, which may have ``failed`` or still go on."""
        if self._part.luns > 1 or self._rng.random() > 0.5:
            return
        told = (WORKING, WORKING | FAIL, READY | FAIL if failed else READY)
        statuses = _statuses(failed, False, is_cached=True)
        yield self._order(Op.READ_TARGET_STATUS, statuses=statuses, bytes_told=told)

    def _bad(self):
        statuses = (Status.BAD_COMMAND,)
        if self._rng.random() < 0.5:
            yield self._order(Op.READ, row=self._part.rows, length=2, statuses=statuses)
        else:
            yield self._order(Op.PROGRAM, column=2, data=b"odd", statuses=statuses)

    def _order(self, operation, **fields):
        rng = self._rng
        pause_ps = rng.choice((0, 0, 0, 0, 10_000, rng.randint(0, 3_000_000)))
        hold_ps = rng.choice((0, 0, rng.randint(0, 2_000_000), rng.randint(0, 30_000_000)))
        return Order(
            operation=operation, lun=self._lun, pause_ps=pause_ps, hold_ps=hold_ps, **fields
        )


def _statuses(failed, failed_before, *, is_cached=False):
    """What a program or an erase may end with.

    A cached one tells its own failure only if its array has come to rest when it is asked.
    """
    if failed and not is_cached:
        return (Status.FAILED,)
    rest = Status.PREVIOUS_FAILED if failed_before else Status.OK
    return (rest, Status.FAILED) if failed else (rest,)
