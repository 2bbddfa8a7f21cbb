"""The commands of a read retry in C beside those of the model."""

from firmware_model.arm_machine import ArmProgram
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from firmware_model.read_retry import level_data
from rtl.contract.channel import ChannelCommand, ChannelCompletion, ChannelOperation, ChannelStatus
from rtl.contract.codec import pack
from rtl.contract.onfi import READ_LEVEL_FEATURE

__all__ = ["retry_rows"]

LEVELS = 6
READY = 1


def retry_rows(program: ArmProgram) -> dict[str, Rows]:
    """Each level on another way, as taken by the die and as refused."""
    rows: dict[str, Rows] = {"retry_level": [], "retry_complete": []}
    for level in range(LEVELS):
        way, tag = 7 - level, level % 3
        run = program.run(
            "retry_level",
            "registers",
            "table",
            level,
            objects={"registers": bytes(16) + words(READY, 0), "table": words(way, 9, tag)},
        )
        equal("value of retry_level", run.value, 0)
        data = level_data(level)
        command = pack(
            ChannelCommand,
            operation=ChannelOperation.SET_FEATURES,
            way=way,
            row=READ_LEVEL_FEATURE,
            length=len(data),
            tag=tag,
        )
        expected = command + words(READY) + data
        equal("command of retry_level", run.memory["registers"], expected)
        equal("level of retry_level", run.memory["table"], words(way, level, tag))
        rows["retry_level"].append(({}, run))
        for status in (ChannelStatus.OK, ChannelStatus.TIMEOUT):
            table = [(0, 9, 0)] * 3
            table[tag] = (way, level, tag)
            end = pack(ChannelCompletion, tag=tag, status=status, slot=1, nand_status=0xE0)[:8]
            run = program.run(
                "retry_complete",
                "registers",
                "table",
                objects={
                    "registers": bytes(32) + end + bytes(4),
                    "table": b"".join(words(*one) for one in table),
                },
            )
            equal("value of retry_complete", run.value, level << 1 | (status == ChannelStatus.OK))
            equal("notice of retry_complete", run.memory["registers"][40:], words(1))
            rows["retry_complete"].append(({}, run))
    return rows
