"""What tools record about the sources of the items that they save."""

from typing import Any

import pytest

from skein.models.common.base import NamedMember
from skein.models.common.storage import Query
from skein.models.runs.run import Run
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import owned_partition
from skein.models.visibility.provenance import Authors, MadeFrom, SourceLabel, digest_of
from skein.privacy.made_items import MadeItem, made_in
from skein.services.visibility.audience import label_in
from skein.workspace.models.document import Document
from tests.support.agents import (
    AHMAD,
    COACH,
    HUSAM,
    asked_by_service,
    settle,
    stage,
    the_run,
    waiting_elsewhere,
)
from tests.support.builders import NOON, TENANT, World
from tests.support.fakes import calls

SAVES: list[str | tuple[str, dict[str, Any] | str]] = [
    ("save_memory", {"text": "It is blue", "kind": "core"}),
    ("set_goal", {"text": "Paint it"}),
    ("set_plan", {"name": "Paint", "instruction": "Paint it", "run_after": "1 week"}),
    ("write_document", {"name": "paint.md", "text": "Blue"}),
    ("create_thread", {"concern": "Paint", "documents": ["paint.md"]}),
]
GOAL = ("set_goal", {"text": "Paint it"})


def saved(world: World, scope: str | None = None) -> list[MadeItem]:
    """Return what Coach has saved in a scope."""
    items = world.table.query(Query(owned_partition(TENANT, COACH.id, scope))).items
    return [thing for item in items if (thing := made_in(item))]


def made_by(first: int, last: int, *people: NamedMember) -> MadeFrom:
    """The material of messages that these people wrote in the first chat."""
    label = SourceLabel.of(people, title="Project Alpha")
    return MadeFrom.messages("chat_1", first, last, [each.id for each in people], label)


def digests(*people: Any) -> tuple[str, ...]:
    return tuple(sorted(digest_of(each.id) for each in people))


def test_each_kind_records_the_messages_that_its_run_answers_and_whose_words_it_held() -> None:
    world = stage(calls(*SAVES))
    world.chat(HUSAM, AHMAD, COACH, respond="mention")
    world.post("Good morning", AHMAD)
    world.post("@Coach it shall be blue", HUSAM)
    settle(world)
    kept = saved(world)
    assert len(kept) == len(SAVES)
    for thing in kept:
        made = thing.made_from.model_copy(update={"items": ()})
        assert made == made_by(2, 2, HUSAM)
        assert thing.authors.ids == digests(HUSAM, AHMAD)
    named = {thing.made_from.items for thing in kept}
    assert named == {(), (Document.id_of("paint.md"),)}


def test_several_messages_that_a_run_answers_are_one_span_with_all_who_wrote_them() -> None:
    world = stage(calls(GOAL))
    world.chat(HUSAM, AHMAD, COACH)
    world.post("It shall be blue", HUSAM)
    world.post("Or green", AHMAD)
    settle(world)
    [goal] = saved(world)
    assert goal.made_from == made_by(1, 2, HUSAM, AHMAD)


def test_reply_that_ended_a_wait_is_material_beside_the_first_message() -> None:
    world = waiting_elsewhere(calls(GOAL))
    world.post("They are blue", AHMAD, chat_id="chat_2")
    settle(world)
    [goal] = saved(world)
    assert goal.made_from.chats == ("chat_1", "chat_2")
    assert [(span.first_seq, span.last_seq) for span in goal.made_from.spans] == [(1, 1), (2, 2)]
    assert goal.made_from.writers.may_include([HUSAM.id])
    assert goal.made_from.writers.may_include([AHMAD.id])


def test_run_of_a_plan_passes_on_the_material_of_the_plan() -> None:
    world = stage(calls(GOAL))
    made = MadeFrom.messages("chat_9", 4, 5, [AHMAD.id])
    plan = PlanTrigger(
        id="plan_1",
        name="Paint",
        instruction="Paint it",
        scheduled_at=NOON,
        authors=Authors.in_digests([AHMAD.id]),
        made_from=made,
    )
    asked_by_service(world, trigger=Trigger(type="plan", plan=plan))
    settle(world)
    [goal] = saved(world)
    assert (goal.made_from, goal.authors.ids) == (made, digests(AHMAD))


def test_reply_elsewhere_adds_its_writer_to_the_label() -> None:
    world = waiting_elsewhere(calls(GOAL))
    world.post("They are blue", AHMAD, chat_id="chat_2")
    settle(world)
    [goal] = saved(world)
    assert goal.made_from.source == SourceLabel.of([HUSAM, AHMAD])


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"visibility": "private"}, "Project Alpha"),
        ({"visibility": "private", "title": None}, None),
        ({"visibility": "private", "kind": "direct"}, None),
    ],
    ids=["group", "untitled", "direct"],
)
def test_label_has_the_title_of_a_group(fields: dict[str, Any], title: str | None) -> None:
    world = stage(calls(GOAL))
    chat = world.chat(HUSAM, COACH, **fields)
    world.post("It shall be blue", HUSAM)
    settle(world)
    [goal] = saved(world, chat.scope)
    assert goal.made_from.source == SourceLabel.of([HUSAM], title=title)


def test_label_hides_a_title_from_people_who_may_be_shown_the_item_but_not_the_title() -> None:
    world = stage()
    chat = world.chat(HUSAM, COACH, visibility="private")
    audience = Audience(open=False, people=(AHMAD.id, HUSAM.id))
    assert label_in(chat, [HUSAM], chat.readers) == SourceLabel.of([HUSAM], title="Project Alpha")
    assert label_in(chat, [HUSAM], audience) == SourceLabel.of([HUSAM])
    assert label_in(chat, [COACH], audience) is None


def test_run_that_answers_no_message_works_with_those_that_it_was_shown() -> None:
    world = stage(calls(GOAL))
    world.chat(HUSAM, AHMAD, COACH, respond="manual")
    world.post("It shall be blue", HUSAM)
    world.post("Or green", AHMAD)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    [goal] = saved(world)
    assert goal.made_from == made_by(1, 2, HUSAM, AHMAD)


def test_change_of_a_document_adds_its_material_to_that_before() -> None:
    write = ("write_document", {"name": "paint.md", "text": "Blue"})
    world = stage(calls(write), calls("end_run"), calls(write))
    world.chat(HUSAM, COACH, respond="mention")
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="mention")
    world.post("@Coach write it down", HUSAM)
    settle(world)
    world.post("@Coach write it down", HUSAM, chat_id="chat_2")
    settle(world)
    [document] = saved(world)
    assert document.made_from.chats == ("chat_1", "chat_2")
    assert document.made_from.writers == Authors.of([HUSAM.id])
    stored = world.table.query(Query(f"{TENANT}#MIXED#{COACH.id}", index="gsi1", limit=9)).items
    assert len(stored) == 1


def test_words_that_a_tool_shows_count_as_held() -> None:
    world = stage(calls(("read_messages", {"chat_id": "chat_2"})), calls(GOAL))
    world.chat(HUSAM, COACH, respond="mention")
    world.chat(AHMAD, COACH, chat_id="chat_2", respond="mention")
    world.post("It is green", AHMAD, chat_id="chat_2")
    world.post("@Coach look there", HUSAM)
    settle(world)
    [goal] = saved(world)
    assert goal.authors.ids == digests(HUSAM, AHMAD)
    assert goal.made_from == made_by(1, 1, HUSAM)
    run: Run = the_run(world)
    assert run.held is not None
    assert run.held.authors == goal.authors
