"""What services refuse, as tools tell it to the model."""

from collections.abc import Iterator
from contextlib import contextmanager

from skein.errors import Conflict, Correctable, Failed, NotFound, TooLarge, Unprocessable


@contextmanager
def refusals_told() -> Iterator[None]:
    """Turn a service's refusal into one that the model is shown.

    Raises:
        Correctable: Other arguments may do.
        Failed: It cannot be done.
    """
    try:
        yield
    except (Unprocessable, TooLarge) as error:
        raise Correctable(str(error)) from None
    except (NotFound, Conflict) as error:
        raise Failed(str(error)) from None
