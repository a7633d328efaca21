"""Memories of a person's own words are told by the rules of each message they were made from."""

import json
from collections.abc import Callable
from functools import cache

import pytest

import admin_api
from skein.models.chats.chat import chat_partition
from skein.models.common.storage import Delete, Query
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.visibility.ownership import owned_partition
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import RecallPassage
from skein.services.chats.consolidation_schedule import MAX_FAILURES
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.fakes import ScriptedModel, calls
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of

NOTED = "The piano lesson with Mrs Okafor is on Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
BEFORE = "Hello there, how are you?"
ANSWERED = "The agent answers."
LINE = f'2026-02-18, Emma, as noted (may be told to: father): "{NOTED}"'


@pytest.fixture
def family() -> Family:
    """Emma has said two things, of which the agent has a memory."""
    return Family.with_model().continue_from(_noted())


@cache
def _noted() -> Family:
    family = Family.made()
    family.rule()
    family.says(EMMA, BEFORE)
    family.says(EMMA, "My lesson has moved")
    family.says(EMMA, "It is at five now, on Thursdays")
    family.noted(EMMA, NOTED, *own_seqs(family)[1:])
    return family


def own_seqs(family: Family) -> list[int]:
    messages = family.messages(chat_of(EMMA))
    return [m.seq for m in messages if m.sender.id == EMMA.id and m.kind == "text"]


def indexed_memories(family: Family) -> list[RecallPassage]:
    query = Query.under(chat_partition(TENANT, chat_of(EMMA)), RecallPassage.prefix_of(COACH.id))
    found = map(RecallPassage.from_item, family.table.query(query).items)
    return [each for each in found if each.memory_id]


def test_memory_is_shared_with_its_source_and_listed_as_disclosure(family: Family) -> None:
    family.quiet()
    assert LINE in family.prompt_of(TOM, ASKED)
    [told] = Client(family, sub=EMMA.id).get("/v1/me/sharing").body["disclosures"]
    assert told["seqs"] == own_seqs(family)[1:]
    assert told["shared_with"] == ["Tom"]


def test_tool_recall_finds_a_memory(family: Family) -> None:
    family.quiet()
    family.agent(COACH.id, enabled_tools=("recall", "end_run"), settings={"recall_tokens": 0})
    family.model.script.extend([calls(("recall", {"query": ASKED})), "Fine."])
    assert LINE in family.prompt_of(TOM, ASKED)


def test_memory_is_not_shared_without_the_role_nor_with_its_author(family: Family) -> None:
    family.quiet()
    for one in (RINA, EMMA):
        assert "as noted" not in family.prompt_of(one, ASKED)


def withdrawn(family: Family) -> None:
    """Keep the first of the two messages from others."""
    seq = own_seqs(family)[1]
    own(family).post(
        f"/v1/chats/{chat_of(EMMA)}/sharing/withdraw", {"from_seq": seq, "to_seq": seq}
    )


def kept(family: Family) -> None:
    own(family).post(f"/v1/chats/{chat_of(EMMA)}/sharing/keep", {})


def deleted(family: Family) -> None:
    own(family).delete(f"/v1/chats/{chat_of(EMMA)}/messages/{own_seqs(family)[1]}")


def rule_ended(family: Family) -> None:
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]
    family.operator.delete(f"/v1/sharing-rules/{rule['id']}")


def reader_lost_the_role(family: Family) -> None:
    family.give(TOM)


def erased(family: Family) -> None:
    privacy = Client(family, api=admin_api, sub="usr_op", scope="privacy")
    started = privacy.delete(f"/v1/users/{EMMA.id}")
    assert started.status == 202, started.body


def own(family: Family) -> Client:
    return Client(family, sub=EMMA.id)


@pytest.mark.parametrize(
    "change", [withdrawn, kept, deleted, rule_ended, reader_lost_the_role, erased]
)
def test_memory_is_no_longer_shared_after_change_of_one_source_message(
    family: Family, change: Callable[[Family], None]
) -> None:
    family.quiet()
    change(family)
    shown = family.prompt_of(TOM, ASKED)
    assert "as noted" not in shown
    family.drain()
    assert "as noted" not in family.prompt_of(TOM, f"{ASKED} Please tell me")


