"""An export lists a person's errands, and tells the one who asks no more than their chat does."""

from typing import Any

import pytest

from tests.support.api_client import operator
from tests.support.errands import ALICE, DAY, SARAH, Errands, asked


def _exported(world: Errands, user_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        body = operator(world).get(f"/v1/users/{user_id}/export{cursor}").body
        found += [kept["attributes"] for kept in body["kept"] if kept["kind"] == "errand"]
        cursor = f"?cursor={body['next_cursor']}" if body["next_cursor"] else None
    return found


def test_asker_and_asked_have_the_errand_each_in_their_way() -> None:
    world = asked()
    world.texts_in(f"{world.code} Thursday")
    [ordered], [carried] = _exported(world, ALICE.id), _exported(world, SARAH.id)
    assert (ordered["role"], ordered["state"], ordered["answer"]) == (
        "asker",
        "answered",
        "Thursday",
    )
    assert (carried["role"], carried["answer"]) == ("asked", "Thursday")
    assert carried["text"].startswith('Alice asks: "when can you come?"')
    assert "question" not in carried
    assert "chat_id" not in carried


@pytest.mark.parametrize("days", [0, 3])
def test_export_of_the_asker_does_not_tell_whether_the_other_was_asked(days: int) -> None:
    exports = []
    for consent in (True, False):
        world = asked(consent=consent)
        world.passes(days * DAY)
        [ordered] = _exported(world, ALICE.id)
        exports.append(ordered)
        assert bool(_exported(world, SARAH.id)) is consent
    assert exports[0] == exports[1]
    assert exports[0]["state"] == ("no_answer" if days else "open")
