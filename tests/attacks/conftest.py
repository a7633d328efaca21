"""What all searches share.

How long a story takes says more about the machine than about the code: no search has a time-out.
"""

import pytest


@pytest.fixture
def new_stories(request: pytest.FixtureRequest) -> str:
    """The seed of new stories: the same `--randomly-seed` plays the same stories again."""
    return str(request.config.getoption("randomly_seed", None))
