"""Comparison of compiled code with the Python model."""

from typing import Any

import numpy as np

__all__ = ["ModelMismatch", "equal", "words"]


class ModelMismatch(Exception):
    """Compiled code and model disagree."""


def equal(what: str, found: Any, expected: Any) -> None:
    """Refuse a result of compiled code that is not the model's."""
    if found != expected:
        raise ModelMismatch(f"{what} must be {expected!r} as in the model, not {found!r}")


def words(*values: int) -> bytes:
    """32-bit words in memory."""
    return np.array(values, dtype="<u4").tobytes()