def test_memory_is_not_shared_while_the_conversation_continues(family: Family) -> None:
    family.drain()
    assert "as noted" not in family.prompt_of(TOM, ASKED)


@pytest.mark.parametrize("change", [withdrawn, kept, deleted])
def test_memory_leaves_the_index_with_one_of_its_messages(
    family: Family, change: Callable[[Family], None]
) -> None:
    family.quiet()
    assert len(indexed_memories(family)) == 1
    change(family)
    family.quiet()
    assert indexed_memories(family) == []


def test_memory_that_is_deleted_leaves_the_index(family: Family) -> None:
    family.quiet()
    [passage] = indexed_memories(family)
    memory = OwnWordsMemory.own_key(
        TENANT, COACH.id, f"user:{EMMA.id}", chat_of(EMMA), passage.seq, str(passage.memory_id)
    )
    family.table.write(Delete(memory))
    family.quiet()
    assert indexed_memories(family) == []


def test_memory_of_words_that_no_rule_covers_is_not_in_the_index(family: Family) -> None:
    hello = own_seqs(family)[0]  # before the notice
    family.noted(EMMA, "Emma says hello to all of us", hello, own_seqs(family)[1])
    family.quiet()
    assert len(indexed_memories(family)) == 1


def test_indexing_again_keeps_the_passage_of_a_memory(family: Family) -> None:
    family.quiet()
    before = indexed_memories(family)
    family.quiet()
    assert indexed_memories(family) == before


# ---------------------------------------------------------------------- made by consolidation


@pytest.fixture
def consolidating() -> Family:
    """Emma has said two things in a chat that is consolidated."""
    family = Family.with_model(model=ScriptedModel.saying(default=ANSWERED))
    return family.continue_from(_said())


@cache
def _said() -> Family:
    family = Family.made(consolidate=True, model=ScriptedModel.saying(default=ANSWERED))
    family.rule()
    family.says(EMMA, BEFORE)
    family.says(EMMA, "My lesson has moved")
    family.says(EMMA, "It is at five now, on Thursdays")
    return family


def consolidated(family: Family, *texts: str) -> None:
    """Consolidate Emma's chat; the model makes these memories of each call."""
    family.clock.advance(3_600)
    family.model.own_words.extend([json.dumps({"memories": texts})] * 5)
    family.handle(ConsolidationJob(tenant=TENANT, chat_id=chat_of(EMMA)))
    family.model.own_words.clear()
    family.quiet()


def memories_of(family: Family) -> list[OwnWordsMemory]:
    partition = owned_partition(TENANT, COACH.id, f"user:{EMMA.id}")
    found = family.table.query(Query.under(partition, OwnWordsMemory.PREFIX)).items
    return [OwnWordsMemory.from_item(item) for item in found]


def test_consolidated_memory_of_the_daughter_is_shared_with_the_father(
    consolidating: Family,
) -> None:
    consolidated(consolidating, NOTED)
    [memory] = memories_of(consolidating)
    assert memory.seqs == tuple(own_seqs(consolidating)[1:])
    assert LINE in consolidating.prompt_of(TOM, ASKED)
    withdrawn(consolidating)
    assert "as noted" not in consolidating.prompt_of(TOM, f"{ASKED} Please tell me")


def test_consolidation_request_contains_only_words_that_rules_share(consolidating: Family) -> None:
    consolidating.says(EMMA, "This is only between us")
    consolidating.says(EMMA, "PRIVATE")
    consolidating.clock.advance(3_600)
    consolidating.says(EMMA, "My teacher is called Ngozi")
    consolidated(consolidating)
    [asked] = consolidating.model.own_words_requests
    shown = "\n".join(message.content for message in asked.messages)
    assert "My teacher is called Ngozi" in shown
    for other in (ANSWERED, BEFORE, "between us", "My lesson has moved"):
        assert other not in shown


