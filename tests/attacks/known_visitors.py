"""Stories about visitors, from which the search sets out to find others."""

from collections.abc import Mapping

from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    CAROL,
    CAROLS_PHONE,
    COACH,
    EVE,
    FAY,
    HALL,
    OTHER_VISIT,
    TEAM,
    VISIT,
)
from tests.attacks.known import does
from tests.attacks.moves import Move, Tactic
from tests.attacks.steps import Answer, Erase, Open, Pass, Rename, Report, Say, Story, TakeOver
from tests.attacks.visitors import CONTENTS, Read, Reveal

ASKS = Say(who=EVE.id, chat=VISIT.id, to=COACH.id, word="guess")
LOOKS = Say(
    who=EVE.id,
    chat=VISIT.id,
    to=COACH.id,
    tactic=does("look", "recall", ("read", TEAM.id), ("borrow", TEAM.id), speaks=True),
)

VISITED: Mapping[str, Story] = {
    **{f"visitor_after_{kind}": (Reveal(as_=kind), ASKS, LOOKS, Read()) for kind in CONTENTS},
    **{
        f"visitor_after_{kind}_or_none": (Reveal(as_=kind, whether=True), ASKS, LOOKS)
        for kind in CONTENTS
    },
    "visitor_without_a_list_of_tools": (
        Reveal(as_="memory"),
        Say(who=FAY.id, chat=OTHER_VISIT.id, tactic=does("look", "choice", speaks=True)),
        Answer(who=FAY.id),
    ),
    "member_has_it_sent_to_a_visitor": (
        ASKS,
        Reveal(as_="message"),
        Say(
            who=ALICE.id,
            chat=ALICES.id,
            to=COACH.id,
            tactic=does("recall", ("send", VISIT.id), ("enter", VISIT.id), "say"),
        ),
        Answer(who=ALICE.id),
        LOOKS,
    ),
    "agent_asks_a_visitor_all_it_knows": (
        Reveal(as_="document"),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("choice", "errand")),
        Answer(who=BOB.id),
        Read(),
        Answer(who=EVE.id),
    ),
    "agent_keeps_open_content_for_visitors": (
        Reveal(as_="message"),
        Say(
            who=ALICE.id,
            chat=TEAM.id,
            to=COACH.id,
            tactic=does("core", "shelf", "goal", "thread", "plan"),
        ),
        Pass(minutes=130),
        LOOKS,
    ),
    "visitors_chat_is_consolidated_beside_open_memories": (
        Reveal(as_="memory"),
        ASKS,
        Pass(minutes=600),
        LOOKS,
    ),
    "service_reports_to_a_visitors_chat": (
        Reveal(as_="message"),
        ASKS,
        Report(chat=VISIT.id, tactic=does("look", "say", speaks=True)),
        LOOKS,
    ),
    "plan_of_a_visitors_chat": (
        Reveal(as_="goal"),
        Say(who=EVE.id, chat=VISIT.id, tactic=does("plan", "cron")),
        Pass(minutes=130, tactic=does("look", "say", speaks=True)),
    ),
    "service_keeps_what_it_was_told_for_members": (
        Reveal(as_="plan", whether=True),
        Pass(minutes=130, tactic=does("tell_kept")),
        Say(who=EVE.id, chat=VISIT.id, to=COACH.id, tactic=does("tell_kept")),
    ),
    "visitor_opens_a_group": (
        Reveal(as_="title"),
        Open(who=EVE.id, whom=BOB.id),
        Open(who=BOB.id, whom=EVE.id),
        LOOKS,
    ),
    "team_takes_a_visitors_chat_over": (
        Reveal(as_="memory"),
        ASKS,
        TakeOver(chat=VISIT.id),
        LOOKS,
    ),
    "visitor_after_a_members_name_and_their_erasure": (
        Reveal(as_="name"),
        ASKS,
        Erase(who=BOB.id),
        LOOKS,
    ),
    "member_whose_name_holds_a_word_writes": (
        Reveal(as_="name", whether=True),
        Say(who=BOB.id, chat=HALL.id, to=COACH.id, asked=2),
        Say(who=BOB.id, chat=HALL.id, to=COACH.id, asked=2),
    ),
    "visitor_tells_a_secret": (
        Say(who=EVE.id, chat=VISIT.id, word="secret", tactic=does("core", ("send", TEAM.id))),
        Pass(minutes=130),
        Say(who=FAY.id, chat=OTHER_VISIT.id, tactic=does("look", "recall", speaks=True)),
        Say(
            who=BOB.id,
            chat=TEAM.id,
            to=COACH.id,
            tactic=does("look", "recall", ("read", VISIT.id), speaks=True),
        ),
    ),
    "secret_in_private_and_a_visitor": (
        Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("core", "shelf")),
        Rename(who=ALICE.id, chat=ALICES.id),
        LOOKS,
    ),
    "visitor_after_an_answer_that_only_one_secret_allows": (
        Reveal(as_="plan"),
        Say(
            tactic=Tactic(((Move(kind="notify", code="whether"),),), speaks=False),
            who=CAROL.id,
            chat=CAROLS_PHONE.id,
            to=COACH.id,
            asked=1,
        ),
        Answer(who=CAROL.id, word="secret"),
        Say(who=EVE.id, chat=VISIT.id, to=COACH.id, asked=1),
    ),
}
