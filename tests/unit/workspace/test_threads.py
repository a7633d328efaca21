"""Threads: begun once, changed on what was read, one active for each audience."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Check, Exists, Key, Missing, Query
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.settings import Settings
from skein.workspace import thread_changes as changes
from skein.workspace.document_edits import Author
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.models.thread import MAX_KEPT_OPEN_THREADS, Thread, ThreadRunLink
from tests.support.builders import NOON, TENANT, World, live
from tests.support.fakes import MeanwhileTable

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
REACH = OWNER.reach
FOLDER = Folder(tenant=TENANT, agent_id="agt_a")
ANN = Audience(open=False, people=("usr_ann",))
HERS = Owner(tenant=TENANT, agent_id="agt_a", scope="user:usr_ann", audience=ANN)
WITH_ANN = Reach(tenant=TENANT, agent_id="agt_a", scopes=(None, "user:usr_ann"), readers=ANN)
NOWHERE = Key("nowhere", "META")
HOLDS, FAILS = Check(NOWHERE, Missing()), Check(NOWHERE, Exists())


def begin(world: World, concern: str = "The Q4 report", **fields: Any) -> Thread:
    world.clock.advance(1)
    owner = fields.pop("owner", OWNER)
    author = fields.pop("author", Author())
    thread_id = fields.pop("thread_id", None)
    return world.app.threads.create(
        owner, {"concern": concern, **fields}, thread_id=thread_id, author=author
    )


def write(world: World, name: str, media_type: str = "text/markdown", text: str = "One") -> None:
    reach = DocumentReach(folders=(FOLDER,))
    world.app.documents.write(reach, name, text, new_in=FOLDER, media_type=media_type)


def open_threads(world: World, scope: str | None = None) -> tuple[Thread, ...]:
    return live(world.app.threads, REACH.at(scope))


# ---------------------------------------------------------------------- begun


def test_a_thread_begins_open_and_is_not_the_active_one() -> None:
    world = World()
    thread = begin(world, " The Q4 report ", goal="Everybody agrees on the numbers")
    assert (thread.concern, thread.goal) == ("The Q4 report", "Everybody agrees on the numbers")
    assert (thread.status, thread.kind, thread.priority) == ("open", "exploratory", 2)
    assert world.app.threads.get(REACH, thread.id) == thread
    assert open_threads(world) == (thread,)
    assert world.app.threads.active_id(REACH) is None


def test_two_threads_never_have_one_id() -> None:
    world = World()
    ids = {begin(world).id for _ in range(3)}
    world.app.threads.delete(REACH, sorted(ids)[-1])
    ids.add(begin(world).id)
    assert len(ids) == 4


def test_beginning_with_the_same_id_again_changes_nothing_even_once_it_has_ended() -> None:
    world = World()
    first = begin(world, thread_id="thr_1")
    assert begin(world, "Something else", thread_id="thr_1") == first
    ended = world.app.threads.change(REACH, "thr_1", changes.ended("completed", NOON))
    assert begin(world, "Something else", thread_id="thr_1") == ended
    assert open_threads(world) == ()


def test_thread_gets_mode_and_skill_tags_from_its_documents() -> None:
    world = World()
    write(world, "numbers", "text/csv")
    write(world, "notes")
    thread = begin(world, documents=["numbers", "notes", "numbers"])
    assert thread.documents == ("numbers", "notes")
    assert (thread.mode, thread.skill_tags) == ("analysis", ("text/csv", "text/markdown"))


def test_explicit_mode_and_tags_override_those_of_documents() -> None:
    world = World()
    write(world, "numbers", "text/csv")
    thread = begin(world, documents=["numbers"], mode="Planning", skill_tags=["project"])
    assert (thread.mode, thread.skill_tags) == ("planning", ("project",))


def test_documents_and_skills_must_be_there() -> None:
    world = World()
    with pytest.raises(NotFound, match="no document 'plan'"):
        begin(world, documents=["plan"])
    with pytest.raises(NotFound, match="no skill 'cooking'"):
        begin(world, bound_skills=["cooking"])
    assert open_threads(world) == ()


def test_a_fourth_open_thread_is_refused_until_one_ends() -> None:
    world = World()
    threads = [begin(world) for _ in range(3)]
    with pytest.raises(Conflict, match="already 3 open threads"):
        begin(world)
    world.app.threads.change(REACH, threads[0].id, changes.ended("archived", NOON))
    begin(world)


def test_open_thread_limit_is_a_setting() -> None:
    world = World(Settings(max_open_threads=1))
    begin(world)
    with pytest.raises(Conflict):
        begin(world)
    begin(world, owner=HERS)  # each audience has its own limit


def test_create_thread_in_scope_full_of_hidden_threads_is_refused_without_a_number() -> None:
    world = World()
    reach = Reach(tenant=TENANT, agent_id="agt_a", scopes=(None, "chat:chat_1"), readers=ANN)
    for n in range(MAX_KEPT_OPEN_THREADS):
        people = Audience(open=False, people=(f"usr_{n}",))
        owner = HERS.model_copy(update={"scope": "chat:chat_1", "audience": people})
        world.app.threads.create(owner, {"concern": "x"}, reach=reach)
    owner = HERS.model_copy(update={"scope": "chat:chat_1"})
    with pytest.raises(Conflict) as refused:
        world.app.threads.create(owner, {"concern": "x"}, reach=reach)
    assert str(refused.value) == "the storage for this chat, person or agent is full"


def test_values_that_do_not_fit_are_refused() -> None:
    world = World()
    for fields in ({"priority": 9}, {"kind": "vague"}, {"concern": " "}, {"goal": "x" * 1_001}):
        with pytest.raises(Unprocessable):
            world.app.threads.create(OWNER, {"concern": "The Q4 report", **fields})


def test_threads_full_of_text_are_all_stored() -> None:
    world = World(Settings(max_open_threads=10))
    many = tuple(f"usr_{n:03d}{'x' * 120}" for n in range(100))
    owner = HERS.model_copy(update={"audience": Audience(open=False, people=many)})
    full: dict[str, Any] = {"approach": "\U0001f642" * 2_000, "progress": "\U0001f642" * 2_000}
    full |= {"goal": "\U0001f642" * 1_000, "deliverable": "\U0001f642" * 1_000, "owner": owner}
    for _ in range(10):
        begin(world, "\U0001f642" * 300, **full)
    assert len(open_threads(world, HERS.scope)) == 10


# ---------------------------------------------------------------------- changed


def test_progress_note_stays_until_it_is_replaced() -> None:
    world = World()
    thread = begin(world, approach="Ask everybody")
    noted = changes.fields({"progress": "Half", "blocking": "Finance"})
    world.app.threads.change(REACH, thread.id, noted)
    after = world.app.threads.change(REACH, thread.id, changes.fields({"blocking": ""}))
    assert (after.approach, after.progress, after.blocking) == ("Ask everybody", "Half", None)
    assert after.version == 3


def test_invalid_thread_change_is_rejected() -> None:
    world = World()
    thread = begin(world)
    with pytest.raises(Unprocessable):
        world.app.threads.change(REACH, thread.id, changes.fields({"priority": 0}))
    assert world.app.threads.get(REACH, thread.id) == thread


def test_attaching_and_binding_twice_is_attaching_and_binding_once() -> None:
    world = World()
    write(world, "plan")
    thread = begin(world)
    for change in (changes.attached("plan"), changes.bound("writing")):
        once = world.app.threads.change(REACH, thread.id, change)
        assert world.app.threads.change(REACH, thread.id, change) == once
    after = world.app.threads.get(REACH, thread.id)
    assert (after.documents, after.bound_skills) == (("plan",), ("writing",))
    for change in (changes.detached("plan"), changes.unbound("writing")):
        once = world.app.threads.change(REACH, thread.id, change)
        assert world.app.threads.change(REACH, thread.id, change) == once
    after = world.app.threads.get(REACH, thread.id)
    assert (after.documents, after.bound_skills) == ((), ())


def test_attach_requires_an_existing_item_and_detach_does_not() -> None:
    world = World()
    thread = begin(world)
    with pytest.raises(NotFound):
        world.app.threads.change(REACH, thread.id, changes.attached("plan"))
    with pytest.raises(NotFound):
        world.app.threads.change(REACH, thread.id, changes.bound("cooking"))
    assert world.app.threads.change(REACH, thread.id, changes.detached("plan")) == thread


def test_a_document_that_is_gone_can_still_be_detached() -> None:
    world = World()
    write(world, "plan")
    thread = begin(world, documents=["plan"])
    world.app.documents.delete(DocumentReach(folders=(FOLDER,)), "plan")
    assert world.app.threads.change(REACH, thread.id, changes.detached("plan")).documents == ()


def test_an_effect_that_was_carried_out_is_not_carried_out_again() -> None:
    world = World()
    thread = begin(world)
    author = Author(effect="effect-1")
    said = changes.fields({"progress": "Half"})
    world.app.threads.change(REACH, thread.id, said, author=author)
    world.app.threads.change(REACH, thread.id, changes.fields({"progress": "Nearly"}))
    again = world.app.threads.change(REACH, thread.id, said, author=author)
    assert again.progress == "Half"  # as the first attempt returned it
    assert world.app.threads.get(REACH, thread.id).progress == "Nearly"


# ---------------------------------------------------------------------- ended


def test_completed_thread_keeps_evidence_and_is_not_active() -> None:
    world = World()
    thread = begin(world)
    world.app.threads.switch(REACH, thread.id)
    done = changes.ended("completed", NOON, evidence="Signed", learned="Ask early")
    after = world.app.threads.change(REACH, thread.id, done)
    assert (after.status, after.evidence, after.learned) == ("completed", "Signed", "Ask early")
    assert (after.status, after.ended_at) == ("completed", NOON)
    assert open_threads(world) == ()
    assert world.app.threads.active_id(REACH) is None
    assert world.app.threads.get(REACH, thread.id) == after


def test_ended_thread_cannot_be_changed_or_activated() -> None:
    world = World()
    thread = begin(world)
    world.app.threads.change(REACH, thread.id, changes.ended("archived", NOON))
    with pytest.raises(Conflict, match="this thread is archived"):
        world.app.threads.change(REACH, thread.id, changes.fields({"progress": "x"}))
    with pytest.raises(Conflict, match="this thread is archived"):
        world.app.threads.switch(REACH, thread.id)


def test_deleting_a_thread_leaves_nothing_of_it() -> None:
    world = World()
    author = Author(source_run_id="run_1_chat_1", source_chat_id="chat_1", activation=1)
    for end in (False, True):
        thread = begin(world)
        world.app.threads.switch(REACH, thread.id, author=author)
        if end:
            world.app.threads.change(REACH, thread.id, changes.ended("completed", NOON))
        world.app.threads.delete(REACH, thread.id)
        with pytest.raises(NotFound):
            world.app.threads.get(REACH, thread.id)
        left = [item["sk"] for item in world.table.query(Query(f"{TENANT}#AGENT#agt_a")).items]
        assert not [sk for sk in left if thread.id in sk]
        assert world.app.threads.active_id(REACH) is None


# ---------------------------------------------------------------------- taken up


def test_resumed_thread_records_its_chat_and_run() -> None:
    world = World()
    thread = begin(world)
    author = Author(source_run_id="run_1_chat_1", source_chat_id="chat_1", activation=2)
    world.app.threads.switch(REACH, thread.id, author=author)
    assert world.app.threads.active_id(REACH) == thread.id
    assert world.app.threads.get(REACH, thread.id).chat_ids == ("chat_1",)
    key = ThreadRunLink.key_of(TENANT, "agt_a", None, thread.id, "run_1_chat_1", 2)
    link = ThreadRunLink.from_item(world.table.get(key) or {})
    assert (link.run_id, link.activation, link.audience) == ("run_1_chat_1", 2, OPEN)


def test_an_unknown_thread_is_not_taken_up() -> None:
    with pytest.raises(NotFound, match="thread not found"):
        World().app.threads.switch(REACH, "thr_nowhere")


def test_active_thread_can_be_cleared() -> None:
    world = World()
    thread = begin(world)
    world.app.threads.switch(REACH, thread.id)
    assert world.app.threads.switch(REACH, None) is None
    assert world.app.threads.active_id(REACH) is None


def test_retried_switch_keeps_a_later_switch_of_another_run() -> None:
    world = World()
    one, other = begin(world), begin(world)
    author = Author(effect="effect-1", source_run_id="run_1_chat_1", activation=1)
    world.app.threads.switch(REACH, one.id, author=author)
    world.app.threads.switch(REACH, other.id, author=Author(effect="effect-2"))
    world.app.threads.switch(REACH, one.id, author=author)
    assert world.app.threads.active_id(REACH) == other.id


@pytest.mark.parametrize("before", [0, 1])
def test_concurrently_begun_threads_are_both_stored(before: int) -> None:
    table = MeanwhileTable()
    world = World(overrides={"table": table})
    for n in range(before):
        begin(world, f"Number {n}")
    table.before = ("OWNED#THREAD#", lambda: begin(world, "The other one"))
    begin(world, "This one")
    reach = Reach(tenant=TENANT, agent_id="agt_a")
    concerns = {thread.concern for thread in world.app.threads.list(reach).items}
    assert {"This one", "The other one"} <= concerns
    assert len(concerns) == before + 2


def test_concurrent_thread_switches_and_changes_all_succeed() -> None:
    world = World()
    threads = [begin(world) for _ in range(3)]

    def do(n: int) -> None:
        thread = threads[n % 3]
        world.app.threads.switch(REACH, thread.id, author=Author(effect=f"switch-{n}"))
        noted = changes.fields({("approach", "progress", "blocking")[n // 3 % 3]: f"note {n}"})
        world.app.threads.change(REACH, thread.id, noted, author=Author(effect=f"note-{n}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(do, range(9)))
    left = open_threads(world)
    assert [thread.id for thread in left] == [thread.id for thread in threads]
    assert world.app.threads.active_id(REACH) in {thread.id for thread in threads}
    for n, thread in enumerate(left):
        said = (thread.approach, thread.progress, thread.blocking)
        assert said == (f"note {n}", f"note {n + 3}", f"note {n + 6}")


# ---------------------------------------------------------------------- who may be shown them


def test_thread_of_one_person_is_hidden_elsewhere() -> None:
    world = World()
    thread = begin(world, owner=HERS)
    ben = Audience(open=False, people=("usr_ben",))
    everywhere = WITH_ANN.model_copy(update={"readers": ben})
    with pytest.raises(NotFound):
        world.app.threads.get(everywhere, thread.id)
    with pytest.raises(NotFound):
        world.app.threads.switch(everywhere, thread.id)
    assert world.app.threads.get(WITH_ANN, thread.id) == thread


def test_an_open_thread_is_taken_up_in_private_without_being_touched() -> None:
    world = World()
    thread = begin(world)
    author = Author(
        audience=ANN, source_run_id="run_1_chat_1", source_chat_id="chat_1", activation=1
    )
    world.app.threads.switch(WITH_ANN, thread.id, author=author)
    assert world.app.threads.active_id(WITH_ANN) == thread.id
    assert world.app.threads.active_id(REACH) is None
    assert world.app.threads.get(REACH, thread.id) == thread
    run_links = world.table.query(Query.under(f"{TENANT}#AGENT#agt_a", "RUNLINK#"))
    assert run_links.items == ()  # its export shows nothing that was said in private


@pytest.mark.parametrize(
    "change",
    [
        changes.fields({"progress": "Ann is worried"}),
        changes.ended("completed", NOON, evidence="Ann said so"),
        changes.bound("writing"),
        changes.unbound("writing"),
        changes.detached("plan"),
    ],
)
def test_an_open_thread_is_not_changed_in_private(change: changes.ThreadEdit) -> None:
    world = World()
    thread = begin(world)
    with pytest.raises(Conflict, match="not changed"):
        world.app.threads.change(WITH_ANN, thread.id, change)
    assert world.app.threads.get(REACH, thread.id) == thread


def test_change_thread_from_narrower_content_is_refused() -> None:
    world = World()
    both = Audience(open=False, people=("usr_ann", "usr_ben"))
    owner = HERS.model_copy(update={"scope": "chat:chat_1", "audience": both})
    thread = begin(world, owner=owner)
    noted = changes.fields({"progress": "Half"})
    reach = owner.reach.model_copy(update={"readers": both, "content": ANN})
    with pytest.raises(Conflict, match="not changed"):
        world.app.threads.change(reach, thread.id, noted, author=Author(audience=ANN))
    assert world.app.threads.get(reach, thread.id) == thread


# ---------------------------------------------------------------------- lists


def test_a_list_of_one_status_holds_no_other() -> None:
    world = World()
    one, other = begin(world), begin(world)
    world.app.threads.change(REACH, one.id, changes.ended("completed", NOON))
    listed = {
        status: [thread.id for thread in world.app.threads.list(REACH, status=status).items]
        for status in ("open", "completed", "archived")
    }
    assert listed == {"open": [other.id], "completed": [one.id], "archived": []}
