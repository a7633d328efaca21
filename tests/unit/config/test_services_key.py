"""A deployment without services says so; a missing secret is the operator's problem."""

import pytest

from skein.errors import MissingSecret, NotFound
from skein.services.config.services_key import services_key
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets


def test_key_is_that_of_the_secret_or_the_deployment_has_no_services() -> None:
    secrets = MemorySecrets({"services": {"key": "k"}})
    assert services_key(secrets, Settings(services_secret="services")) == "k"
    with pytest.raises(NotFound, match="no services"):
        services_key(secrets, Settings(services_secret=""))
    with pytest.raises(MissingSecret):
        services_key(secrets, Settings(services_secret="gone"))
