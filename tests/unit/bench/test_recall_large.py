"""The large set of the bench has no sentence twice, and its index is that of the worker."""

from bench.recall.evidence import BEGIN, Conversation, Stand
from bench.recall.large_set import EACH, KINDS, large_set
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.models.common.storage import Item, Key

CHATS, MESSAGES = 100, 6_000


def test_large_set_asks_a_hundred_questions_of_each_kind_and_repeats_no_sentence() -> None:
    known = large_set(MESSAGES, CHATS)
    assert len(set(known.whole.texts)) == MESSAGES
    kinds = [question.kind for question in known.questions]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(KINDS, EACH)
    for question in known.questions:
        assert known.chats[question.fact.chat].texts[question.fact.position] == question.fact.text


def test_loaded_conversation_has_the_items_that_the_worker_writes() -> None:
    texts = (
        "I met Ms Okonkwo in Lagos.",
        "The code is 4711.",
        "Okonkwo knows the code 4711. " * 30,
    )
    times = (BEGIN, BEGIN, BEGIN)
    known = Conversation("chat_a", texts, ("Ann", "Ben", "Ann"), times, (0, 0, 0), ())
    loaded, worked = (Stand(StaticEmbeddings(), Tokens()) for _ in range(2))
    loaded.load([known])
    worked.hold(known)
    assert _without_vectors(loaded) == _without_vectors(worked)
    assert loaded.recalled(known, "Who is Okonkwo?", 200) == worked.recalled(
        known, "Who is Okonkwo?", 200
    )


def _without_vectors(stand: Stand) -> dict[Key, Item]:
    """Return the items without vectors, which the fast way writes into the vector index alone."""
    left_out = {"vector"}
    return {
        key: {name: value for name, value in item.items() if name not in left_out}
        for key, item in stand.table.all_items().items()
    }
