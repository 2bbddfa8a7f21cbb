"""What a protocol checker's report does to a run."""

__all__ = ["ProtocolViolation"]


class ProtocolViolation(Exception):
    """A protocol checker saw a rule broken: the RTL is wrong, and so is every number after it."""
