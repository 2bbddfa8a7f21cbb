"""What a case of the gather unit's benchmark reads: descriptors, positions and ids."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cosim.bench.gather_case import GatherCase
from rtl.contract.codec import pack
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode, ResultHeader
from rtl.contract.mixer import positions
from rtl.contract.sampling import distinct_positions

__all__ = ["BEAT_BYTES", "GatherWork", "gather_work"]

BEAT_BYTES = 64
MOST_DEGREE = 4000


@dataclass(frozen=True, kw_only=True)
class GatherWork:
    """A launch: ``count`` descriptors from address 0 on.

    ``beats``: contents of the beats that it reads, by number. ``result``: its result words.
    ``trace``: addresses of the beats of its ids, in order; one for several ids in a row in a beat.
    """

    count: int
    beats: dict[int, bytes]
    result: bytes
    trace: list[int]


def gather_work(case: GatherCase, count: int, *, window_bytes: int, seed: int) -> GatherWork:
    """``count`` descriptors of lists at random places, which depend on the seed alone.

    Degrees are spread evenly over their logarithm, from one above the fan-out to 4,000; keys,
    places of lists and explicit positions evenly.
    """
    rng = np.random.default_rng([seed, case.fan_out, case.id_bytes, count])
    image = np.random.default_rng(seed).bytes(window_bytes)
    first_list = window_bytes // 8
    mode = GatherMode[case.mode.upper()]
    table, orders, result = bytearray(), bytearray(), bytearray()
    order_base = window_bytes // 16
    addresses: list[npt.NDArray[np.int64]] = []
    for key in rng.integers(0, 1 << 32, count):
        degree = int(np.exp(rng.uniform(np.log(case.fan_out + 1), np.log(MOST_DEGREE))))
        room = window_bytes - first_list - degree * case.id_bytes
        list_address = first_list + int(rng.integers(room // case.id_bytes)) * case.id_bytes
        taken = _positions(mode, int(key), degree, case.fan_out, rng)
        table += pack(
            GatherDescriptor,
            magic=DESCRIPTOR_MAGIC,
            mode=mode,
            id_log2=case.id_bytes.bit_length() - 1,
            fan_out=case.fan_out,
            list_address=list_address,
            degree=degree,
            key=int(key),
            positions_address=order_base + len(orders),
        )
        if mode == GatherMode.EXPLICIT:
            orders += taken.astype("<u4").tobytes()
        at = list_address + case.id_bytes * taken.astype(np.int64)
        addresses.append(at)
        result += pack(ResultHeader, count=case.fan_out)
        for address in at:
            result += image[address : address + case.id_bytes].ljust(8, b"\0")
    read = np.concatenate(addresses) // BEAT_BYTES
    beats = {int(beat): image[beat * BEAT_BYTES : (beat + 1) * BEAT_BYTES] for beat in set(read)}
    for base, data in ((0, table), (order_base, orders)):
        for start in range(0, len(data), BEAT_BYTES):
            piece = bytes(data[start : start + BEAT_BYTES])
            beats[(base + start) // BEAT_BYTES] = piece.ljust(BEAT_BYTES, b"\0")
    alone = np.concatenate(([True], read[1:] != read[:-1]))
    trace = [int(beat) * BEAT_BYTES for beat in read[alone]]
    return GatherWork(count=count, beats=beats, result=bytes(result), trace=trace)


def _positions(
    mode: GatherMode, key: int, degree: int, fan_out: int, rng: np.random.Generator
) -> npt.NDArray[np.uint32]:
    if mode == GatherMode.EXPLICIT:
        return rng.integers(0, degree, fan_out).astype(np.uint32)
    draw = positions if mode == GatherMode.DRAW else distinct_positions
    return np.asarray(draw(key, degree, fan_out), dtype=np.uint32)
