"""What the pages of a LUN must hold: a plain model, written from the operations' meaning alone."""

from typing import NamedTuple

__all__ = ["Image", "PlainPages"]


class Image(NamedTuple):
    """Bytes of a page, and FFh where they are known; what no data came for may be anything."""

    content: bytes
    known: bytes

    @classmethod
    def erased(cls, size):
        return cls(b"\xff" * size, b"\xff" * size)

    @classmethod
    def noise(cls, size):
        return cls(bytes(size), bytes(size))

    def holding(self, column, data):
        """The same with ``data`` at ``column``."""
        end = column + len(data)
        return Image(
            self.content[:column] + data + self.content[end:],
            self.known[:column] + b"\xff" * len(data) + self.known[end:],
        )

    def piece(self, column, length):
        return Image(*(part[column : column + length] for part in self))

    def matches(self, data):
        if len(data) != len(self.content):
            return False
        differing = int.from_bytes(data, "little") ^ int.from_bytes(self.content, "little")
        return not differing & int.from_bytes(self.known, "little")


class PlainPages:
    """Pages of some blocks of a LUN, and what may be done to them next.

    ``failing_rows`` are pages whose program fails, ``failing_blocks`` those whose erase does. A
    block that is not known to be erased is not programmed.
    """

    def __init__(self, part, blocks, *, failing_rows=(), failing_blocks=()):
        self._size = part.raw_page_bytes
        self._per_block = part.pages_per_block
        self.blocks = list(blocks)
        self.planes = part.planes
        self.failing_rows, self.failing_blocks = set(failing_rows), set(failing_blocks)
        self.next_page = dict.fromkeys(self.blocks)
        self.images = {}

    def rows(self, block):
        return range(block * self._per_block, (block + 1) * self._per_block)

    def erase(self, block):
        """Returns whether it is done."""
        is_done = block not in self.failing_blocks
        image = Image.erased(self._size) if is_done else Image.noise(self._size)
        self.images |= dict.fromkeys(self.rows(block), image)
        self.next_page[block] = 0 if is_done else None
        return is_done

    def program(self, row, pieces):
        """Program a page with ``pieces`` of (column, data); returns whether that is done."""
        image = Image.noise(self._size)
        is_done = row not in self.failing_rows
        for column, data in pieces if is_done else ():
            image = image.holding(column, data)
        self.images[row] = image
        self.next_page[row // self._per_block] = row % self._per_block + 1
        return is_done

    def cut_off(self, row):
        """A reset may have come before the end of the program of a page: nothing is known of it."""
        self.images[row] = Image.noise(self._size)
        self.next_page[row // self._per_block] = None

    def open_blocks(self):
        """Blocks with pages that may be programmed."""
        return [
            block
            for block, page in self.next_page.items()
            if page is not None and page < self._per_block
        ]

    def plane(self, row):
        return row // self._per_block % self.planes
