"""How reports call a system, and what they say of one that could not be built today."""

from collections.abc import Mapping
from typing import Any

__all__ = ["HYPOTHETICAL", "hypothetical_systems", "label", "labels"]

HYPOTHETICAL = "hypothetical"


def label(name: str, system: Mapping[str, Any]) -> str:
    """Name of a system of a summary, with the mark of one that is hypothetical."""
    return f"{name} ({HYPOTHETICAL})" if HYPOTHETICAL in system else name


def labels(summary: Mapping[str, Any]) -> list[str]:
    """Those of all systems, in order."""
    return [label(name, system) for name, system in summary["systems"].items()]


def hypothetical_systems(summary: Mapping[str, Any]) -> dict[str, str]:
    """Systems that are hypothetical, and in which way."""
    return {
        name: system[HYPOTHETICAL]
        for name, system in summary["systems"].items()
        if HYPOTHETICAL in system
    }
