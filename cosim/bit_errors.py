"""Raw bit errors of flash cells: a rate from wear, age and read level, and seeded draws from it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rtl.contract.striping import PhysicalPage

__all__ = ["BitErrors", "CellState"]

WHOLE_PPT = 10**12
WHOLE_PPM = 10**6
REFERENCE_CYCLES = 1000
REFERENCE_HOURS = 1000


@dataclass(frozen=True, kw_only=True)
class CellState:
    """How worn and how old the cells of a device are, and what that does to their bits.

    A bit read at level l is wrong with the probability::

        fresh + worn * C^p + aged * C^p * H^q * share[l],   C = cycles / 1000, H = hours / 1000

    The form is the power law that is usual for measured parts; see ``docs/bit-errors.md``.

    Parameters
    ----------
    cycles : int
        Program and erase cycles of each block.
    age_hours : int
        Since the pages were programmed.
    fresh_rate_ppt : int
        Wrong bits in 10^12 of cells without wear.
    worn_rate_ppt, aged_rate_ppt : int
        What 1000 cycles add at once; what they add after 1000 hours, at read level 0.
    cycles_exponent, age_exponent : Fraction
        p and q.
    level_shares_ppm : tuple of int
        By read level, millionths of the errors of age that are left; any other level has the last
        one's.
    die_spread_ppm : int
        A die's rate is the above times a number of 1 - spread to 1 + spread, uniform, its own.
    seed : int
        Of all draws.

    Raises
    ------
    ValueError
        If a number is negative, there is no level, the spread is above the whole, or a bit may be
        wrong in more than half of all reads.
    """

    cycles: int
    age_hours: int
    fresh_rate_ppt: int
    worn_rate_ppt: int
    aged_rate_ppt: int
    cycles_exponent: Fraction
    age_exponent: Fraction
    level_shares_ppm: tuple[int, ...]
    die_spread_ppm: int
    seed: int

    def __post_init__(self) -> None:
        rates = ("fresh_rate_ppt", "worn_rate_ppt", "aged_rate_ppt")
        for name in ("cycles", "age_hours", *rates, "die_spread_ppm", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
        if not self.level_shares_ppm or min(self.level_shares_ppm) < 0:
            raise ValueError(
                f"level_shares_ppm must be at least one share, none below 0, "
                f"not {list(self.level_shares_ppm)}"
            )
        if self.die_spread_ppm > WHOLE_PPM:
            raise ValueError(
                f"die_spread_ppm must be at most {WHOLE_PPM} millionths, not {self.die_spread_ppm}"
            )
        rule = "cycles, age and rates must leave at most half of all bits wrong"
        try:
            most = max(self.rate_ppt(level) for level in range(self.levels))
        except OverflowError:
            raise ValueError(f"{rule}, not more of them than can be computed") from None
        if most * (WHOLE_PPM + self.die_spread_ppm) > WHOLE_PPM * WHOLE_PPT // 2:
            raise ValueError(f"{rule}, not {most / WHOLE_PPT:.3g} of them and a die's spread")

    @property
    def levels(self) -> int:
        """Read levels, 0 included, that differ."""
        return len(self.level_shares_ppm)

    def rate_ppt(self, level: int) -> int:
        """Wrong bits in 10^12 at a read level, of a die in the middle of the spread."""
        shares = self.level_shares_ppm
        wear = (self.cycles / REFERENCE_CYCLES) ** float(self.cycles_exponent)
        age = (self.age_hours / REFERENCE_HOURS) ** float(self.age_exponent)
        left = shares[min(level, len(shares) - 1)] / WHOLE_PPM
        return round(
            self.fresh_rate_ppt + wear * (self.worn_rate_ppt + self.aged_rate_ppt * age * left)
        )


class BitErrors:
    """Draws which bits of a page read wrong.

    What is drawn depends on the seed, the page's place, how many times it was read before, and the
    rate; not on anything that was drawn for another page. The number of wrong bits is binomial,
    over a page and so over each of its codewords, and their places are uniform.

    Parameters
    ----------
    state : CellState
    raw_bytes : int
        Of a page.
    """

    def __init__(self, state: CellState, raw_bytes: int) -> None:
        self.state = state
        self.drawn = 0
        """Wrong bits so far."""
        self._bits = 8 * raw_bytes
        self._rates_ppt = [state.rate_ppt(level) for level in range(state.levels)]
        self._reads: dict[PhysicalPage, int] = {}
        self._die_factors: dict[tuple[int, int], float] = {}
        # Of a stream that NumPy keeps as it is (NEP 19), so that results stay.
        self._draws = np.random.RandomState(0)

    def positions(self, place: PhysicalPage, level: int) -> NDArray[np.int64] | None:
        """Bits that this read of a page gets wrong, unordered; None if there are none.

        Bit i is bit i mod 8 (0 the lowest) of byte i div 8.
        """
        if not any(self._rates_ppt):
            return None
        reads = self._reads.get(place, 0)
        self._reads[place] = reads + 1
        rate_ppt = self._rates_ppt[min(level, len(self._rates_ppt) - 1)]
        rate = rate_ppt / WHOLE_PPT * self._die_factor(place)
        draws = self._seeded(*place, reads)
        count = int(draws.binomial(self._bits, rate))
        if not count:
            return None
        found = np.empty(0, dtype=np.int64)
        # The first ``count`` different ones of a sequence of uniform places.
        while len(found) < count:
            more = draws.randint(0, self._bits, size=count - len(found))
            found = np.unique(np.concatenate([found, more]))
        self.drawn += count
        return found

    def flip(self, image: bytes, place: PhysicalPage, level: int) -> bytes:
        """The page as this read of it gets it."""
        positions = self.positions(place, level)
        if positions is None:
            return image
        cells = np.frombuffer(image, dtype=np.uint8).copy()
        masks = np.left_shift(1, positions % 8).astype(np.uint8)
        np.bitwise_xor.at(cells, positions // 8, masks)
        return cells.tobytes()

    def _die_factor(self, place: PhysicalPage) -> float:
        die = place.channel, place.way
        if die not in self._die_factors:
            spread = self.state.die_spread_ppm / WHOLE_PPM
            draw = float(self._seeded(*die).uniform(-1, 1)) if spread else 0.0
            self._die_factors[die] = 1 + spread * draw
        return self._die_factors[die]

    def _seeded(self, *key: int) -> np.random.RandomState:
        """The one generator, at the beginning of the stream of ``key``."""
        low, high = self.state.seed & 0xFFFF_FFFF, self.state.seed >> 32
        self._draws.seed([low, high, *key])
        return self._draws
