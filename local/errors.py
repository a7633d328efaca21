"""Errors of the local stack itself; each message is one line for the user.

LocalError
  BadTemplateError   the template is invalid, or the local stack does not support a part of it
  ChildFailedError   a child process ended early, or was not ready in time
  DamagedDataError   a data file has invalid content
  DataInUseError     another stack uses the same data
  ModelMissingError  the local model is not installed
  OtherFormatError   the data folder has another storage format
  PortInUseError     the port is in use, or this user may not bind to it
  RestlessError      the stack was not idle in time
  BadRequestError    a call of the developer API is invalid
"""

from collections.abc import Mapping


class LocalError(Exception):
    """Base class of errors whose message is shown to the user in one line."""


class BadTemplateError(LocalError):
    """The template is invalid, or the local stack does not support a part of it."""


class ChildFailedError(LocalError):
    """A child process ended early, or was not ready in time."""


class DamagedDataError(LocalError):
    """A data file has invalid content."""


class DataInUseError(LocalError):
    """Another stack uses the same data."""


class ModelMissingError(LocalError):
    """The local model is not installed."""


class OtherFormatError(LocalError):
    """The data folder has another storage format."""


class PortInUseError(LocalError):
    """The port is in use, or this user may not bind to it."""


class RestlessError(LocalError):
    """The stack was still busy when the time to wait was over.

    Args:
        message: Why the stack was busy, in one sentence.
        report: What was done and what still waits, as JSON values.
    """

    def __init__(self, message: str, report: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.report = dict(report or {})


class BadRequestError(LocalError):
    """A call of the developer API is invalid."""
