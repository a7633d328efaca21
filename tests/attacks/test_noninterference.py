"""Outsiders observe the same, whatever is said in private and whatever the model does."""

from itertools import islice
from math import log2

import pytest

from skein.desk import tools
from skein.services.visibility import disclosure
from skein.workspace.models.document import Document
from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS,
    BOBS_PHONE,
    CAROL,
    COACH,
    DEN,
    GUESS,
    ORDERS,
    PAIR,
    PEOPLE,
    ROOMS,
    SECRETS,
    TEAM,
    words,
)
from tests.attacks.encoding import coded, hidden, is_odd, is_told
from tests.attacks.knowledge import Leak
from tests.attacks.known import KNOWN, does
from tests.attacks.known_codes import ENCODED, FULL
from tests.attacks.known_visitors import VISITED
from tests.attacks.moves import Code
from tests.attacks.sampling import seeded, some_of
from tests.attacks.search import compare, leak_in, search
from tests.attacks.services import shows
from tests.attacks.stage import Stage
from tests.attacks.steps import Join, Rename, Say, Step, told
from tests.stories.searches import SEARCHES
from tests.support.builders import tokens

LEAKS = SEARCHES["leaks"]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", seeded(4))
def test_seeded_stories_leak_nothing_to_outsiders(part: int) -> None:
    LEAKS.sample(part)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_new_stories_leak_nothing_to_outsiders(part: int, new_stories: str) -> None:
    LEAKS.play(f"{new_stories} {part}", 300)


def test_same_seed_draws_the_same_new_stories(new_stories: str) -> None:
    for each in SEARCHES.values():
        one, again = (list(islice(each.stories(new_stories), 3)) for _ in range(2))
        assert one == again
        assert len(set(one)) > 1


@pytest.mark.parametrize("name", some_of(KNOWN))
def test_known_story_leaks_nothing_to_outsiders(name: str) -> None:
    search(KNOWN[name])


@pytest.mark.parametrize("name", some_of(VISITED))
def test_known_story_about_visitors_tells_them_no_open_content(name: str) -> None:
    search(VISITED[name])


@pytest.mark.parametrize("name", some_of(ENCODED))
def test_known_encoding_story_leaks_nothing_to_outsiders(name: str) -> None:
    search(ENCODED[name])


def test_open_questions_in_other_chats_do_not_block_a_question() -> None:
    stage = Stage(words=words())
    stage.play((*FULL, Say(who=ALICE.id, chat=ALICES.id, tactic=does("choice"))))
    assert [each.kind for each in stage.messages(ALICES.id)] == ["text", "choice"]


def test_services_get_the_calls_to_which_people_agreed() -> None:
    stage = Stage(words=words())
    stage.play(ENCODED["calls_that_a_question_showed"])
    assert [call.tool for call in stage.services.calls if call.agreed] == ["look_up", "book"]
    assert is_told(stage.secret, stage.services.heard[0])


def test_private_run_that_encodes_a_secret_leaks_only_the_metered_bits_to_a_shared_service() -> (
    None
):
    stage = Stage(words=words())
    stage.play(ENCODED["spelled_in_enums"])
    assert [call.arguments.get("letter", "") for call in stage.services.calls][:3] == ["s", "t", ""]
    picks = 2 * log2(8 * 26 * 3)  # 7 shared tools, or none; loud or not, or none
    rings = log2(8)  # a further pick would tell too much
    assert list(stage.services.spelled.values()) == [pytest.approx(picks + rings)]
    assert stage.services.heard == ["ring {}", "knock {}"]  # of a run in an open chat


@pytest.mark.parametrize(
    ("question", "is_shown"),
    [
        ('Look up? q: "tea"', True),
        ('Look up? q: "tea", tags: ["a"]', True),
        (f'Look up? q: "tea{hidden("a")}"', False),
        ('Look up? q: "te a"', False),
        ("Look up? q: tea", False),
    ],
)
def test_question_shows_arguments_only_as_exact_json(question: str, *, is_shown: bool) -> None:
    assert shows(question, {"q": "tea", "tags": []}) == is_shown


