"""Page buffers at their plainest: what is where after each claim and release, by policy.

Written from the policies' descriptions, with lists that are searched from end to end.
"""

from dataclasses import dataclass, field


@dataclass
class Lru:
    """Time stamps: the idle page leaves whose last use ended first."""

    capacity: int
    time: int = 0
    ended: dict = field(default_factory=dict)

    def claimed(self, page):
        pass

    def released(self, page):
        self.time += 1
        self.ended[page] = self.time

    def replace(self, page, idle):
        return min(idle, key=self.ended.get)

    def entered(self, page, instead):
        pass


@dataclass
class SecondChance:
    """Frames in a ring, each with a page and a bit."""

    capacity: int
    ring: list = field(default_factory=list)
    hand: int = 0

    def claimed(self, page):
        for frame in self.ring:
            if frame[0] == page:
                frame[1] = 1

    def released(self, page):
        pass

    def replace(self, page, idle):
        while True:
            frame = self.ring[self.hand]
            self.hand += 1
            if self.hand == self.capacity:
                self.hand = 0
            if frame[0] in idle:
                if not frame[1]:
                    return frame[0]
                frame[1] = 0

    def entered(self, page, instead):
        if instead is None:
            self.ring.append([page, 1])
        for frame in self.ring:
            if frame[0] == instead:
                frame[:] = page, 1


@dataclass
class FullTwoQueues:
    """Figure 3 of Johnson and Shasha: heads are at 0, tails at the end."""

    capacity: int
    a1in: list = field(default_factory=list)
    a1out: list = field(default_factory=list)
    am: list = field(default_factory=list)

    def claimed(self, page):
        if page in self.am:
            self.am.remove(page)
            self.am.insert(0, page)

    def released(self, page):
        pass

    def replace(self, page, idle):
        kin = max(1, self.capacity // 4)
        order = self.a1in + self.am if len(self.a1in) <= kin else self.am + self.a1in
        return next(other for other in reversed(order) if other in idle)

    def entered(self, page, instead):
        kept = page in self.a1out
        if kept:
            self.a1out.remove(page)
        if instead in self.a1in:
            self.a1in.remove(instead)
            self.a1out.insert(0, instead)
            if len(self.a1out) > max(1, self.capacity // 2):
                self.a1out.pop()
        elif instead is not None:
            self.am.remove(instead)
        (self.am if kept else self.a1in).insert(0, page)


@dataclass
class PlainBuffer:
    """Frames by page with their pins, and pages that wait with the number of those who do."""

    policy: object
    pins: dict = field(default_factory=dict)
    waiting: dict = field(default_factory=dict)
    left: list = field(default_factory=list)
    """Pages in the order in which they left."""

    def claim(self, page):
        idle = [other for other, pins in self.pins.items() if not pins]
        if page in self.pins:
            self.pins[page] += 1
            self.policy.claimed(page)
        elif len(self.pins) < self.policy.capacity:
            self._enter(page, None, 1)
        elif idle:
            self._enter(page, self.policy.replace(page, idle), 1)
        else:
            self.waiting[page] = self.waiting.get(page, 0) + 1

    def release(self, page):
        self.pins[page] -= 1
        if self.pins[page]:
            return
        self.policy.released(page)
        if self.waiting:
            first = next(iter(self.waiting))
            self._enter(first, page, self.waiting.pop(first))

    def _enter(self, page, instead, pins):
        if instead is not None:
            del self.pins[instead]
            self.left.append(instead)
        self.policy.entered(page, instead)
        self.pins[page] = pins


REFERENCES = {"lru": Lru, "clock": SecondChance, "2q": FullTwoQueues}
