"""Key paths of all constants of the three platforms."""

from functools import cache

from cosim.config.load import default_platforms
from cosim.config.platform import constants
from cosim.config.quantities import TIME

__all__ = ["constant_keys", "is_time", "time_keys"]


@cache
def _constants():
    platforms = default_platforms()
    return {
        f"{part}.{key}": constant
        for part in ("ssd", "fpga", "host")
        for key, constant in constants(getattr(platforms, part))
    }


def is_time(constant):
    """Whether a constant is a duration."""
    shown = str(constant.model_dump(mode="json")["value"])
    return shown.partition(" ")[2] in TIME.units


def constant_keys():
    """All constants, in the order of the models."""
    return tuple(_constants())


def time_keys():
    """Those that are durations."""
    return tuple(key for key, constant in _constants().items() if is_time(constant))
