"""Writes figures as files."""

from pathlib import Path

from matplotlib.figure import Figure

from cosim.errors import UserError

__all__ = ["write_figure"]


def write_figure(figure: Figure, path: Path) -> None:
    """Write a PNG without date and program, so that its bytes repeat.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    try:
        figure.savefig(path, dpi=120, metadata={"Software": None})
    except OSError as error:
        raise UserError(f"{path}: must be writable: {error.strerror}") from None
