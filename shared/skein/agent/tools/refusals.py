"""What services refuse, as tools tell it to the model."""

from collections.abc import Iterator
from contextlib import contextmanager

from skein.errors import Correctable, Failed, Invalid, Rejected, TooLarge, Unprocessable


@contextmanager
def refusals_told() -> Iterator[None]:
    """Turn any refusal of a service into one that the model is shown.

    Raises:
        Correctable: Other arguments may do.
        Failed: It cannot be done.
    """
    try:
        yield
    except (Invalid, Unprocessable, TooLarge) as error:
        raise Correctable(str(error)) from None
    except Rejected as error:
        raise Failed(str(error)) from None
