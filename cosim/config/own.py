"""Keys of a configuration that put a user's RTL in place of ours."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from cosim.config.part import Items, Part
from rtl.contract.gather import MAX_DISTINCT, MAX_FAN_OUT

__all__ = ["OwnBlock", "OwnFlashChannel", "OwnGather"]

Text = Annotated[str, StringConstraints(min_length=1)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
ClassName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
Mode = Literal["explicit", "draw", "draw_distinct"]
MODES: tuple[Mode, ...] = ("explicit", "draw", "draw_distinct")


class OwnBlock(Part):
    """A block: Verilog files and the module among them, or an Amaranth class."""

    verilog: Annotated[Items[Text], Field(min_length=1)] | None = None
    """Files (``.v``, ``.sv``, headers ``.vh``, ``.svh``), relative to the configuration."""
    top: Word | None = None
    """The module that has the documented ports."""
    amaranth: ClassName | None = None
    """Its class, as ``module:Class``; modules beside the configuration come first."""
    parameters: dict[Word, int | str | bool] = Field(default_factory=dict)
    """Parameters of the module, or arguments of the class."""

    @model_validator(mode="after")
    def _one_language(self) -> "OwnBlock":
        if (self.verilog is None) == (self.amaranth is None):
            found = "neither" if self.verilog is None else "both"
            raise ValueError(f"must give verilog or amaranth, not {found}")
        if self.verilog is not None and self.top is None:
            raise ValueError("must give top, the module's name, beside verilog")
        if self.amaranth is not None and self.top is not None:
            raise ValueError("must not give top beside amaranth")
        return self


class OwnGather(OwnBlock):
    """In place of the gather core."""

    max_fan_out: Annotated[int, Field(ge=1, le=MAX_FAN_OUT)] = MAX_FAN_OUT
    """Largest fan-out that it offers; it refuses larger ones with BAD_DESCRIPTOR."""
    max_distinct: Annotated[int, Field(ge=1, le=MAX_DISTINCT)] = MAX_DISTINCT
    """Largest fan-out that it draws without replacement, likewise."""
    modes: Annotated[Items[Mode], Field(min_length=1)] = MODES
    """Modes that it offers; it refuses others with BAD_DESCRIPTOR."""


class OwnFlashChannel(OwnBlock):
    """In place of the flash-channel controller."""
