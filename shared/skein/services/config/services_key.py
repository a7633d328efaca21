"""Read the key for the secrets that Skein shares with services."""

from skein.errors import MissingSecret, NotFound
from skein.ports import Secrets
from skein.settings import Settings


def services_key(secrets: Secrets, settings: Settings) -> str:
    """Return the key from which the secrets of services are derived.

    Raises:
        NotFound: The deployment has no services.
        MissingSecret: The secret named in the settings does not exist.
    """
    try:
        return secrets.get(settings.services_secret)["key"]
    except MissingSecret:
        if settings.services_secret:
            raise
        raise NotFound("this deployment has no services") from None
