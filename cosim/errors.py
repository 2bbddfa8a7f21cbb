"""Errors that are the user's to mend: one line, no traceback, exit status 2."""

__all__ = ["UserError"]


class UserError(Exception):
    """Bad input. The message says file, place, what must hold and what was found, in one line."""
