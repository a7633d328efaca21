"""Erasure of agents' items: what was made from the person's words goes, the rest stays."""

from typing import Any

import pytest

from skein.models.api.directory import NewUser, OwnChange
from skein.models.common.person_names import tagged
from skein.models.common.storage import Query
from skein.models.outbox.jobs import ErasureJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, Reach, owned_partition
from skein.models.visibility.provenance import Authors, MadeFrom, SourceLabel
from skein.planning.models.goal import Goal
from skein.privacy.made_items import made_in
from skein.privacy.models.erasure import NamedTexts
from skein.workspace import thread_changes as changes
from skein.workspace.document_edits import Author
from skein.workspace.models.document import Document, DocumentReach, Folder
from tests.support.agents import COACH
from tests.support.builders import LONG_INVOCATION, TENANT, World, person
from tests.support.erasure import (
    BEN,
    BENS,
    ELSEWHERE,
    MARK,
    OPEN,
    PRIVATE,
    ZOE,
    end,
    erase,
    group,
    settle,
    traces,
    world_of,
)
from tests.support.fakes import calls


def thread_ids(world: World, scope: str | None = None) -> list[str]:
    """The open threads of an audience, then those that have ended."""
    reach = Reach(tenant=TENANT, agent_id=COACH.id, scopes=(scope,))
    return [thread.id for thread in world.app.threads.list(reach).items]


def begun(world: World, chat_id: str, *more: Any) -> str:
    """Let Zoë have the agent begin a thread in a chat, in words that name nobody."""
    before = set(thread_ids(world))
    world.model.script.extend([calls(("create_thread", {"concern": "A dull thing"})), *more])
    world.post("@Coach begin something", ZOE, chat_id=chat_id)
    settle(world)
    [made] = set(thread_ids(world)) - before
    return made


def test_threads_of_an_erased_person_are_deleted_and_others_kept() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, BEN)
    authors = Authors.in_digests([ZOE.id, BEN.id])
    owner = Owner(tenant=TENANT, agent_id=COACH.id, authors=authors)
    stays = world.app.threads.create(owner, {"concern": "Something of Ben's"})
    changed = world.app.threads.create(owner, {"concern": "Something of everybody's"})
    made = begun(world, OPEN)
    ended = {"thread_id": made, "outcome": "completed", "evidence": "Done"}
    noted = {"thread_id": changed.id, "progress": "A dull thing, too"}
    script = [calls(("switch_thread", {"thread_id": made}), ("update_thread", noted))]
    world.model.script.extend([*script, calls(("end_thread", ended)), calls("end_run")])
    world.post("@Coach go on", ZOE, chat_id=OPEN)
    settle(world)
    second = begun(world, OPEN)
    assert sorted(thread_ids(world)) == sorted([stays.id, changed.id, second, made])
    erasure = erase(world)
    assert thread_ids(world) == [stays.id]
    assert erasure.sweeps[0].counts["threads"] == 3
    left = [item["sk"] for item in world.table.query(Query(f"{TENANT}#AGENT#{COACH.id}")).items]
    assert not [sk for sk in left if sk.startswith("RUNLINK#") or made in sk]


def test_the_export_of_a_thread_holds_nothing_of_them_any_more() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, BEN)
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    thread = world.app.threads.create(owner, {"concern": "Something of everybody's"})
    world.app.threads.switch(owner.reach, thread.id)
    for chat_id, who in ((OPEN, ZOE), (ELSEWHERE, BEN)):
        world.post(f"@Coach {MARK if who is ZOE else 'pears'}?", who, chat_id=chat_id)
        settle(world)
    done = changes.ended("completed", world.clock.now(), evidence="Signed")
    ended = world.app.threads.change(owner.reach, thread.id, done)
    assert MARK in world.app.training_export.unit(ended)
    erase(world)
    kept = world.app.threads.get(owner.reach, thread.id)
    assert MARK not in world.app.training_export.unit(kept)
    assert world.app.training_export.unit(kept).endswith('"content":"Signed"}]}')


def pinned(world: World, scope: str | None) -> Folder:
    """Pin a document of Coach's in a scope."""
    folder = Folder(tenant=TENANT, agent_id=COACH.id, scope=scope)
    reach = DocumentReach(folders=(folder,))
    world.app.documents.write(reach, "plan", "One", new_in=folder, pinned=True)
    return folder


def test_erasure_of_a_persons_own_scope_does_not_count_the_list_of_pinned_documents() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    folder = pinned(world, f"user:{ZOE.id}")
    counts = erase(world).sweeps[0].counts
    assert counts["documents"] == 1
    assert "lists" not in {kind for kind, count in counts.items() if count}
    assert world.table.get(folder.pins_key) is None


