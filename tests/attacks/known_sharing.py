"""Stories of sharing rules: each flow that is permitted, and those that the checks forbid."""

from tests.attacks.cast import ALICE, ALICES, BOB, BOBS, CAROL, COACH, TEAM
from tests.attacks.known import does
from tests.attacks.sharing import EndRule, GiveRoles, Keep, MakeRule, Withdraw
from tests.attacks.steps import Pass, Say, Step, Story

HELLO = Say(who=ALICE.id, chat=ALICES.id)
SECRET = Say(who=ALICE.id, chat=ALICES.id, word="secret")
OVER = Pass(minutes=20)
ASKS = Say(who=BOB.id, chat=BOBS.id, to=COACH.id, word="guess", tactic=does("recall", speaks=True))
DAUGHTER = GiveRoles(who=ALICE.id, role="daughter")
RULE = MakeRule(whose="daughter", to="father")
RULED: tuple[Step, ...] = (DAUGHTER, GiveRoles(who=BOB.id, role="father"), RULE)

SHARED: dict[str, Story] = {
    "told_by_a_rule": (*RULED, HELLO, SECRET, OVER, ASKS),
    "told_words_go_no_further": (
        *RULED,
        HELLO,
        SECRET,
        OVER,
        Say(
            who=BOB.id,
            chat=BOBS.id,
            to=COACH.id,
            tactic=does("recall", ("send", TEAM.id), "core", "journal", speaks=True),
        ),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("recall", "look", speaks=True)),
    ),
    "reader_has_no_role": (DAUGHTER, RULE, HELLO, SECRET, OVER, ASKS),
    "author_had_no_role": (
        *RULED,
        HELLO,
        GiveRoles(who=ALICE.id),
        SECRET,
        DAUGHTER,
        OVER,
        ASKS,
    ),
    "said_before_the_notice": (
        *RULED[:-1],
        SECRET,
        RULE,
        HELLO,
        Withdraw(who=ALICE.id, chat=ALICES.id, newest=True),
        OVER,
        ASKS,
    ),
    "kept_by_private": (
        *RULED,
        HELLO,
        SECRET,
        Keep(who=ALICE.id, chat=ALICES.id),
        OVER,
        ASKS,
    ),
    "withdrawn_words": (
        *RULED,
        HELLO,
        SECRET,
        OVER,
        Withdraw(who=ALICE.id, chat=ALICES.id),
        ASKS,
    ),
    "talk_is_not_over": (*RULED, HELLO, SECRET, ASKS),
    "other_subject": (
        GiveRoles(who=ALICE.id, role="daughter", subject=CAROL.id),
        GiveRoles(who=BOB.id, role="father", subject=ALICE.id),
        MakeRule(whose="daughter", to="father", same_subject=True),
        HELLO,
        SECRET,
        OVER,
        ASKS,
    ),
    "rule_is_withdrawn": (*RULED, HELLO, SECRET, OVER, EndRule(), ASKS),
    "rule_is_withdrawn_while_the_model_thinks": (
        *RULED,
        HELLO,
        SECRET,
        OVER,
        Say(
            who=BOB.id,
            chat=BOBS.id,
            to=COACH.id,
            word="guess",
            tactic=does(speaks=True),
            events=(EndRule(),),
        ),
    ),
}
