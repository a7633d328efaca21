"""Each sweep's share of the faults."""

import pytest

from tests.faults.sampling import SHARES, FaultShare, share_of


@pytest.fixture(params=SHARES, ids=lambda share: f"part {share}" if share != "sample" else share)
def share(request: pytest.FixtureRequest) -> FaultShare:
    """The faults that this test tries: a sample, or in slow tests a part of all of them."""
    return share_of(request)
