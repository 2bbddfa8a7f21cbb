"""Files that a benchmark is to write, looked at before it measures."""

from collections.abc import Sequence
from pathlib import Path

from cosim.bench.page import check_page
from cosim.errors import UserError

__all__ = ["check_outputs"]

PLOT_SUFFIX = ".png"


def check_outputs(
    *,
    json_path: Path | None = None,
    docs: Path | None = None,
    tables: Sequence[str] = (),
    plot: Path | None = None,
) -> None:
    """Refuse files that could not be written after all; none is left behind or changed.

    ``tables`` are the names of those for which the page ``docs`` must have places.

    Raises
    ------
    UserError
        For the first one.
    """
    for path in (json_path, plot):
        if path is not None:
            _check_writable(path)
    if plot is not None and plot.suffix.lower() != PLOT_SUFFIX:
        raise UserError(f"{plot}: must be a {PLOT_SUFFIX} file")
    if docs is not None:
        check_page(docs, tables)


def _check_writable(path: Path) -> None:
    try:
        is_new = not path.exists()
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise UserError(f"{path}: must be writable: {error.strerror}") from None