def test_memories_of_regular_consolidation_are_never_shared(consolidating: Family) -> None:
    consolidating.model.memories.append(json.dumps({"journal": [], "core": [NOTED]}))
    consolidated(consolidating)
    assert len(consolidating.memories(COACH.id, f"user:{EMMA.id}")) == 1
    assert NOTED not in consolidating.prompt_of(TOM, ASKED)
    assert NOTED in consolidating.prompt_of(EMMA, ASKED)


def test_words_are_read_once(consolidating: Family) -> None:
    consolidated(consolidating, NOTED)
    consolidated(consolidating, NOTED)
    assert len(consolidating.model.own_words_requests) == 1
    assert consolidating.stored_chat(chat_of(EMMA)).consolidation_at is None


def test_call_has_messages_of_the_same_rules_alone(consolidating: Family) -> None:
    consolidating.rule(to="mother")
    consolidating.says(EMMA, "My teacher is called Ngozi")
    consolidating.says(EMMA, "She is from Lagos")
    consolidated(consolidating, NOTED)
    *both, last = own_seqs(consolidating)[1:]
    assert [memory.seqs for memory in memories_of(consolidating)] == [tuple(both), (last,)]


def test_tenant_without_rules_makes_no_call_and_no_write() -> None:
    family = Family.made(consolidate=True, model=ScriptedModel.saying(default=ANSWERED))
    family.says(EMMA, "My lesson has moved")
    consolidated(family, NOTED)
    assert len(family.model.memory_requests) == 1
    assert family.model.own_words_requests == []
    assert memories_of(family) == []
    assert "own_words_seq" not in family.membership(COACH, chat_of(EMMA)).attributes()


def test_failed_call_is_made_again_and_keeps_the_usual_memories(consolidating: Family) -> None:
    consolidating.model.own_words.append("no JSON")
    consolidating.clock.advance(3_600)
    consolidating.handle(ConsolidationJob(tenant=TENANT, chat_id=chat_of(EMMA)))
    assert memories_of(consolidating) == []
    assert consolidating.stored_chat(chat_of(EMMA)).consolidation_at is not None
    consolidated(consolidating, NOTED)
    assert len(memories_of(consolidating)) == 1
    assert len(consolidating.model.memory_requests) == 1


def test_calls_that_keep_failing_wake_an_operator(consolidating: Family) -> None:
    for _ in range(MAX_FAILURES):
        consolidating.model.own_words.append("no JSON")
        consolidating.clock.advance(24 * 3_600)
        consolidating.handle(ConsolidationJob(tenant=TENANT, chat_id=chat_of(EMMA)))
    assert consolidating.metrics.counts["ConsolidationsStuck"] == 1


def test_memories_go_with_their_person(consolidating: Family) -> None:
    consolidated(consolidating, NOTED)
    erased(consolidating)
    consolidating.drain()
    assert memories_of(consolidating) == []


def test_explanation_shows_for_each_source_whether_the_memory_is_shared(family: Family) -> None:
    memory = family.noted(EMMA, "Emma is well", *own_seqs(family)[1:2])
    operator = Client(family, api=admin_api, sub="usr_op", scope="admin privacy")
    path = f"/v1/sharing/why/own_words/{memory.id}"
    asked = {"agent_id": COACH.id, "chat_id": chat_of(EMMA), "reason": "Test of the reasons"}

    def decided(reader_id: str) -> tuple[bool, str]:
        answer = operator.get(path, **asked, reader_id=reader_id)
        assert answer.status == 200, answer.body
        return answer.body["may_see"], answer.body["decided_by"]

    assert decided(TOM.id) == (False, "talk_not_over")
    family.quiet()
    assert decided(TOM.id) == (True, "rule")
    assert decided(RINA.id) == (False, "no_rule")
    assert decided(EMMA.id) == (False, "own_words")
    withdrawn(family)
    assert decided(TOM.id) == (False, "kept")
    assert operator.get(f"{path}x", **asked, reader_id=TOM.id).status == 404
    without_chat = {key: asked[key] for key in ("agent_id", "reason")}
    assert operator.get(path, **without_chat, reader_id=TOM.id).status == 422