ABOUT = "{name} is the core of the plan, and will come"


def kept_texts(world: World) -> dict[str, set[str]]:
    """Return the texts of the memories, goals, plans, documents and threads that are left."""
    items = [
        item
        for key, item in world.table.all_items().items()
        if key.pk == owned_partition(TENANT, COACH.id, None)
    ]
    kinds = {"FACT#": "text", "GOAL#": "text", "PLAN#": "instruction", "DOC#": "text"}
    return {
        prefix: {str(item[field]) for item in items if item["sk"].startswith(prefix)}
        for prefix, field in kinds.items()
    }


def told_by_operator(world: World, text: str) -> None:
    """Let an operator keep a text as a memory, constitutional too, goal, plan and document."""
    owner = Owner(tenant=TENANT, agent_id=COACH.id, by_operator=True)
    world.app.memories.add(owner, text, "core", made_by="api")
    world.app.memories.add(owner, f"Always: {text}", "core", made_by="api", constitutional=True)
    world.app.goals.set(owner, text)
    world.app.plans.set(owner, text, text, run_after="1 week")
    folder = Folder(tenant=TENANT, agent_id=COACH.id)
    world.app.documents.write(DocumentReach(folders=(folder,)), text, text, new_in=folder)


def told_by_agent(world: World, text: str) -> None:
    """Let Coach keep the same in a chat with Ben alone, and say it in the group."""
    kept: list[tuple[str, dict[str, Any]]] = [
        ("save_memory", {"text": f"{text}, says Ben", "kind": "core"}),
        ("set_goal", {"text": f"{text}, says Ben"}),
        ("set_plan", {"name": "Ben's", "instruction": f"{text}, says Ben", "run_after": "1 week"}),
        ("write_document", {"name": "Ben's", "text": f"{text}, says Ben"}),
        ("send_message", {"text": f"{text}, says Ben", "chat_id": OPEN}),
    ]
    world.model.script.extend([calls(*kept), calls("end_run")])
    world.post("@Coach keep that", BEN, chat_id=ELSEWHERE)
    settle(world)


def erased_after_hello(
    name: str,
    *,
    told: str | None = None,
    chosen: bool = False,
    named_texts: NamedTexts = "remove",
) -> tuple[World, dict[str, set[str]]]:
    """Erase a person with a name, who only said hello; return what was kept before, too.

    Args:
        told: The name in texts; default: the name.
        chosen: Whether the person chose the name.
        named_texts: The operator's decision.
    """
    world = world_of()
    world.app.users.create(TENANT, NewUser(id="usr_7", name="Will" if chosen else name))
    if chosen:
        world.app.users.change_own(TENANT, person("usr_7", "Will"), OwnChange(name=name))
    called = world.app.users.get(TENANT, "usr_7").as_member
    group(world, OPEN, called, BEN)
    group(world, ELSEWHERE, BEN)
    told_by_operator(world, ABOUT.format(name=told or name))
    told_by_agent(world, ABOUT.format(name=told or name))
    world.post("Hello", called, chat_id=OPEN)
    before = kept_texts(world)
    request = world.app.erasures.request
    end(world, request(TENANT, called.id, by="usr_op", named_texts=named_texts))
    return world, before


@pytest.mark.parametrize("name", ["the", "Will", "core"])
def test_erasure_of_person_whose_name_is_a_word_keeps_everything_of_others(name: str) -> None:
    world, before = erased_after_hello(name)
    assert [len(texts) for texts in before.values()] == [3, 2, 2, 2]
    assert kept_texts(world) == before
    assert [message.kind for message in world.messages(OPEN)] == ["text", "erased"]


def test_texts_with_the_full_name_stay_by_default() -> None:
    world, before = erased_after_hello("Will Core", named_texts="keep")
    assert kept_texts(world) == before
    assert [message.kind for message in world.messages(OPEN)] == ["text", "erased"]


def test_texts_with_the_full_name_lose_it_and_operators_keep_theirs() -> None:
    world, before = erased_after_hello("Will Core", named_texts="replace")
    said = f"{ABOUT.format(name='Will Core')}, says Ben"
    clean = said.replace("Will Core", "[erased]")
    assert kept_texts(world) == {
        kind: {clean if text == said else text for text in texts} for kind, texts in before.items()
    }
    told, hello = world.messages(OPEN)
    assert (told.kind, told.text, hello.kind) == ("text", clean, "erased")


