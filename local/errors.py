"""What can go wrong with the local stack itself; each message is one line for its user.

LocalError
  BadTemplateError   the template holds something that the local stack does not understand
  ChildFailedError   a child process ended at once, or did not get ready in time
  DamagedDataError   a file of the data does not hold what it should
  DataInUseError     another stack uses the same data
  ModelMissingError  the local model is not installed
  PortInUseError     something else listens on the port, or it is for root alone
  RestlessError      the stack did not come to rest in time
  BadRequestError    a call of the developer API is wrong
"""


class LocalError(Exception):
    """The root of everything that is told to the user in one line."""


class BadTemplateError(LocalError):
    """The template holds something that the local stack does not understand."""


class ChildFailedError(LocalError):
    """A child process ended at once, or did not get ready in time."""


class DamagedDataError(LocalError):
    """A file of the data does not hold what it should."""


class DataInUseError(LocalError):
    """Another stack uses the same data."""


class ModelMissingError(LocalError):
    """The local model is not installed."""


class PortInUseError(LocalError):
    """Something else listens on the port, or it is for root alone."""


class RestlessError(LocalError):
    """The stack did not come to rest in time."""


class BadRequestError(LocalError):
    """A call of the developer API is wrong."""
