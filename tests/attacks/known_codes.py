"""Stories of a model that encodes what it knows, and of places and limits that are full."""

from tests.attacks.cast import ALICE, ALICES, BOB, CAROL, COACH, DEN, HALL, PAIR, TEAM
from tests.attacks.moves import Code, Move, Tactic
from tests.attacks.steps import Answer, Join, Say, Story, TakeOver


def encodes(*moves: tuple[str, Code] | tuple[str, Code, str]) -> Tactic:
    """A tactic with one answer of coded moves."""
    coded = (Move(move[0], move[2] if len(move) > 2 else None, move[1]) for move in moves)
    return Tactic((tuple(coded),))


SECRET = Say(who=ALICE.id, chat=ALICES.id, word="secret")
ASKS = Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("choice", "")))
GUESSES = Say(who=BOB.id, chat=TEAM.id, to=COACH.id, word="guess")
FORGETS = Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("unsay", "")))
FULL = (ASKS, ASKS, ASKS)

ENCODED: dict[str, Story] = {
    # Words that nobody sees go to nobody, and those that are seen go where they were agreed to.
    "hidden_words_in_a_proposal": (
        SECRET,
        Say(who=ALICE.id, chat=ALICES.id, tactic=encodes(("propose", "hidden", PAIR.id))),
        Answer(who=ALICE.id),
    ),
    "initials_in_a_proposal": (
        SECRET,
        Say(who=ALICE.id, chat=ALICES.id, tactic=encodes(("propose", "initials", PAIR.id))),
        Answer(who=ALICE.id),
    ),
    "initials_in_every_tool": (
        SECRET,
        Say(
            who=ALICE.id,
            chat=ALICES.id,
            tactic=encodes(
                *(("send", "initials", TEAM.id), ("goal", "initials"), ("core", "hidden")),
                *(("tell_shared", "hidden"), ("tell_kept", "initials"), ("letters", "")),
            ),
        ),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("look", ""), ("tell_kept", ""))),
    ),
    "spelled_in_enums": (
        SECRET,
        Say(
            who=ALICE.id,
            chat=ALICES.id,
            tactic=encodes(("pick", ""), ("ring", "often"), ("ring", "order")),
        ),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("pick", ""), ("ring", ""))),
    ),
    "whether_it_asks": (
        SECRET,
        Say(
            who=ALICE.id,
            chat=ALICES.id,
            tactic=encodes(("propose", "whether", TEAM.id), ("errand", "whether")),
        ),
        Answer(who=ALICE.id, yes=False),
        Say(who=CAROL.id, chat=HALL.id, to=COACH.id, tactic=encodes(("errand", ""))),
    ),
    "calls_that_a_question_showed": (
        SECRET,
        Say(who=ALICE.id, chat=ALICES.id, tactic=encodes(("look_up", "initials"))),
        Answer(who=ALICE.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("book", ""), ("look_up", ""))),
        Answer(who=BOB.id),
    ),
    # A yes sends what the question shows.
    "question_shows_other_words_than_are_sent": (
        SECRET,
        Say(who=ALICE.id, chat=ALICES.id, tactic=encodes(("look_up", "hidden"))),
        Answer(who=ALICE.id),
    ),
    # A person who joins can read the questions that were asked before, in any code.
    "joins_after_a_question_in_a_code": (
        SECRET,
        Say(
            who=ALICE.id,
            chat=DEN.id,
            to=COACH.id,
            word="guess",
            tactic=Tactic(((Move("read"),), (Move("notify", code="hidden"),))),
        ),
        Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    ),
    "booking_shows_other_words_than_are_sent": (
        Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
        Say(who=ALICE.id, chat=DEN.id, to=COACH.id, tactic=encodes(("book", "hidden"))),
        Answer(who=ALICE.id),
        Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    ),
    # Open questions count for each person in each chat.
    "open_questions_of_another_chat": (
        SECRET,
        Say(who=ALICE.id, chat=ALICES.id, tactic=encodes(("choice", "often"))),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("choice", ""))),
    ),
    "consents_of_another_chat": (
        SECRET,
        Say(
            who=ALICE.id,
            chat=ALICES.id,
            tactic=encodes(
                *(("book", "whether"), ("look_up", "whether"), ("notify", "whether")),
                *(("propose", "whether", TEAM.id), ("propose", "whether", PAIR.id)),
            ),
        ),
        Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=encodes(("book", ""))),
    ),
    # A search of other chats shows nothing of what it found.
    "forget_with_full_places": (SECRET, GUESSES, *FULL, FORGETS),
    "forget_while_the_team_holds_the_chat": (
        SECRET,
        GUESSES,
        TakeOver(chat=ALICES.id, returns=False),
        FORGETS,
    ),
}