def test_erasure_by_full_name_removes_agents_items_and_keeps_operators_items() -> None:
    world, before = erased_after_hello("Will Core")
    said = ABOUT.format(name="Will Core")
    assert kept_texts(world) == {
        kind: texts - {f"{said}, says Ben"} for kind, texts in before.items()
    }
    assert {len(texts) for texts in kept_texts(world).values()} == {1, 2}
    assert [message.kind for message in world.messages(OPEN)] == ["erased", "erased"]


@pytest.mark.parametrize("told", ["Will Core", tagged("Will Core", TENANT, "usr_7")])
def test_erasure_finds_a_chosen_full_name_with_and_without_its_tag(told: str) -> None:
    world, before = erased_after_hello("Will Core", told=told, chosen=True)
    said = f"{ABOUT.format(name=told)}, says Ben"
    assert kept_texts(world) == {kind: texts - {said} for kind, texts in before.items()}


@pytest.mark.parametrize(("told", "erased"), [("core", False), ("the", False), (None, True)])
def test_erasure_finds_a_chosen_name_of_one_word_by_its_tag_only(
    told: str | None, *, erased: bool
) -> None:
    name = told or tagged("core", TENANT, "usr_7")
    world, before = erased_after_hello("core", told=name, chosen=True)
    assert (kept_texts(world) != before) is erased


def kept_goals(world: World, scope: str | None = None) -> set[str]:
    """Return the texts of Coach's goals in a scope."""
    items = world.table.query(Query.under(owned_partition(TENANT, COACH.id, scope), "GOAL#")).items
    return {str(item["text"]) for item in items}


def test_item_that_answers_another_person_in_the_same_open_chat_stays() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, BEN)
    world.post("Good morning", ZOE, chat_id=OPEN)
    for who, chat_id in ((ZOE, OPEN), (BEN, OPEN), (BEN, ELSEWHERE)):
        goal = f"For {who.id} in {chat_id}"
        world.model.script.extend([calls(("set_goal", {"text": goal})), calls("end_run")])
        world.post("@Coach keep that in mind", who, chat_id=chat_id)
        settle(world)
    assert len(kept_goals(world)) == 3
    erase(world)
    assert kept_goals(world) == {f"For {BEN.id} in {OPEN}", f"For {BEN.id} in {ELSEWHERE}"}


def test_index_finds_items_in_scopes_of_others_that_rest_on_their_words() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.chat(BEN, COACH, chat_id=BENS, kind="direct", visibility="private")
    world.post("Good morning", ZOE, chat_id=OPEN)
    theirs = MadeFrom.messages(OPEN, 1, 1, [ZOE.id])
    bens = MadeFrom.messages(BENS, 1, 1, [BEN.id])
    scope = f"user:{BEN.id}"
    named = ("Zoë Quill, as Ben says", bens)
    for text, made in (("theirs", theirs), ("both", bens.joined(theirs)), ("bens", bens), named):
        owner = Owner(
            tenant=TENANT,
            agent_id=COACH.id,
            scope=scope,
            audience=Audience(open=False, people=(BEN.id,)),
            made_from=made,
            source_run_id=f"run_1_{BENS}",
        )
        world.app.goals.set(owner, text)
    erase(world)
    assert kept_goals(world, scope) == {"both", "bens", "Zoë Quill, as Ben says"}


def labels(world: World) -> list[SourceLabel | None]:
    """Return the source labels of all of Coach's goals."""
    return [
        thing.made_from.source
        for item in world.table.all_items().values()
        if (thing := made_in(item)) is not None and isinstance(thing, Goal)
    ]


def test_no_label_names_an_erased_person_whatever_their_names_were() -> None:
    """Zoë was renamed, and wrote in a chat that is named after her, as Ben did."""
    world = world_of()
    group(world, OPEN, ZOE, BEN, title="Move of Zoë Quill")
    group(world, ELSEWHERE, BEN, title="Ben's")
    for number, name in enumerate(("Zora Quibble", ZOE.name)):
        world.app.users.change_own(TENANT, ZOE, OwnChange(name=name))
        world.clock.advance(60)  # until the rosters have the name
        settle(world)
        for who in (ZOE, BEN):
            goal = f"Dull thing {number} for {who.id}"
            world.model.script.extend([calls(("set_goal", {"text": goal})), calls("end_run")])
            world.post("@Coach keep that in mind", who, chat_id=OPEN)
            settle(world)
    told = str(labels(world))
    assert "Zora Quibble" in told
    assert "Move of Zoë Quill" in told
    erase(world, "replace")
    assert traces(world, "Zora", "Quibble") == {}
    assert world.stored_chat(OPEN).title == "Move of [erased]"
    assert labels(world) == [SourceLabel.of([BEN])] * 2


