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
        self._env = env
        self._times = array("q", [int(env.now)])
        self._depths = array("q", [0])

    @property
    def depth(self) -> int:
        """Now."""
        return self._depths[-1]

    def change(self, by: int) -> None:
        """So many come now, or leave if it is negative; :exc:`RuntimeError` below none."""
        now, depth = int(self._env.now), self._depths[-1] + by
        if depth < 0:
            raise RuntimeError(f"A queue must not have less than nothing in it, not {depth}")
        if self._times[-1] < now:
            self._times.append(now)
            self._depths.append(depth)
            return
        self._depths[-1] = depth
        if len(self._depths) > 1 and self._depths[-2] == depth:
            self._times.pop()
            self._depths.pop()

    def changes(self) -> list[tuple[int, int]]:
        """Times, rising, and the depth from each on; no two depths in a row are the same."""
        return list(zip(self._times, self._depths, strict=True))
