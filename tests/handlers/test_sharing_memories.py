"""Memories of a person's own words are told by the rules of each message they were made from."""

from collections.abc import Callable

import pytest

import admin_api
from skein.models.chats.chat import chat_partition
from skein.models.common.storage import Delete, Query
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import RecallPassage
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.fakes import ScriptedModel, calls
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of

NOTED = "The piano lesson with Mrs Okafor is on Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
LINE = f'2026-02-18, Emma, as noted (may be told to: father): "{NOTED}"'


@pytest.fixture
def family() -> Family:
    """Emma has said two things, of which the agent has a memory."""
    family = Family.made(model=ScriptedModel.saying(default="Fine."))
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
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


def test_memory_is_told_with_its_source_and_listed(family: Family) -> None:
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


def test_memory_is_told_to_nobody_without_the_role_and_not_to_its_person(family: Family) -> None:
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
def test_memory_is_no_longer_told_after_a_change_of_one_message(
    family: Family, change: Callable[[Family], None]
) -> None:
    family.quiet()
    change(family)
    shown = family.prompt_of(TOM, ASKED)
    assert "as noted" not in shown
    family.drain()
    assert "as noted" not in family.prompt_of(TOM, f"{ASKED} Please tell me")


def test_memory_is_told_only_once_the_talk_is_over(family: Family) -> None:
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
