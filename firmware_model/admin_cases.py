"""Admin commands in C beside the model's: one random story of them."""

import numpy as np

from firmware_model.admin_state import AdminState, Refused, admin_counts
from firmware_model.arm_machine import ArmProgram
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from rtl.contract.codec import pack, unpack
from rtl.contract.nvme import Status, SubmissionEntry
from rtl.contract.nvme_admin import AdminOpcode, Feature

__all__ = ["admin_rows"]

QUEUES = 16
"""Places of the tables in ``c/admin.c``."""
IO_QUEUES, MOST_ENTRIES = 3, 64
COMMANDS = 3000
OPCODES = [*AdminOpcode, 0x0C]


def admin_rows(program: ArmProgram) -> dict[str, Rows]:
    """Queues come and go, features are set; most commands are right, some are not."""
    generator = np.random.default_rng(9)
    model = AdminState(IO_QUEUES, MOST_ENTRIES)
    state = words(IO_QUEUES, MOST_ENTRIES, 0, 0, *[0] * 2 * QUEUES)
    rows: Rows = []
    seen = set()
    for number in range(COMMANDS):
        raw = _command(generator)
        entry = unpack(SubmissionEntry, raw)
        run = program.run(
            "admin_command",
            "table:words",
            "table:state",
            "table:result",
            objects={"table:words": raw, "table:state": state, "table:result": words(7)},
        )
        try:
            result, status = model.execute(entry), Status.SUCCESS
        except Refused as refused:
            result, status = 0, refused.status
        equal(f"value of admin_command {number}", Status(run.value), status)
        equal(f"result of admin_command {number}", run.memory["table:result"], words(result))
        state = run.memory["table:state"]
        equal(f"state of admin_command {number}", state, _state(model))
        seen.add((int(entry.opcode), status))
        if status == Status.SUCCESS:
            rows.append((admin_counts(entry), run))
    equal("opcodes that succeeded", {code for code, end in seen if not end}, {*AdminOpcode})
    return {"admin_command": rows}


def _command(generator: np.random.Generator) -> bytes:
    """An entry whose fields are near what is right."""

    def any_of(*values: int) -> int:
        return int(generator.choice(values))

    opcode = any_of(*OPCODES)
    number = (
        any_of(0, *range(1, IO_QUEUES + 1), IO_QUEUES + 1) if generator.random() < 0.9 else 0xFFFF
    )
    if opcode in (AdminOpcode.SET_FEATURES, AdminOpcode.GET_FEATURES):
        cdw10, cdw11 = any_of(*Feature, 0x02), any_of(0, 3, 0x0001_0001, 0xFFFF, 0xFFFF_0000, 0xF)
    elif opcode == AdminOpcode.IDENTIFY:
        cdw10, cdw11 = any_of(0, 1, 2, 3), 0
    else:
        cdw10 = number | any_of(1, 1, 1, MOST_ENTRIES - 1, 0, MOST_ENTRIES) << 16
        cdw11 = any_of(1, 1, 1, 1, 3, 0) | any_of(0, 0, 1, 2, 3, 5) << 16
    return pack(
        SubmissionEntry,
        opcode=opcode,
        flags=0 if generator.random() < 0.97 else any_of(1, 0x40, 0x80),
        nsid=any_of(0, 1, 1, 1),
        prp1=any_of(0x1000, 0x2000, 0x3000, 0x3004),
        cdw10=cdw10,
        cdw11=cdw11,
    )


def _state(model: AdminState) -> bytes:
    """The model's state as the C code's tables."""
    completion_of, users = [0] * QUEUES, [0] * QUEUES
    for queue in model.completion_queues:
        users[queue - 1] = 1
    for queue, completions in model.completion_of.items():
        completion_of[queue - 1] = completions
        users[completions - 1] += 1
    created = len(model.completion_queues)
    return words(IO_QUEUES, MOST_ENTRIES, model.burst, created, *completion_of, *users)
