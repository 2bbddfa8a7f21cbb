"""The gather unit's scenarios, which come with the product: see there."""

from cosim.conform.gather_scenario import (
    DESCRIPTOR_BYTES,
    FAULTS,
    GatherScenario,
    Launch,
    given_up,
    random_scenario,
    reference,
    targets,
)

__all__ = [
    "DESCRIPTOR_BYTES",
    "FAULTS",
    "GatherScenario",
    "Launch",
    "given_up",
    "random_scenario",
    "reference",
    "targets",
]
