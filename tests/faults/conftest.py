"""The real engine for threads that really race, and each sweep's share of the faults."""

import pytest

from tests.contract.conftest import engine_client
from tests.faults.sampling import SHARES, Share, share_of

__all__ = ["engine_client", "share"]


@pytest.fixture(params=SHARES, ids=lambda share: f"part {share}" if share != "sample" else share)
def share(request: pytest.FixtureRequest) -> Share:
    """The faults that this test tries: a sample, or in slow tests a part of all of them."""
    return share_of(request)
