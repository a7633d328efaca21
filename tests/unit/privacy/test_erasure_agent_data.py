"""Threads and the erasure of a person: what agents were at because of them goes, the rest stays."""

from typing import Any

from skein.models.api.directory import NewUser
from skein.models.common.ownership import Owner, Reach
from skein.models.common.storage import Query
from skein.models.workspace.document import Document, DocumentReach, Folder, PinnedDocuments
from skein.services.workspace import thread_changes as changes
from tests.support.agents import COACH
from tests.support.builders import TENANT, World, person
from tests.support.erasure import (
    BEN,
    ELSEWHERE,
    MARK,
    OPEN,
    ZOE,
    end,
    erase,
    group,
    settle,
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
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
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
    assert not [sk for sk in left if sk.startswith("STINT#") or made in sk]


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
    world.app.documents.write(reach, "plan", "One", new_in=folder, on_show=True)
    return folder


def test_erasure_of_a_persons_own_scope_does_not_count_the_list_of_pinned_documents() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    folder = pinned(world, f"user:{ZOE.id}")
    counts = erase(world).sweeps[0].counts
    assert counts["documents"] == 1
    assert "lists" not in {kind for kind, count in counts.items() if count}
    assert world.table.get(folder.pins_key) is None


def test_erasure_of_a_person_with_an_attributes_name_keeps_the_list_of_pinned_documents() -> None:
    world = world_of()
    named = person("usr_d", "Documents")
    world.app.users.create(TENANT, NewUser(id=named.id, name=named.name))
    group(world, OPEN, named, BEN)
    folder = pinned(world, None)
    end(world, world.app.erasures.request(TENANT, named.id, by="usr_op"))
    kept = PinnedDocuments.from_optional(world.table.get(folder.pins_key))
    assert kept.documents == (Document.id_of("plan"),)
