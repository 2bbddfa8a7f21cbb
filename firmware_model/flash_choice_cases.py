"""The choice among flash commands in C beside the model's, on random reads of all classes."""

from typing import Any

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.fits import Rows
from firmware_model.flash_cases import Story, tell
from firmware_model.flash_choice import PRIORITIES, ChannelChoice, FlashOrder
from firmware_model.flash_queues import FlashClass, Read
from firmware_model.mismatch import equal
from firmware_model.tables import JOBS, RANKS, empty_choice, listed
from rtl.contract.channel import COMMANDS_PER_LUN

__all__ = ["choice_rows"]

ORDERS = (
    FlashOrder(order="idle-first", priority="host sampling background", patience=2),
    FlashOrder(order="idle-first", priority="equal", patience=5),
    FlashOrder(order="round-robin", priority="background sampling host", patience=1),
    FlashOrder(order="idle-first", priority="sampling host background", patience=40),
)


class _ChoiceStory(Story):
    queues: ChannelChoice

    def __init__(self, program: ArmProgram, order: FlashOrder) -> None:
        super().__init__(program, order)
        ranks = [PRIORITIES[order.priority][kind] for kind in FlashClass]
        idle_first = order.order == "idle-first"
        self.choice = empty_choice(order.patience, ranks, idle_first=idle_first)

    def run(self, routine: str, *arguments: str | int, **objects: bytes) -> Run:
        run = super().run(routine, *arguments, table_choice=self.choice.tobytes(), **objects)
        self.choice = np.frombuffer(run.memory["table:choice"], self.choice.dtype).copy()
        return run

    def queue_step(self, number: int, kind: FlashClass) -> Run:
        return self.run(
            "flash_queue_choice", "table", "table:choice", "table:geometry", number, int(kind)
        )

    def issue_step(self, **objects: bytes) -> Run:
        return self.run(
            "flash_issue_choice",
            *("registers", "table", "table:choice", "table:geometry", self.channel),
            **objects,
        )

    def complete_step(self, **objects: bytes) -> Run:
        return self.run(
            "flash_complete_choice",
            *("registers", "table", "table:choice", "table:geometry"),
            *(self.channel, "table:corrected"),
            **objects,
        )

    def compare(self) -> None:
        """All queues, sets and turns."""
        queues, choice, fills = self.queues, self.choice[0], self.memory[0]["fills"]
        luns = list(queues.luns.values())
        mine: Any = choice["channels"][self.channel]

        def numbers(reads: Any) -> list[int]:
            return [self.read_of[read] for read in reads]

        def set_of(is_in: list[bool]) -> int:
            return sum(1 << place for place, there in enumerate(is_in) if there)

        for place, lun in enumerate(luns):
            ours = choice["queues"][self.channel * len(luns) + place]
            for rank, reads in enumerate(queues.queues(lun)):
                found = listed(fills, int(ours[rank]["first"]), "queued")
                equal("reads of a LUN", found, numbers(reads))
        for rank in range(RANKS):
            waiting = set_of([bool(queues.queues(lun)[rank]) for lun in luns])
            equal("LUNs with reads of a rank", int(mine["waiting"][rank]), waiting)
        room = set_of([lun.outstanding < COMMANDS_PER_LUN for lun in luns])
        idle = set_of([lun.outstanding == 0 for lun in luns])
        equal("LUNs with room, and idle", (int(mine["room"]), int(mine["idle"])), (room, idle))
        equal("turns", [int(mine["turn"]), *mine["next"]], [queues.turn, *queues.next])
        end = JOBS + self.channel
        oldest: list[Read] = list(queues.oldest)
        ages = choice["ages"]
        equal("ages", listed(ages, int(ages[end]["newer"]), "newer", end), numbers(oldest))
        back = listed(ages, int(ages[end]["older"]), "older", end)
        equal("ages, backwards", back, numbers(reversed(oldest)))


def choice_rows(program: ArmProgram, steps: int = 600) -> dict[str, Rows]:
    """Stories of several orders."""
    rows: dict[str, Rows] = {}
    for order in ORDERS:
        for routine, found in tell(_ChoiceStory(program, order), steps).items():
            rows.setdefault(routine, []).extend(found)
    return rows
