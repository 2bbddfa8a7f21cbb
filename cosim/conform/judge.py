"""One case of a block's conformance, and what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cosim.conform.gather_cases import GatherCase, scenario_of
from cosim.conform.gather_lists import Room
from cosim.conform.gather_player import GatherPlayer
from cosim.conform.wires import Broken, Driver

__all__ = ["FAILED", "NOT_OFFERED", "PASSED", "Outcome", "judge"]

PASSED, FAILED, NOT_OFFERED = "pass", "FAIL", "not offered"


@dataclass(frozen=True)
class Outcome:
    """``result`` is one of the three words; ``at_ps`` is when the case ended, or failed."""

    name: str
    title: str
    result: str
    message: str = ""
    at_ps: int = 0
    edge: int = 0

    def __str__(self) -> str:
        line = f"{self.result:<11}  {self.name}: {self.title}"
        if self.result != FAILED:
            return line
        when = f"at {self.at_ps / 1000:.0f} ns, edge {self.edge}: " if self.at_ps else ""
        return f"{line}: {when}{self.message}"


async def judge(
    case: GatherCase,
    room: Room,
    driver: Driver,
    ports: Mapping[str, tuple[bool, int]],
    now_ps: Callable[[], int],
) -> Outcome:
    """Play a case from reset to rest."""
    player = GatherPlayer(driver, ports, scenario_of(case, room), case.play)
    try:
        await player.play()
    except Broken as broken:
        return Outcome(case.name, case.title, FAILED, str(broken), now_ps(), player.edge)
    result = PASSED if case.is_offered(room.limits) else NOT_OFFERED
    return Outcome(case.name, case.title, result, "", now_ps(), player.edge)
