"""Errors that a user of the host side can cause or has to hear of."""

__all__ = [
    "DeviceError",
    "FpgaError",
    "GraphError",
    "InputError",
    "ListTooLarge",
    "NvmeError",
    "ResultError",
    "TraceError",
]


class InputError(Exception):
    """Bad input, refused before anything is simulated; one line that says where and what."""


class GraphError(InputError):
    """A graph, or the file it comes from, that cannot be used."""


class TraceError(InputError):
    """A trace that cannot be used, or not with this graph."""


class DeviceError(Exception):
    """The device did not do what it was asked for."""


class NvmeError(DeviceError):
    """A command ended with a status other than success.

    Attributes
    ----------
    status
        Status code type and status code in one number, as in ``rtl.contract.nvme.Status``.
    name
        Its name there, or its hexadecimal digits.
    command
        What was asked for, in words.
    """

    def __init__(self, status: int, name: str, command: str) -> None:
        # All of it in args: SimPy makes the exceptions that leave it again from them.
        super().__init__(status, name, command)
        self.status = status
        self.name = name
        self.command = command

    def __str__(self) -> str:
        return f"{self.command} must end with SUCCESS, not {self.name} ({self.status:#05x})"


class FpgaError(DeviceError):
    """A launch of the gather unit, or one of its targets, failed."""


class ListTooLarge(FpgaError):
    """The list of ``node`` does not fit the card's window."""

    def __init__(self, node: int, message: str) -> None:
        super().__init__(node, message)  # all of it, as above
        self.node = node

    def __str__(self) -> str:
        return str(self.args[1])


class ResultError(DeviceError):
    """Bytes that are not the result they should be."""
