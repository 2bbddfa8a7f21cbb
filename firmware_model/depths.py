"""How long queues are, as changes in time: every change, no samples."""

from array import array
from typing import Any

__all__ = ["DepthLog"]


class DepthLog:
    """Depth of one queue from the beginning on; ``env`` tells the time in picoseconds.

    Changes at one time are one change, and what lasts no time is not kept. So the area under the
    curve is the sum of the times that all who were in the queue have been there.
    """

    def __init__(self, env: Any) -> None:
        self.depth = 0
        """Now."""
        self._env = env
        self._times = array("q", [env.now])
        self._depths = array("q", [0])

    def change(self, by: int) -> None:
        """So many come now, or leave if it is negative; :exc:`RuntimeError` below none."""
        self.depth += by
        if self.depth < 0:
            raise RuntimeError(f"A queue must not have less than nothing in it, not {self.depth}")
        self._times.append(self._env.now)
        self._depths.append(self.depth)

    def changes(self) -> list[tuple[int, int]]:
        """Times, rising, and the depth from each on; no two depths in a row are the same."""
        found: list[tuple[int, int]] = []
        for time_ps, depth in zip(self._times, self._depths, strict=True):
            if found and found[-1][0] == time_ps:
                found.pop()
            if not found or found[-1][1] != depth:
                found.append((time_ps, depth))
        return found
