"""Indexing brings passages and postings in line with a chat's messages and memberships."""

import pytest

from skein.errors import Unavailable
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import Delete, Put, Update
from skein.models.outbox.jobs import RecallJob
from skein.recall.models.stored import Posting
from tests.support.api_client import everything
from tests.support.builders import TENANT
from tests.support.recall import ANN, BEN, CLERK, COACH, Indexed


@pytest.fixture
def world() -> Indexed:
    world = Indexed()
    world.agent()
    world.chat(ANN, BEN, COACH, kind="group", visibility="open")
    return world


def test_passage_has_stems_and_embedding_of_its_message(world: Indexed) -> None:
    world.said("Dr. Okonkwo wants 250 euros", sender=BEN, expires_at=2_000_000_000)
    world.index()
    [passage] = world.passages()
    assert (passage.recall_author, passage.name) == ("usr_ben", "Ben")
    assert (passage.recall_scope, passage.scope) == (f"{TENANT}#AGENT#agt_a", None)
    assert passage.recall_month == "2026-02"
    assert passage.expires_at == 2_000_000_000
    assert set(passage.posted) == {"okonkwo", "250", "euro"}
    assert passage.characters == len("Dr. Okonkwo wants 250 euros")
    assert len(passage.vector) == 256
    [span] = passage.made_from.spans
    assert (span.chat_id, span.first_seq, span.last_seq) == ("chat_1", 1, 1)


LONG = "The boat needs a rope. " * 100 + "Kwaku has it."


def test_long_message_has_a_vector_for_each_passage_and_postings_once(world: Indexed) -> None:
    world.said(LONG)
    world.index()
    passages = world.passages()
    assert [passage.part for passage in passages] == list(range(5))
    assert all(passage.parts == 5 and any(passage.vector) for passage in passages)
    assert [bool(passage.posted) for passage in passages] == [True, *[False] * 4]
    assert world.postings()["kwaku"] == [1]
    world.change(1, kind="erased", text="")
    world.index(1, 1)
    assert (world.passages(), world.postings()) == ([], {})


def test_message_has_twelve_vectors_at_most(world: Indexed) -> None:
    world.said("The boat needs a rope. " * 700)
    world.index()
    assert len(world.passages()) == 12


def test_long_answers_of_an_agent_have_a_partition_of_their_own(world: Indexed) -> None:
    world.said(LONG, "Noted.", sender=COACH)
    world.said(LONG, sender=BEN)
    world.index()
    partitions = {passage.seq: passage.recall_scope for passage in world.passages()}
    own = f"{TENANT}#AGENT#agt_a"
    assert partitions == {1: f"{own}#ANSWERS", 2: own, 3: own}


def test_messages_since_somebody_joined_a_private_group_have_a_partition(world: Indexed) -> None:
    """So what was said before cannot crowd out what the new person may know."""
    joined = {"user#usr_ben": 1}
    world.chat(ANN, BEN, COACH, kind="group", visibility="private", joined_late=joined)
    world.said("Room 4711", "Room 4712")
    world.index()
    partitions = [passage.recall_scope for passage in world.passages()]
    scope = f"{TENANT}#AGENT#agt_a#AUD#chat:chat_1"
    assert partitions == [scope, f"{scope}#SINCE2"]


def test_index_that_is_repeated_writes_nothing(world: Indexed) -> None:
    world.said("Room 4711", "Room 4712")
    world.index()
    before = everything(world)
    world.index()
    world.index(2, 2)
    assert everything(world) == before


def test_message_that_follows_joins_the_index(world: Indexed) -> None:
    world.said("Room 4711")
    world.index(1, 1)
    world.said("Room 4711 again")
    world.index(2, 2)
    assert world.seqs() == [1, 2]
    assert world.postings()["4711"] == [2, 1]


