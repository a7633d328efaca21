"""The preview of an erasure counts what the erasure does, and lists texts with the full name."""

import pytest

from skein.errors import NotFound
from skein.models.visibility.ownership import Owner
from skein.privacy import erasure_preview
from skein.privacy.erasure_preview import ErasurePreview, ErasurePreviews
from tests.support.agents import COACH
from tests.support.builders import TENANT, World
from tests.support.erasure import (
    BEN,
    ELSEWHERE,
    MARK,
    OPEN,
    PRIVATE,
    ZOE,
    erase,
    group,
    plant,
    settle,
    world_of,
)
from tests.support.fakes import calls

SAID = "I have never liked the blue car"
HELD = f"{ZOE.id} wrote: {SAID}"


def preview(world: World) -> ErasurePreview:
    return world.app.get(ErasurePreviews).of(TENANT, ZOE.id)


def held() -> World:
    """Ben asks Coach, who keeps and says what Zoë wrote, and names her."""
    world = world_of()
    group(world, OPEN, ZOE, BEN, title="Move of Zoë Quill")
    group(world, PRIVATE, ZOE, BEN, visibility="private")
    for chat_id in (OPEN, PRIVATE):
        world.post("Zoë Quill said something", BEN, chat_id=chat_id)
        world.post(SAID, ZOE, chat_id=chat_id)
        saves = (("set_goal", {"text": HELD}), ("set_goal", {"text": "Zoë Quill is here"}))
        world.model.script.append(calls(*saves, ("send_message", {"text": HELD})))
        world.post("@Coach what do you think?", BEN, chat_id=chat_id)
        settle(world)
    owner = Owner(tenant=TENANT, agent_id=COACH.id, by_operator=True)
    world.app.goals.set(owner, "Help Zoë Quill")
    return world


def test_preview_counts_by_rule_and_lists_named_texts() -> None:
    found = preview(held())
    assert +found.erased == {"memberships": 2, "messages": 2}
    assert found.replaced == {"messages": 2, "goals": 2}
    assert found.named == {"messages": 2, "titles": 1, "goals": 2}
    listed = [(text.kind, text.chat_id, text.seq, text.excerpt) for text in found.texts]
    assert sorted(listed, key=str) == sorted(
        [
            ("messages", OPEN, 1, "Zoë Quill said something"),
            ("titles", OPEN, None, "Move of Zoë Quill"),
            ("goals", OPEN, None, "Zoë Quill is here"),
            ("messages", PRIVATE, 1, None),
            ("goals", PRIVATE, None, None),
        ],
        key=str,
    )
    assert found.complete


def test_preview_writes_nothing_and_counts_what_the_first_sweep_erases() -> None:
    world = plant()
    before = world.table.all_stored()
    found = preview(world)
    assert world.table.all_stored() == before
    counts = erase(world).sweeps[0].counts
    for kind in ("messages", "goals", "plans", "documents", "threads", "deliveries", "memberships"):
        assert found.erased[kind] == counts[kind] > 0
    assert found.erased["memories"] + found.made_again["memories"] == counts["memories"] > 0
    assert found.made_again["summaries"] > 0
    assert MARK not in str(found.texts)


def test_preview_of_many_items_is_incomplete_and_lists_no_more_than_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = held()
    monkeypatch.setattr(erasure_preview, "MAX_LISTED", 2)
    assert len(preview(world).texts) == 2
    assert sum(preview(world).named.values()) == 5
    monkeypatch.setattr(erasure_preview, "MAX_READ", 6)
    found = preview(world)
    assert not found.complete
    assert found.erased["messages"] < 2


def test_excerpt_is_cut_around_the_name() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post(f"{'a ' * 100}Zoë Quill{' b' * 100}", BEN, chat_id=OPEN)
    [text] = preview(world).texts
    assert text.excerpt == f"\u2026{'a ' * 20}Zoë Quill{' b' * 20}\u2026"


def test_preview_for_unknown_person_or_erasure_in_progress_is_not_found() -> None:
    world = world_of()
    group(world, ELSEWHERE, ZOE, BEN)
    with pytest.raises(NotFound):
        world.app.get(ErasurePreviews).of(TENANT, "usr_none")
    world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    with pytest.raises(NotFound):
        preview(world)
