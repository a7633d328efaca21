"""The fit orders candidates by weights, and leaves one conversation out."""

from bench.recall.fit import KINDS, Asked, Candidate, left_out, shown_share

HEADING, TOKENS = 10, 400


def candidate(value: float, *answers: int) -> Candidate:
    return Candidate((value,), ("chat_1", 0), TOKENS, frozenset(answers))


def test_share_is_that_of_the_best_passages_within_the_budgets() -> None:
    asked = Asked("long_0", 2, (candidate(1, 0), candidate(2), candidate(3, 1)))
    # The budget of 500 tokens has room for one passage, 1,000 for two, 4,000 for all.
    assert shown_share(asked, (1.0,), HEADING) == (0.5 + 0.5 + 1) / 3
    assert shown_share(asked, (-1.0,), HEADING) == (0.5 + 0.5 + 1) / 3
    assert shown_share(Asked("long_0", 1, asked.candidates[:1]), (1.0,), HEADING) == 1


def test_weights_for_a_conversation_are_chosen_on_the_others() -> None:
    names = [f"{kind}_{number}" for kind in KINDS for number in range(2)]
    own = dict.fromkeys(names, 0.0) | {names[0]: 1.0}
    others = dict.fromkeys(names, 0.1) | {names[0]: 0.0}
    assert left_out({(1.0,): own, (2.0,): others})[names[0]] == 0.0
