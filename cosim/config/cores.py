"""Embedded cores of an SSD platform, and which task runs where."""

from typing import Literal

from cosim.config.constant import Constant, Text
from cosim.config.part import Part
from cosim.config.quantities import Cycles, Frequency, Ratio, Time

__all__ = ["Binding", "Core", "Loads"]


class Loads(Part):
    """Latency of a load by what it touches. Stores are posted."""

    stack: Constant[Time]
    table: Constant[Time]
    """Maps, queues and lists of the firmware."""
    page_buffer: Constant[Time]
    """Buffered pages and pending subgraphs, and what else DMA and flash write: uncached."""
    page_buffer_cached: Constant[Time]
    """The same where that memory is cached: of two loads a line, as the words of an id."""
    registers: Constant[Time]
    """Of the flash controllers, the NVMe front end and the DMA engine."""


class Core(Part):
    """One embedded core."""

    type: Constant[Literal["cortex_a9", "cortex_a53", "cortex_m7"]]
    """For which the firmware is compiled: the table of its costs."""
    clock: Constant[Frequency]
    issue_rate: Constant[Ratio]
    """Instructions a cycle while no load waits."""
    poll: Constant[Cycles]
    """The polling loop finds one task queue empty."""
    loads: Loads


class Binding(Part):
    """The core of each task of the firmware."""

    front_end: Constant[Text]
    isp_control: Constant[Text]
    translate: Constant[Text]
    flash_issue: Constant[Text]
    flash_completion: Constant[Text]
    gather: Constant[Text]
    write_back: Constant[Text]
    block_io: Constant[Text]