def test_index_out_of_order_has_the_same_result(world: Indexed) -> None:
    world.said(*(f"Room {4700 + seq}" for seq in range(1, 20)))
    world.index(17, 19)
    world.index(9, 16)
    world.index(1, 8)
    other = Indexed()
    other.agent()
    other.chat(ANN, BEN, COACH, kind="group", visibility="open")
    other.said(*(f"Room {4700 + seq}" for seq in range(1, 20)))
    other.index()

    def shown(indexed: Indexed) -> list[object]:
        return [passage.model_copy(update={"version": 1}) for passage in indexed.passages()]

    assert shown(world) == shown(other)
    assert world.postings() == other.postings()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "erased", "text": ""},
        {"kind": "deleted", "text": ""},
        {"kind": "keyword"},
        {"kind": "choice"},
        {"kind": "notice"},
        {"resets": True},
        {"text": "  "},
        {"expires_at": 1},
    ],
)
def test_message_that_is_no_text_any_more_leaves_the_index(
    world: Indexed, change: dict[str, object]
) -> None:
    world.said("Room 4711", "Room 4712")
    world.index()
    world.change(1, **change)
    world.index(1, 1)
    assert world.seqs() == [2]
    assert "4711" not in world.postings()


def test_index_without_messages_is_empty(world: Indexed) -> None:
    world.said("Room 4711")
    world.index()
    world.table.write(Delete(Message.key_of(TENANT, "chat_1", 1)))
    world.index(1, 1)
    assert world.passages() == []
    assert world.postings() == {}


def test_agent_has_only_messages_of_its_membership(world: Indexed) -> None:
    world.said(*(f"Room {4700 + seq}" for seq in range(1, 6)))
    world.member(COACH, joined_seq=1, left_seq=3)
    world.index()
    assert world.seqs() == [2, 3]


def test_agents_have_passages_of_their_own(world: Indexed) -> None:
    world.chat(ANN, COACH, CLERK, kind="group", visibility="open")
    world.said("Room 4711", "Room 4712")
    world.member(CLERK, joined_seq=1)
    world.index()
    assert world.seqs("agt_a") == [1, 2]
    assert world.seqs("agt_b") == [2]
    world.change(2, kind="erased", text="")
    world.index(agent_id="agt_b")
    assert world.seqs("agt_a") == [1, 2]
    assert world.seqs("agt_b") == []


def test_rejoining_agent_loses_the_messages_before_its_return(world: Indexed) -> None:
    world.said("Room 4711", "Room 4712", "Room 4713")
    world.index()
    world.member(COACH, joined_seq=2)
    world.index(1, 2, agent_id="agt_a")
    assert world.seqs() == [3]
    assert set(world.postings()) == {"4713"}


def test_passages_of_an_agent_without_membership_are_deleted(world: Indexed) -> None:
    world.said("Room 4711")
    world.index()
    world.table.write(Delete(Membership.key_of(TENANT, "chat_1", COACH.ref)))
    world.index(agent_id="agt_a")
    assert world.passages() == []


def test_private_chats_have_postings_by_scope(world: Indexed) -> None:
    world.chat(ANN, COACH, chat_id="chat_1", kind="direct", visibility="private")
    world.chat(ANN, BEN, COACH, chat_id="chat_2", kind="group", visibility="private")
    world.said("Room 4711", chat_id="chat_1")
    world.said("Room 4712", chat_id="chat_2")
    world.index(chat_id="chat_1")
    world.index(chat_id="chat_2")
    assert set(world.postings("user:usr_ann")) == {"4711"}
    assert set(world.postings("chat:chat_2")) == {"4712"}
    assert world.postings() == {}


def test_chat_whose_scope_changes_moves_its_postings(world: Indexed) -> None:
    world.chat(ANN, COACH, kind="direct", visibility="private")
    world.said(*(f"Room {4700 + seq}" for seq in range(1, 12)))
    world.index()
    chat = world.chat(
        BEN,
        COACH,
        kind="direct",
        visibility="private",
        formerly={"usr_ann": "usr_ben"},
        last_seq=11,
    )
    world.index()
    assert world.postings("user:usr_ann") == {}
    assert len(world.postings("user:usr_ben")) == 11
    assert {passage.scope for passage in world.passages()} == {"user:usr_ben"}
    assert {passage.recall_author for passage in world.passages()} == {"usr_ben"}
    assert chat.formerly


