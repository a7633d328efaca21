"""Each sweep's share of the faults."""

import os
from collections.abc import Iterator

import pytest

from tests.faults.over_converse import over_converse
from tests.faults.sampling import SHARES, FaultShare, share_of


@pytest.fixture(params=SHARES, ids=lambda share: f"part {share}" if share != "sample" else share)
def share(request: pytest.FixtureRequest) -> FaultShare:
    """The faults that this test tries: a sample, or in slow tests a part of all of them."""
    return share_of(request)


@pytest.fixture(autouse=True, scope="session")
def _converse() -> Iterator[None]:
    """With `SKEIN_CONVERSE`, call all models through the Converse adapter."""
    if not os.environ.get("SKEIN_CONVERSE"):
        yield
        return
    with over_converse():
        yield
