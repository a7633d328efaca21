"""What is remembered of a private chat is for those who were there, and nobody else."""

import json

from skein.memory.models.memory import Memory
from skein.memory.writes import gives_way
from skein.models.common.base import NamedMember
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach
from tests.support.builders import TENANT, World, bot, person

HUSAM, ANN, BOB = person(), person("usr_ann", "Ann"), person("usr_bob", "Bob")
COACH = bot()
PRIVATE = "chat:chat_1"


def private(*people: NamedMember, kind: str = "group") -> World:
    """A private chat that is consolidated, in which the agent only listens."""
    world = World()
    world.agent()
    world.chat(*people, COACH, kind=kind, visibility="private", consolidate=True, respond="manual")
    return world


def quiet(world: World) -> None:
    world.drain()
    world.hours_pass(7)


def core(*entries: object) -> str:
    return json.dumps({"journal": [], "core": list(entries)})


def audiences(world: World, scope: str | None = PRIVATE) -> dict[str, tuple[str, ...]]:
    return {memory.text: memory.audience.people for memory in world.memories(scope=scope)}


def asked(world: World, number: int = -1) -> str:
    return "\n".join(m.content for m in world.model.memory_requests[number].messages)


def test_memory_from_private_chat_is_limited_to_its_audience() -> None:
    world = private(HUSAM, ANN)
    world.model.memories.append(core("A secret"))
    world.post("Hello", HUSAM)
    quiet(world)
    assert audiences(world) == {"A secret": ("usr_ann", "usr_husam")}
    assert world.memories() == []


def test_a_direct_chats_memories_are_its_persons() -> None:
    world = private(HUSAM, kind="direct")
    world.model.memories.append(core("A secret"))
    world.post("Hello", HUSAM)
    world.clock.advance(1_800)
    world.tick()
    world.drain()
    assert audiences(world, "user:usr_husam") == {"A secret": ("usr_husam",)}


def test_chunks_end_at_a_join_and_have_their_own_audience() -> None:
    world = private(HUSAM)
    world.model.memories.extend([core("Before Ann"), core("With Ann"), core("With Bob")])
    world.post("One", HUSAM)
    world.known(ANN)
    world.add(ANN)
    world.post("Two", HUSAM)
    world.post("Three", ANN)
    world.known(BOB)
    world.add(BOB)
    world.post("Four", BOB)
    quiet(world)
    assert audiences(world) == {
        "Before Ann": ("usr_husam",),
        "With Ann": ("usr_ann", "usr_husam"),
        "With Bob": ("usr_ann", "usr_bob", "usr_husam"),
    }
    assert "One" in asked(world, 0)
    assert "One" not in asked(world, 1)
    assert [(r.from_seq, r.to_seq) for r in world.consolidations()] == [(1, 1), (2, 3), (4, 4)]


def test_core_memories_in_a_question_are_for_all_who_heard_the_chunk() -> None:
    """The core memories in a question are those that all who heard the chunk may be shown."""
    world = private(HUSAM)
    world.model.memories.append(core("Before Ann"))
    world.post("One", HUSAM)
    quiet(world)
    world.known(ANN)
    world.add(ANN)
    world.post("Two", HUSAM)
    quiet(world)
    assert "Before Ann" not in asked(world)


def test_in_an_open_chat_nothing_private_is_shown() -> None:
    world = private(HUSAM, kind="direct")
    world.chat(HUSAM, COACH, chat_id="chat_2", consolidate=True, respond="manual")
    world.model.memories.append(core("A secret"))
    world.post("Hello", HUSAM)
    quiet(world)
    world.post("Hello all", HUSAM, chat_id="chat_2")
    quiet(world)
    assert "Hello all" in asked(world)
    assert "A secret" not in asked(world)


def test_chunk_without_remaining_audience_is_skipped_without_model_call() -> None:
    world = private(HUSAM, ANN)
    world.post("One", HUSAM)
    world.post("Two", ANN)
    world.known(BOB)
    world.add(BOB)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, ANN.ref)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, HUSAM.ref)
    world.post("Three", BOB)
    quiet(world)
    assert len(world.model.memory_requests) == 1
    assert "Three" in asked(world)
    assert "One" not in asked(world)
    assert [record.passed_over for record in world.consolidations()] == [True, False]
    assert world.membership(COACH).consolidated_seq == 3


def test_member_who_joins_during_the_model_call_is_not_in_the_audience() -> None:
    world = private(HUSAM)

    def meanwhile(_: ModelRequest) -> str:
        world.known(ANN)
        world.add(ANN)
        return core("Before Ann")

    world.model.memories.append(meanwhile)
    world.post("One", HUSAM)
    quiet(world)
    assert audiences(world) == {"Before Ann": ("usr_husam",)}


def test_private_consolidation_does_not_supersede_open_memory() -> None:
    world = private(HUSAM)
    owner = Owner(tenant=TENANT, agent_id=COACH.id, audience=OPEN)
    world.app.memories.add(owner, "Husam leads sales.", "core", made_by="api")
    world.model.memories.append(core({"text": "Husam is going to leave.", "replaces": 1}))
    world.post("I am going to leave", HUSAM)
    quiet(world)
    [known] = world.memories()
    assert known.live
    assert audiences(world) == {"Husam is going to leave.": ("usr_husam",)}


def test_open_memory_makes_a_private_one_a_double_but_not_the_reverse() -> None:
    world = private(HUSAM)
    world.chat(HUSAM, COACH, chat_id="chat_2", consolidate=True, respond="manual")
    world.model.memories.extend([core("Husam sails."), core("Husam sails."), core("Husam sails!")])
    world.post("I sail", HUSAM)
    quiet(world)
    world.post("I sail, everybody", HUSAM, chat_id="chat_2")
    quiet(world)
    world.post("As I said, I sail", HUSAM)
    quiet(world)
    assert len(world.memories(scope=PRIVATE)) == len(world.memories()) == 1


def test_a_private_memory_gives_way_to_one_that_the_same_people_heard() -> None:
    world = private(HUSAM, ANN)
    world.model.memories.append(core("The party is on Friday."))
    world.post("Friday it is", HUSAM)
    quiet(world)
    world.model.memories.append(core({"text": "The party is on Saturday.", "replaces": 1}))
    world.post("Saturday, sorry", HUSAM)
    quiet(world)
    old, new = world.memories(scope=PRIVATE)
    assert (old.superseded_by, new.live) == (new.id, True)


def test_memory_of_two_people_does_not_give_way_to_that_of_one() -> None:
    world = private(HUSAM, ANN)
    both = Audience(open=False, people=(ANN.id, HUSAM.id))
    memory = Memory(
        tenant=TENANT,
        agent_id=COACH.id,
        id="mem_1",
        kind="core",
        text="The party is on Friday.",
        scope=PRIVATE,
        audience=both,
        made_by="tool",
        created_at=world.clock.now(),
    )
    mine = memory.model_copy(
        update={"audience": Audience(open=False, people=(HUSAM.id,)), "id": "mem_2"}
    )
    reach = Reach(tenant=TENANT, agent_id=COACH.id, scopes=(PRIVATE,))
    assert not gives_way(memory, mine, reach.model_copy(update={"readers": mine.audience}))
    assert gives_way(mine, memory, reach.model_copy(update={"readers": both}))
