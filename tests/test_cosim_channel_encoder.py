"""What a port hands over to channels that make the parity of pages themselves."""

from types import SimpleNamespace

import numpy as np
import pytest

from cosim.config.build import bch_code
from cosim.config.load import load_platform
from cosim.units.channel import chunks_of
from cosim.units.launch_slots import LaunchSlots
from rtl.contract.channel import ChannelCommand, ChannelOperation
from rtl.contract.codec import unpack
from rtl.contract.kernel import Cause
from rtl.contract.page import FILL
from tests.hand_channel import FULL, HandChannel

CODE = bch_code(load_platform("tiny"))
WORDS = 128
CHUNKS = np.random.default_rng(1).integers(0, 256, (2, CODE.chunk_bytes), dtype=np.uint8)
CODED = np.hstack([CHUNKS, CODE.encode(CHUNKS)]).astype(np.uint8).tobytes()
NOW = Cause(0, 0)
PAGE = CODED + bytes([FILL]) * 6
LAUNCH = "launch.memory.ram.mem"


@pytest.fixture
def bench():
    return HandChannel(FULL, encoder=CODE)


def handed_over(bench):
    """Bytes of the launch slot, and the command."""
    box = bench.engine.boxes[4, "command"].value
    command = unpack(ChannelCommand, box.to_bytes(16, "little"))
    first = command.slot * -(-FULL.raw_page_bytes // WORDS)
    return bench.engine.memories[4, LAUNCH].data[first], command


def test_a_page_is_handed_over_as_its_chunks(bench):
    bench.submit(ChannelOperation.PROGRAM, data=PAGE)
    data, command = handed_over(bench)
    assert data == CHUNKS.tobytes()
    assert (command.length, command.is_raw) == (len(PAGE), 0)


@pytest.mark.parametrize("operation", [ChannelOperation.LOAD, ChannelOperation.PROGRAM_CACHE])
def test_so_is_whatever_goes_into_a_page_register(bench, operation):
    bench.submit(operation, data=CODED[: CODE.codeword_bytes], column=4)
    assert handed_over(bench)[0] == CHUNKS[0].tobytes()


def test_what_is_raw_or_a_feature_is_handed_over_as_it_is(bench):
    bench.submit(ChannelOperation.PROGRAM, data=b"not a codeword", is_raw=True)
    assert handed_over(bench)[0] == b"not a codeword"
    other = HandChannel(FULL, encoder=CODE)
    other.submit(ChannelOperation.SET_FEATURES, row=1, data=b"abcd")
    assert handed_over(other)[0] == b"abcd"


def test_parity_that_is_not_that_of_the_chunks_is_refused(bench):
    wrong = bytearray(PAGE)
    wrong[CODE.chunk_bytes] ^= 1
    with pytest.raises(ValueError, match="must have the parity of its chunks, or be raw"):
        bench.submit(ChannelOperation.PROGRAM, data=bytes(wrong))
    with pytest.raises(ValueError, match="must be whole codewords, and 0xff behind them"):
        bench.submit(ChannelOperation.PROGRAM, data=CODED + b"ab")


def test_chunks_of_less_than_a_codeword_are_none():
    assert chunks_of(bytes([FILL]) * 8, CODE) == b""


def test_a_piece_without_chunks_has_the_slot_that_its_operation_needs():
    started = []
    slots = LaunchSlots(2, lambda command, cause: started.append(command))
    piece = SimpleNamespace(
        operation=ChannelOperation.LOAD, way=0, lun=0, data=b"", launch_slot=None
    )
    slots.enter(piece)
    assert piece.launch_slot == 0
    slots.leave(piece, NOW)
    others = [
        SimpleNamespace(
            operation=ChannelOperation.PROGRAM, way=1, lun=lun, data=b"a", launch_slot=None
        )
        for lun in range(2)
    ]
    for other in others:
        slots.enter(other)
    # The LUN that the bus is kept for keeps its slot: its next piece need not wait.
    assert started == [piece, others[0]]
