"""Writes the RTL of a device as Verilog, for tools other than our own runs."""

import shutil
from pathlib import Path

from cosim.config.model import Platforms
from cosim.engines.build import verilog
from cosim.errors import UserError
from cosim.systems.design import machine_design

__all__ = ["write_verilog"]


def write_verilog(platforms: Platforms, folder: Path) -> list[Path]:
    """Write all Verilog files of the device to ``folder``, the top last, and return their paths.

    Raises
    ------
    UserError
        If the folder cannot be written.
    """
    sources = verilog(machine_design(platforms))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(source, folder)) for source in sources]
    except OSError as error:
        raise UserError(f"{folder}: output folder must be writable: {error}") from None
