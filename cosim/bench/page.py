"""Tables of a benchmark as Markdown, and the page that keeps them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cosim.errors import UserError

__all__ = ["check_page", "markdown_table", "rewrite_page"]


def rewrite_page(page: Path, tables: Mapping[str, str]) -> None:
    """Put each table between the lines ``<!-- name -->`` and ``<!-- end of name -->`` of a page.

    Raises
    ------
    UserError
        If the page cannot be read or written, or has no such place.
    """
    try:
        text = page.read_text(encoding="utf-8")
        for name, table in tables.items():
            before, _, after = _parts(page, text, name)
            text = f"{before}{table}{after}"
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{page}: must be a page to write to: {error.strerror}") from None


def check_page(page: Path, names: Sequence[str]) -> None:
    """Refuse a page that cannot be written, or has no place for one of the tables.

    Raises
    ------
    UserError
        As :func:`rewrite_page`.
    """
    try:
        text = page.read_text(encoding="utf-8")
        with page.open("ab"):
            pass
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{page}: must be a page to write to: {reason}") from None
    for name in names:
        _parts(page, text, name)


def _parts(page: Path, text: str, name: str) -> tuple[str, str, str]:
    """What is before, in and behind the place of a table, the lines of its bounds outside."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    table, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise UserError(f"{page}: must have a place for its tables, {begin.strip()}")
    return f"{before}{begin}", table, f"{end}{after}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text, and the others numbers."""
    return "".join(f"{line}\n" for line in _lines(head, rows))


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
