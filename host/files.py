"""Reading of input files: what cannot be read is one line that names the file and what it is."""

import json
from pathlib import Path
from typing import Any

from host.errors import InputError

__all__ = ["check_file", "read_json"]


def check_file(path: Path, label: str, what: str, error: type[InputError]) -> None:
    """Refuse what is not a regular file: a pipe would keep its reader waiting for ever.

    Raises
    ------
    InputError
        Of class ``error``: ``<label>: must be <what>, not ...``.
    """
    try:
        if path.is_file():
            return
        found = "a pipe, device or folder" if path.exists() else "missing"
    except OSError as failure:
        found = str(failure.strerror)
    raise error(f"{label}: must be {what}, not {found}")


def read_json(path: Path, label: str, what: str, error: type[InputError]) -> dict[str, Any]:
    """Read one JSON object.

    Raises
    ------
    InputError
        Of class ``error``, if the file cannot be read or holds something else.
    """
    check_file(path, label, what, error)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise error(f"{label}: must be {what}, not JSON nested so deeply") from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise error(f"{label}: must be {what}: {reason}") from failure
    if not isinstance(document, dict):
        raise error(f"{label}: must be {what}, not a JSON {type(document).__name__}")
    return document
