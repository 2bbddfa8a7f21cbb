"""Random operations that are legal by construction, with what each must bring.

Every LUN of a way has a stream of orders, in which sequences (cached, of several planes, in pieces)
are whole; between streams the way is asked as a whole, or reset, also in the midst of cached work.
"""

import random

from rtl.contract.channel import ChannelOperation as Op
from tests.scenarios.campaign_lun import LunPlan, Order
from tests.scenarios.campaign_pages import Image, PlainPages

__all__ = ["IDENTITY", "WayPlan"]

IDENTITY = bytes.fromhex("2c64444b a9000000")
FEATURES = (0x10, 0x80, 0x91)


class WayPlan:
    """Rounds of a way: a stream of orders a LUN, then orders about the way.

    Parameters
    ----------
    seed, way : int
    part : NandPart
    blocks : sequence of int
        Blocks of each LUN that are used.
    short : float
        Share of transfers that are short.
    parameter_page : bytes
        With its copies.
    """

    def __init__(self, seed, way, part, blocks, *, short, parameter_page):
        self._rng = rng = random.Random(f"{seed} {way}")
        self._parameter_page = parameter_page
        self._part = part
        self._features = {}
        self.pages = []
        for _ in range(part.luns):
            rows = [row for block in blocks for row in PlainPages(part, blocks).rows(block)]
            failing = {
                "failing_rows": rng.sample(rows[:64], 2),
                "failing_blocks": rng.sample(list(blocks), 1),
            }
            self.pages.append(PlainPages(part, blocks, **failing))
        self._luns = [
            LunPlan(rng, part, lun, pages, short=short) for lun, pages in enumerate(self.pages)
        ]
        self._is_first = True

    def round(self):
        """Streams of the LUNs, and the orders after them."""
        rng = self._rng
        streams = [[] for _ in self._luns]
        for plan, stream in zip(self._luns, streams, strict=True):
            if self._is_first:
                stream += plan.first_erases()
            for _ in range(rng.randint(1, 8)):
                stream += plan.sequence()
        self._is_first = False
        is_cut = rng.random() < 0.15
        if is_cut:
            for plan, stream in zip(self._luns, streams, strict=True):
                if rng.random() < 0.7:
                    stream += plan.cut_off()
        return streams, list(self._ask_way(is_cut))

    def _ask_way(self, is_cut):
        rng = self._rng
        if is_cut or rng.random() < 0.1:
            yield self._order(Op.RESET)
            for plan in self._luns:
                plan.after_reset()
        for _ in range(rng.randint(0, 2)):
            (kind,) = rng.choices((self._identify, self._parameters, self._feature), (2, 1, 3))
            yield from kind()
            for plan in self._luns:
                plan.after_reset()

    def _identify(self):
        address, answer = self._rng.choice(((0x00, IDENTITY), (0x20, b"ONFI")))
        yield self._order(Op.READ_ID, row=address, length=len(answer), image=_whole(answer))

    def _parameters(self):
        most = min(len(self._parameter_page), self._part.raw_page_bytes)
        length = 2 * self._rng.randint(1, most // 2)
        image = _whole(self._parameter_page[:length])
        yield self._order(Op.READ_PARAMETER_PAGE, length=length, image=image)

    def _feature(self):
        rng, address = self._rng, self._rng.choice(FEATURES)
        if rng.random() < 0.5:
            self._features[address] = value = rng.randbytes(4)
            yield self._order(Op.SET_FEATURES, row=address, data=value)
        value = self._features.get(address, bytes(4))
        yield self._order(Op.GET_FEATURES, row=address, length=4, image=_whole(value))

    def _order(self, operation, **fields):
        lun = self._rng.randrange(self._part.luns)
        return Order(operation=operation, lun=lun, **fields)


def _whole(content):
    return Image(content, b"\xff" * len(content))