def test_label_loses_a_person_and_a_title_that_an_item_keeps_beside_its_words() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post("Good morning", ZOE, chat_id=OPEN)
    label = SourceLabel.of([BEN, ZOE], title="Zoë Quill and Ben")
    made = MadeFrom.messages(ELSEWHERE, 1, 1, [BEN.id], label)
    owner = Owner(
        tenant=TENANT, agent_id=COACH.id, made_from=made, source_run_id=f"run_1_{ELSEWHERE}"
    )
    world.app.goals.set(owner, "Something dull")
    world.app.goals.set(owner, "Something dull that ended")
    erase(world)
    assert labels(world) == [SourceLabel.of([BEN], others=1)] * 2


def test_thread_of_another_person_stays_when_a_document_of_theirs_in_it_goes() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    write = ("write_document", {"name": "plan.md", "text": "Pears"})
    create = ("create_thread", {"concern": "Ben's own", "documents": ["plan.md"]})
    for who, call in ((ZOE, write), (BEN, create)):
        world.model.script.extend([calls(call), calls("end_run")])
        world.post("@Coach go on", who, chat_id=OPEN)
        settle(world)
    [thread] = world.app.threads.list(Reach(tenant=TENANT, agent_id=COACH.id)).items
    assert thread.made_from.items == (Document.id_of("plan.md"),)
    erase(world)
    assert thread_ids(world) == [thread.id]
    items = world.table.query(Query.under(owned_partition(TENANT, COACH.id, None), "DOC#")).items
    assert items == ()


def test_document_with_more_spans_than_fit_stays_without_one_of_its_writers() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    for number in range(60):
        world.post(f"Line {number}", ZOE if number == 30 else BEN, chat_id=OPEN)
    folder = Folder(tenant=TENANT, agent_id=COACH.id)
    reach = DocumentReach(folders=(folder,))
    for seq in range(1, 61, 2):
        writer = ZOE.id if seq == 31 else BEN.id
        author = Author(made_from=MadeFrom.messages(OPEN, seq, seq, [writer]), source_run_id="run")
        world.app.documents.write(reach, "log", f"v{seq}", new_in=folder, author=author)
    bens = Author(made_from=MadeFrom.messages(OPEN, 60, 60, [BEN.id]), source_run_id="run")
    world.app.documents.write(reach, "bens", "His own", new_in=folder, author=bens)
    erase(world)
    items = world.table.query(Query.under(owned_partition(TENANT, COACH.id, None), "DOC#")).items
    documents = sorted(map(Document.from_item, items), key=lambda each: each.name)
    assert [(each.name, each.text) for each in documents] == [("bens", "His own"), ("log", "v59")]
    assert documents[1].made_from.writers.ids == ("erased", BEN.id)


def test_memory_that_was_promoted_from_an_erased_entry_goes() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post("Good morning", ZOE, chat_id=OPEN)
    owner = Owner(
        tenant=TENANT,
        agent_id=COACH.id,
        made_from=MadeFrom.messages(OPEN, 1, 1, [ZOE.id]),
        source_chat_id=OPEN,
    )
    entry = world.app.memories.add(owner, "Pears", "journal", made_by="consolidation").memory
    copy = owner.model_copy(update={"made_from": MadeFrom().naming([entry.id])})
    world.app.memories.add(copy, "Pears, always", "core", made_by="reflection")
    other = owner.model_copy(update={"made_from": MadeFrom.messages(OPEN, 2, 2, [BEN.id])})
    world.app.memories.add(other, "Apples", "core", made_by="reflection")
    erase(world)
    assert [memory.text for memory in world.memories()] == ["Apples"]


def test_items_made_from_what_is_left_after_the_first_sweep_stay() -> None:
    world = world_of()
    group(world, PRIVATE, ZOE, BEN, visibility="private")
    world.post("Good morning", ZOE, chat_id=PRIVATE)
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    settle(world)
    for job in world.queues.take(ErasureJob):
        deadline = world.clock.now() + LONG_INVOCATION
        world.app.eraser.continue_erasure(job, deadline=deadline)
    assert world.app.erasures.get(TENANT, erasure.id).swept_at is not None
    world.clock.advance(60)
    world.model.script.extend([calls(("set_goal", {"text": "Bens"})), calls("end_run")])
    world.post("@Coach keep that in mind", BEN, chat_id=PRIVATE)
    settle(world)
    end(world, erasure)
    assert kept_goals(world, f"chat:{PRIVATE}") == {"Bens"}
