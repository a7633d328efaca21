"""No words of outsiders reach beyond their chats; names, roles and items keep to their rights."""

import pytest

from tests.attacks.integrity import breach_in
from tests.attacks.known import ORDERED
from tests.attacks.known_rights import CONTESTED
from tests.attacks.sampling import seeded, some_of
from tests.attacks.search import tell_shortest
from tests.stories.searches import SEARCHES

ORDERS, CLAIMS = SEARCHES["orders"], SEARCHES["claims"]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", seeded(4))
def test_seeded_stories_follow_no_orders_of_outsiders(part: int) -> None:
    ORDERS.sample(part)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(5))
def test_thousands_of_new_stories_follow_no_orders_of_outsiders(
    part: int, new_stories: str
) -> None:
    ORDERS.play(f"{new_stories} {part}", 300)


@pytest.mark.parametrize("name", some_of(ORDERED))
def test_known_story_follows_no_orders_of_outsiders(name: str) -> None:
    tell_shortest("breach", ORDERED[name], breach_in)


@pytest.mark.check
@pytest.mark.timeout(0)
def test_seeded_identity_claims_grant_no_name_role_or_access() -> None:
    CLAIMS.sample(0)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_hundreds_of_new_identity_claims_grant_no_name_role_or_access(
    new_stories: str,
) -> None:
    CLAIMS.play(new_stories, 300)


@pytest.mark.parametrize("name", some_of(CONTESTED))
def test_known_story_grants_no_name_role_or_access(name: str) -> None:
    tell_shortest("wrong", CONTESTED[name], breach_in)
