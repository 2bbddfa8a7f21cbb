"""Orders of whole mini-batches for the card's hop sequencer, and their answers, as bytes."""

from dataclasses import dataclass

import numpy as np

from host.trace import MiniBatch
from rtl.contract.codec import byte_size, pack, unpack
from rtl.contract.hops import (
    ORDER_MAGIC,
    SAMPLING_CODES,
    HopAnswer,
    HopOrder,
    HopStatus,
    order_parts,
)

__all__ = ["BadOrder", "HopEnd", "decode_answer", "decode_order", "encode_answer", "encode_order"]

HEAD_BYTES = byte_size(HopOrder)
ANSWER_BYTES = byte_size(HopAnswer)


class BadOrder(Exception):
    """Bytes that are no order."""


def encode_order(batch: MiniBatch) -> bytes:
    """The order for a mini-batch."""
    fan_outs, targets, length = order_parts(len(batch.fan_outs), len(batch.targets))
    raw = bytearray(length)
    raw[:fan_outs] = pack(
        HopOrder,
        magic=ORDER_MAGIC,
        sampling=SAMPLING_CODES.index(batch.sampling),
        hops=len(batch.fan_outs),
        seed=batch.seed,
        batch=batch.index,
        targets=len(batch.targets),
    )
    words = np.array(batch.fan_outs, dtype="<u2").tobytes()
    raw[fan_outs : fan_outs + len(words)] = words
    raw[targets:] = batch.targets.astype("<u4").tobytes()
    return bytes(raw)


def decode_order(raw: bytes) -> MiniBatch:
    """The mini-batch that an order is for.

    Raises
    ------
    BadOrder
        If it is none, or one without hops or targets.
    """
    if len(raw) < HEAD_BYTES:
        raise BadOrder(f"order must be at least {HEAD_BYTES} bytes long, not {len(raw)}")
    head = unpack(HopOrder, raw[:HEAD_BYTES])
    hops, count = int(head.hops), int(head.targets)
    fan_outs, targets, length = order_parts(hops, count)
    good = head.magic == ORDER_MAGIC and head.sampling < len(SAMPLING_CODES)
    if not good or not hops or not count or len(raw) != length:
        raise BadOrder(
            f"order must have its magic, a way to sample, hops and targets, "
            f"and {length} bytes for {hops} and {count} of them, not {len(raw)}"
        )
    return MiniBatch(
        int(head.batch),
        np.frombuffer(raw, "<u4", offset=targets).astype(np.uint32),
        tuple(np.frombuffer(raw, "<u2", count=hops, offset=fan_outs).tolist()),
        seed=int(head.seed),
        sampling=SAMPLING_CODES[int(head.sampling)],
    )


@dataclass(frozen=True)
class HopEnd:
    """How an order ended: a ``HopStatus``, in which hop, and what it says of it."""

    status: int
    hop: int = 0
    detail: int = 0
    sizes: tuple[int, ...] = ()
    """Bytes of each hop's result; empty where the status is bad."""


def encode_answer(end: HopEnd) -> bytes:
    """The answer that tells of an end."""
    head = pack(HopAnswer, status=end.status, hop=end.hop, detail=end.detail)
    return head + np.array(end.sizes, dtype="<u4").tobytes()


def decode_answer(raw: bytes) -> HopEnd:
    """The end that an answer tells of."""
    head = unpack(HopAnswer, raw[:ANSWER_BYTES])
    sizes = tuple(np.frombuffer(raw, "<u4", offset=ANSWER_BYTES).tolist())
    status = int(head.status)
    return HopEnd(status, int(head.hop), int(head.detail), sizes if status == HopStatus.OK else ())
