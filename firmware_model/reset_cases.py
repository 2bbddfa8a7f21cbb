"""The reset of a way in C beside that of the model."""

from firmware_model.arm_machine import ArmProgram
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from rtl.contract.channel import ChannelCommand, ChannelCompletion, ChannelOperation, ChannelStatus
from rtl.contract.codec import pack

__all__ = ["reset_rows"]

WAYS = 8
READY = 1


def reset_rows(program: ArmProgram) -> dict[str, Rows]:
    """Each way, as it becomes ready, and as it does not."""
    rows: dict[str, Rows] = {"reset_way": [], "reset_complete": []}
    for way in range(WAYS):
        tag = 5 + way
        run = program.run(
            "reset_way", "registers", way, tag, objects={"registers": bytes(16) + words(READY)}
        )
        equal("value of reset_way", run.value, 0)
        command = pack(ChannelCommand, operation=ChannelOperation.RESET, way=way, tag=tag)
        equal("command of reset_way", run.memory["registers"], command + words(READY))
        rows["reset_way"].append(({}, run))
        for status in (ChannelStatus.OK, ChannelStatus.TIMEOUT):
            end = pack(ChannelCompletion, tag=tag, status=status, nand_status=0xE0)[:8]
            registers = bytes(32) + end + bytes(4)
            run = program.run("reset_complete", "registers", objects={"registers": registers})
            equal("value of reset_complete", run.value, tag << 1 | (status == ChannelStatus.OK))
            equal("notice of reset_complete", run.memory["registers"][40:], words(1))
            rows["reset_complete"].append(({}, run))
    return rows