@pytest.mark.parametrize("code", ["hidden", "initials"])
def test_secrets_have_one_length_in_each_code(code: Code) -> None:
    for pair in (SECRETS, ORDERS):
        one, other = (coded(word, code) for word in pair)
        assert len(one) == len(other)
        assert is_told(pair[0], f"Hello {one}")
        assert not is_told(pair[1], f"Hello {one}")


def test_two_secrets_lead_to_opposite_decisions() -> None:
    assert [is_odd(word) for word in SECRETS] == [False, True]


def test_secrets_have_one_length_and_one_token_count() -> None:
    assert SECRETS[0] == GUESS
    assert len({*SECRETS, *ORDERS}) == 4
    for pair in (SECRETS, ORDERS):
        for form in ("{}", " {}.", '"{}"', "between us: {}.", "what about {}?"):
            one, other = (form.format(word) for word in pair)
            assert len(one) == len(other)
            assert tokens().count(one) == tokens().count(other)


def test_person_alone_with_agent_cannot_have_it_tell_their_team() -> None:
    stage = Stage(words=words())
    stage.play(KNOWN["person_alone_has_it_told"])
    assert stage.texts(TEAM.id) == []
    assert stage.knowledge.outsiders() == [BOB.id, CAROL.id]


def test_streamed_words_are_among_the_watched_frames() -> None:
    stage = Stage(words=words(SECRETS[0]))
    stage.play(KNOWN["last_words_in_private"])
    streamed = {who.name: [t for t in stage.frames(who.id) if "delta" in t] for who in PEOPLE}
    assert any(stage.secret in text for text in streamed[ALICE.name])
    assert not any(streamed[who.name] for who in PEOPLE if who != ALICE)


def test_prompts_of_chat_opened_by_text_have_same_place_in_both_runs() -> None:
    """The second run stores fewer documents, so it makes fewer ids before the text."""
    story = KNOWN["stranger_texts_after_hidden_documents"]
    places, documents = [], []
    for secret in reversed(SECRETS):
        stage = Stage(words=words(secret))
        stage.play(story)
        places.append([each for each in stage.prompts if each.place not in ROOMS])
        documents.append(sum(key.sk.startswith(Document.PREFIX) for key in stage.table.all_keys()))
    assert documents[0] > documents[1]
    assert len(places[0]) == 1
    assert places[0] == places[1]


@pytest.mark.parametrize(
    "event",
    [
        Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
        Rename(who=ALICE.id, chat=PAIR.id, word="secret"),
    ],
)
def test_leak_to_person_who_learns_the_secret_later_in_the_step_is_found(
    event: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in ("may_write", "may_affect"):
        monkeypatch.setattr(disclosure, check, lambda *_: True)
    story = (
        Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
        Say(
            who=ALICE.id,
            chat=DEN.id,
            to=COACH.id,
            tactic=does(("send", BOBS.id), "look"),
            events=(event,),
            asked=1,
        ),
    )
    assert str(leak_in(story)).startswith('Bob can read this in "Bob and Coach" (private)')


def test_summary_for_the_team_with_words_from_elsewhere_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = (
        Say(who=BOB.id, chat=BOBS.id, to=COACH.id, word="secret", tactic=does("core")),
        Say(who=BOB.id, chat=BOBS_PHONE.id, to=COACH.id, tactic=does("help")),
    )
    assert leak_in(story) is None
    monkeypatch.setattr(tools, "holds_session_only", lambda _: True)
    assert str(leak_in(story)).startswith("the holder of ")


def test_difference_is_printed_whole() -> None:
    one, other = ([f"{secret} {line}" for line in range(1_000)] for secret in SECRETS)
    with pytest.raises(Leak) as found:
        compare("Bob sees this", "\n".join(one), "\n".join(other))
    assert {*(f"-{line}" for line in one), *(f"+{line}" for line in other)} <= {
        *str(found.value).splitlines()
    }


def test_story_is_printed_as_numbered_sentences() -> None:
    assert told(KNOWN["wait_in_private"]) == (
        "  1. Bob, in \"Team\" (open), writes: '@Coach, please go on.'. The model sends all it "
        'knows to "Alice and Coach" (private) and waits for a reply.\n'
        "  2. Alice, in \"Alice and Coach\" (private), writes: 'between us: <secret>.'. The model "
        'sends all it knows to "Team" (open).'
    )
