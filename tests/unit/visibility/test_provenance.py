"""Provenance: spans widen and are never dropped, people become many, and rights fail closed."""

from hypothesis import given
from hypothesis import strategies as st

from skein.models.visibility.provenance import (
    MANY,
    MAX_AUTHORS,
    MAX_SPANS,
    NO_AUTHORS,
    NOTHING,
    Authors,
    MadeFrom,
    few_of_strangers,
    made_keys,
)

NUMBERS = st.integers(min_value=1, max_value=300)
CHATS = st.sampled_from(["chat_a", "chat_b", "chat_c"])
PERSON_IDS = st.integers(min_value=1, max_value=40).map("usr_{}".format)


def made(chat_id: str, one: int, other: int, *people: str) -> MadeFrom:
    return MadeFrom.messages(chat_id, min(one, other), max(one, other), people)


MATERIALS = st.lists(st.builds(made, CHATS, NUMBERS, NUMBERS, PERSON_IDS), max_size=60)


@given(MATERIALS)
def test_no_message_and_no_person_is_dropped_when_material_is_joined(parts: list[MadeFrom]) -> None:
    whole = NOTHING.joined(*parts)
    assert len(whole.spans) <= MAX_SPANS
    for part in parts:
        assert part.writers.may_include(whole.writers.ids) or whole.writers.many
        [span] = part.spans
        assert any(
            each.chat_id == span.chat_id
            and each.first_seq <= span.first_seq
            and span.last_seq <= each.last_seq
            for each in whole.spans
        )


@given(MATERIALS, MATERIALS)
def test_joined_material_does_not_depend_on_the_order(
    some: list[MadeFrom], others: list[MadeFrom]
) -> None:
    whole = NOTHING.joined(*some, *others)
    again = NOTHING.joined(*others, *some)
    assert (whole.chats, whole.writers) == (again.chats, again.writers)
    assert whole.joined(whole) == whole


def test_spans_that_touch_are_one_and_others_stay_apart() -> None:
    whole = made("chat_a", 1, 4).joined(made("chat_a", 5, 6), made("chat_a", 9, 9))
    assert [(span.first_seq, span.last_seq) for span in whole.spans] == [(1, 6), (9, 9)]
    hull = whole.span_in("chat_a")
    assert hull is not None
    assert (hull.first_seq, hull.last_seq) == (1, 9)
    assert whole.span_in("chat_b") is None


def test_more_spans_than_fit_widen_to_one_for_each_chat() -> None:
    parts = [made("chat_a", 2 * number, 2 * number) for number in range(1, MAX_SPANS + 2)]
    whole = NOTHING.joined(*parts, made("chat_b", 7, 7))
    assert [(span.chat_id, span.first_seq, span.last_seq) for span in whole.spans] == [
        ("chat_a", 2, 2 * (MAX_SPANS + 1)),
        ("chat_b", 7, 7),
    ]


def test_authors_beyond_the_maximum_become_many_and_may_include_anyone() -> None:
    known = Authors.of(f"usr_{number:02}" for number in range(MAX_AUTHORS))
    assert not known.many
    assert known.joined(known) == known
    assert known.joined(Authors.of(["usr_new"])) == MANY
    assert MANY.joined(known).may_include(["usr_never_seen"])
    assert not known.may_include(["usr_never_seen"])


def test_authors_in_digests_hide_ids_and_stay_comparable() -> None:
    people = Authors.in_digests(["usr_ann", None, "usr_ben"])
    assert len(people.ids) == 2
    assert not any("usr" in each for each in people.ids)
    assert people == Authors.in_digests(["usr_ben", "usr_ann", "usr_ann"])
    assert Authors.in_digests([None]) == NO_AUTHORS


def test_reaches_only_messages_from_a_number_on() -> None:
    some = made("chat_a", 3, 7, "usr_ann")
    assert [some.reaches("chat_a", seq) for seq in (1, 7, 8, None)] == [True, True, False, False]
    assert not some.reaches("chat_b", 1)


def test_content_by_agents_alone_may_be_by_anyone() -> None:
    assert made("chat_a", 1, 1, "usr_ann").wrote(["usr_ann"])
    assert not made("chat_a", 1, 1, "usr_ann").wrote(["usr_ben"])
    assert MadeFrom.messages("chat_a", 1, 1, [None]).wrote(["usr_ben"])


def test_item_of_one_chat_is_indexed_by_chat_and_of_several_by_agent() -> None:
    keys = [made_keys("t", "agt_1", chats, "2026") for chats in (["c"], ["c", "d"], [])]
    assert keys == [
        {"gsi1pk": "t#MADE#c", "gsi1sk": "2026"},
        {"gsi1pk": "t#MIXED#agt_1", "gsi1sk": "2026"},
        {},
    ]


def test_few_of_strangers_limits_items_per_non_member() -> None:
    def few(*writers: Authors, members: set[str] | None) -> list[int]:
        return few_of_strangers(range(len(writers)), lambda n: writers[n], members, most=1)

    ann, ben, both = Authors.of(["ann"]), Authors.of(["ben"]), Authors.of(["ann", "ben"])
    assert few(ann, ann, ben, both, members=None) == [0, 1, 2, 3]
    assert few(ann, ann, ben, both, members={"ann"}) == [0, 1, 2]
    assert few(both, ben, ann, NO_AUTHORS, members=set()) == [0, 3]
    assert few(MANY, ann, MANY, NO_AUTHORS, members={"ann"}) == [0, 1, 3]
