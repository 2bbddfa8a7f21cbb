"""What host and hop sequencer tell each other where the FPGA card goes on from hop to hop itself.

Hypothetical: the sequencer owns an NVMe queue pair of the SSD, which today's SmartSSD cannot.

An order is a :class:`HopOrder`, then a ``u16`` a hop with its fan-out, then zeros up to a multiple
of 4 bytes, then a ``u32`` a root target. Its answer is a :class:`HopAnswer`, then a ``u32`` a hop
with the bytes of its result. Results are the words of the gather unit, hop after hop: a
:class:`~rtl.contract.gather.ResultHeader` a slot, then its ids. All words are little-endian.

The key of a list is that of :mod:`rtl.contract.mixer`: four rounds of the mixer for seed, batch and
hop, once a hop, and one for the slot; of a walk, which is of hop 0 and of the slot of its root, one
addition a step. A sequencer with one mixer makes a key in each clock.
"""

from amaranth.lib import data, enum

from rtl.contract.codec import byte_size
from rtl.contract.sampling import Sampling

__all__ = ["ORDER_MAGIC", "SAMPLING_CODES", "HopAnswer", "HopOrder", "HopStatus", "order_parts"]

ORDER_MAGIC = 0x3153_504F
"""``OPS1`` in memory."""

SAMPLING_CODES = (Sampling.REPLACEMENT, Sampling.DISTINCT, Sampling.WALK)
"""What the field ``sampling`` of an order counts."""


class HopStatus(enum.IntEnum, shape=8):
    """How an order ended."""

    OK = 0
    BAD_ORDER = 1
    """Its magic, its way to sample, its length or its number of hops or targets."""
    READ_FAILED = 2
    """A read of the sequencer's queue did, with ``detail`` as its status."""
    GATHER_FAILED = 3
    """A launch of the gather unit did, with ``detail`` as its status."""
    LIST_TOO_LARGE = 4
    """The list of node ``detail`` does not fit the window."""
    BAD_ID = 5
    """A sampled id, or a target, ``detail``, is no node of the row pointers."""
    FRONTIER_FULL = 6
    """The next frontier has ``detail`` entries or more, which do not fit the sequencer."""


class HopOrder(data.Struct):
    """A mini-batch, 24 bytes; fan-outs and targets follow. Spans are of ``batch``, too."""

    magic: 32
    sampling: 8
    reserved0: 8
    hops: 16
    seed: 64
    batch: 32
    targets: 32


class HopAnswer(data.Struct):
    """End of an order, 16 bytes; the sizes of the results follow."""

    status: 8
    reserved0: 8
    hop: 16
    """In which it ended, where the status is bad."""
    reserved1: 32
    detail: 64


def order_parts(hops, targets):
    """Byte offsets of fan-outs and targets in an order, and its length."""
    fan_outs = byte_size(HopOrder)
    place = fan_outs + -(-2 * hops // 4) * 4
    return fan_outs, place, place + 4 * targets