def test_discarded_chat_leaves_the_index(world: Indexed) -> None:
    world.said("Room 4711")
    world.index()
    world.table.write(
        Update(Chat.key_of(TENANT, "chat_1"), set={"discarded_at": "2026-02-18T13:00:00.000Z"})
    )
    world.index()
    assert world.passages() == []
    assert world.postings() == {}


def test_chat_that_does_not_exist_is_passed_over(world: Indexed) -> None:
    world.index(chat_id="chat_none")


def test_word_of_too_many_messages_becomes_common(world: Indexed) -> None:
    world.said(*(f"Kwaku {seq}" for seq in range(1, 71)))
    world.index()
    key = Posting.key_of(TENANT, "agt_a", None, "kwaku")
    item = world.table.get(key)
    assert item is not None
    posting = Posting.from_item(item)
    assert posting.common
    assert posting.refs == ()
    world.said("Kwaku 71")
    world.index(71, 71)
    assert world.table.get(key) == item


def test_common_word_starts_over_when_a_message_leaves(world: Indexed) -> None:
    world.said(*(f"Kwaku {seq}" for seq in range(1, 71)))
    world.index()
    world.change(5, kind="erased", text="")
    world.index(5, 5)
    assert "kwaku" not in world.postings()
    world.said("Kwaku 71")
    world.index(71, 71)
    assert world.postings()["kwaku"] == [71]


def test_word_of_a_private_group_keeps_the_newest_messages(world: Indexed) -> None:
    """A mark would tell people who joined later that the word was common before."""
    world.chat(ANN, BEN, COACH, kind="group", visibility="private")
    world.said(*(f"Kwaku {seq}" for seq in range(1, 71)))
    world.index()
    assert world.postings("chat:chat_1")["kwaku"] == list(range(70, 6, -1))


def test_messages_with_more_words_than_a_transaction_holds_are_indexed(world: Indexed) -> None:
    long = [" ".join(f"{seq}x{word}" for word in range(600)) for seq in range(1, 8)]
    world.said(*long)
    world.index()
    assert len(world.postings()) == 7 * 24
    for seq in range(1, 8):
        world.change(seq, kind="erased", text="")
    world.index()
    assert world.postings() == {}
    assert world.passages() == []


def test_range_that_takes_too_long_continues_in_another_job(world: Indexed) -> None:
    world.said(*(f"Room {4000 + seq}" for seq in range(1, 31)))
    job = RecallJob(tenant=TENANT, chat_id="chat_1")
    world.app.recall_worker.take(job, deadline=world.clock.now())
    [rest] = world.queues.take(RecallJob)
    assert rest == job
    assert world.passages() == []


def test_job_whose_rest_cannot_be_sent_is_repeated(world: Indexed) -> None:
    world.said("Room 4711")

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("down")

    world.queues.send = refuse  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        world.app.recall_worker.take(
            RecallJob(tenant=TENANT, chat_id="chat_1"), deadline=world.clock.now()
        )


def test_indexing_uses_stored_embeddings_of_unchanged_messages(world: Indexed) -> None:
    embedded: list[str] = []
    real = world.app.ports.embeddings

    class Counting:
        name, dimensions = real.name, real.dimensions

        def embed(self, texts: list[str]) -> object:
            embedded.extend(texts)
            return real.embed(texts)

    counting = Indexed(overrides={"embeddings": Counting()})
    counting.agent()
    counting.chat(ANN, COACH)
    counting.said("Room 4711")
    counting.index()
    counting.said("Room 4712")
    counting.index()
    assert embedded == ["Room 4711", "Room 4712"]


def test_change_of_the_model_embeds_messages_again(world: Indexed) -> None:
    world.said("Room 4711")
    world.index()
    [passage] = world.passages()
    old = passage.model_copy(update={"recall_model": "old", "vector": (1.0, *[0.0] * 255)})
    world.table.write(Put(old.key, old.to_item()))
    world.index()
    [again] = world.passages()
    assert again.recall_model == world.app.ports.embeddings.name
    assert again.vector == passage.vector
