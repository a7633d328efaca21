"""Stories of sharing rules: each flow that is permitted, and those that the checks forbid."""

from dataclasses import replace

from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS,
    BOBS_PHONE,
    CAROL,
    CAROLS,
    CAROLS_PHONE,
    COACH,
    HELPER,
    STRANGER,
    STRANGERS_PHONE,
    TEAM,
)
from tests.attacks.known import does
from tests.attacks.sharing import (
    EndRule,
    GiveRoles,
    Keep,
    Linger,
    MakeRule,
    Refuse,
    ShortenRule,
    Withdraw,
)
from tests.attacks.steps import (
    Consolidate,
    Discard,
    Erase,
    Merge,
    Pass,
    Say,
    Step,
    Story,
    Text,
)

HELLO = Say(who=ALICE.id, chat=ALICES.id)
SECRET = Say(who=ALICE.id, chat=ALICES.id, word="secret")
OVER = Pass(minutes=20)
ASKS = Say(who=BOB.id, chat=BOBS.id, to=COACH.id, word="guess", tactic=does("recall", speaks=True))
DAUGHTER = GiveRoles(who=ALICE.id, role="daughter")
RULE = MakeRule(whose="daughter", to="father")
RULED: tuple[Step, ...] = (DAUGHTER, GiveRoles(who=BOB.id, role="father"), RULE)
TOLD: Story = (*RULED, HELLO, SECRET, OVER, ASKS)
STRANGERS_RULES: tuple[Step, ...] = (
    Text(phone=STRANGERS_PHONE),
    GiveRoles(who=STRANGER, role="daughter"),
    *RULED[1:],
)
SPEAKS = replace(ASKS, tactic=does(speaks=True))
MEANWHILE: dict[str, Step] = {
    "rule_is_withdrawn": replace(SPEAKS, events=(EndRule(),)),
    "reader_loses_the_role": replace(SPEAKS, events=(GiveRoles(who=BOB.id),)),
    "author_is_erased": replace(SPEAKS, events=(Erase(who=ALICE.id),)),
    "chat_is_discarded": replace(SPEAKS, events=(Discard(who=ALICE.id, chat=ALICES.id),)),
    "rule_is_shortened": replace(SPEAKS, events=(ShortenRule(minutes=1), Linger(minutes=2))),
    "reader_turns_it_off": replace(SPEAKS, events=(Refuse(who=BOB.id),)),
    "words_are_withdrawn": replace(SPEAKS, events=(Withdraw(who=ALICE.id, chat=ALICES.id),)),
}
KEPT = ("core", "journal", "goal", "document", "thread", "named_plan")
SAVES = replace(ASKS, tactic=does("recall", "core"))
LATER = replace(ASKS, tactic=does(speaks=True))
SAVING: dict[str, Story] = {
    "rule_is_withdrawn": (replace(SAVES, events=(EndRule(),), asked=1), LATER),
    "rule_is_shortened": (
        replace(SAVES, events=(ShortenRule(minutes=1), Linger(minutes=2)), asked=1),
        LATER,
    ),
}

SHARED: dict[str, Story] = {
    "told_by_a_rule": TOLD,
    "file_is_told_by_a_rule": (*TOLD[:-3], replace(SECRET, shows="document"), *TOLD[-2:]),
    "kept_after_the_answer": (
        *TOLD[:-1],
        replace(ASKS, events=(Keep(who=ALICE.id, chat=ALICES.id, how=""),), asked=2),
    ),
    "told_words_go_no_further": (
        *TOLD[:-1],
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
        MakeRule(whose="daughter", to="tutor"),  # has the words indexed
        HELLO,
        SECRET,
        RULE,
        HELLO,
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
        *TOLD[:-1],
        Withdraw(who=ALICE.id, chat=ALICES.id),
        ASKS,
    ),
    "memory_of_withdrawn_words": (
        *RULED,
        HELLO,
        SECRET,
        HELLO,
        Pass(minutes=60),
        Consolidate(chat=ALICES.id),
        Withdraw(who=ALICE.id, chat=ALICES.id, before=True),
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
    "kept_late": (*TOLD[:-1], Keep(who=ALICE.id, chat=ALICES.id), ASKS),
    "kept_by_a_call": (
        *RULED,
        HELLO,
        SECRET,
        Keep(who=ALICE.id, chat=ALICES.id, how=""),
        OVER,
        ASKS,
    ),
    "reader_has_two_subjects": (
        GiveRoles(who=ALICE.id, role="daughter", subject=CAROL.id),
        GiveRoles(
            who=BOB.id, role="father", subject=CAROL.id, second="father", second_subject=ALICE.id
        ),
        MakeRule(whose="daughter", to="father", same_subject=True),
        HELLO,
        SECRET,
        OVER,
        ASKS,
    ),
    "account_of_the_author_is_merged": (
        *STRANGERS_RULES,
        Text(phone=STRANGERS_PHONE),
        Text(phone=STRANGERS_PHONE, word="secret"),
        OVER,
        Merge(who=CAROL.id),
        ASKS,
    ),
    "account_of_the_reader_is_merged": (
        *STRANGERS_RULES[:1],
        *RULED[:1],
        GiveRoles(who=STRANGER, role="father"),
        RULE,
        HELLO,
        SECRET,
        OVER,
        Merge(who=CAROL.id),
        replace(ASKS, who=CAROL.id, chat=CAROLS_PHONE.id),
    ),
    "other_agent_was_not_told": (
        DAUGHTER,
        GiveRoles(who=CAROL.id, role="father"),
        RULE,
        HELLO,
        SECRET,
        OVER,
        replace(ASKS, who=CAROL.id, chat=CAROLS.id, to=HELPER.id),
    ),
    "rule_has_reached_its_end": (
        *RULED[:-1],
        MakeRule(whose="daughter", to="father", lasts=15),
        HELLO,
        SECRET,
        OVER,
        ASKS,
    ),
    "saved_words_stay_where_they_were_told": (
        *TOLD[:-1],
        replace(ASKS, tactic=does("recall", *KEPT)),
        EndRule(),
        replace(ASKS, chat=BOBS_PHONE.id, tactic=does("recall", "look", speaks=True)),
    ),
    "rule_ends_while_the_model_thinks": (
        *RULED[:-1],
        MakeRule(whose="daughter", to="father", lasts=30),
        HELLO,
        SECRET,
        OVER,
        replace(SPEAKS, events=(Linger(minutes=15),)),
    ),
    "answer_stays_where_it_was_told": (
        *TOLD,
        EndRule(),
        replace(ASKS, chat=BOBS_PHONE.id, tactic=does("recall", "read", "look", speaks=True)),
    ),
    "rule_is_withdrawn": (*TOLD[:-1], EndRule(), ASKS),
    "reader_turned_it_off": (*TOLD[:-1], Refuse(who=BOB.id), ASKS),
    "chat_is_discarded": (*TOLD[:-1], Discard(who=ALICE.id, chat=ALICES.id), ASKS),
    **{f"{name}_while_the_model_thinks": (*TOLD[:-1], story) for name, story in MEANWHILE.items()},
    **{f"{name}_before_tools_save": (*TOLD[:-1], *story) for name, story in SAVING.items()},
}
