"""Progress of a command as a person sees it."""

from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console

__all__ = ["ProgressBar"]


class ProgressBar:
    """A bar on a terminal, lines elsewhere; both on the error stream."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.TaskProgressColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[where]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, total: int | None = None) -> None:
        if not self._console.is_terminal:
            self._console.print(f"{what} ...", highlight=False)
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=total, where="")

    def advance(self, units: int = 1) -> None:
        if self._task is not None:
            self._bar.advance(self._task, units)

    def tell(self, where: str) -> None:
        if self._task is not None:
            self._bar.update(self._task, where=where)
