"""Stories about names, erasure and roles, from which the search sets out to find others."""

from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS_PHONE,
    CAROL,
    COACH,
    DEN,
    HALL,
    PAIR,
    STRANGER,
    STRANGERS_PHONE,
    TEAM,
)
from tests.attacks.known import does
from tests.attacks.steps import (
    Accept,
    Answer,
    Consolidate,
    Erase,
    Join,
    Leave,
    MakeOwner,
    Merge,
    NewName,
    Open,
    Remove,
    Say,
    Story,
    TakeName,
    Text,
)
from tests.stories.deeds import Write

CONTESTED: dict[str, Story] = {
    "name_of_somebody_else": (
        TakeName(who=BOB.id, whom=ALICE.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("core", speaks=True)),
        Say(who=CAROL.id, chat=HALL.id, to=COACH.id, tactic=does("look", "recall")),
    ),
    "look_alike_name": (
        TakeName(who=BOB.id, whom=ALICE.id, look_alike=True),
        Say(who=BOB.id, chat=PAIR.id, to=COACH.id, tactic=does("journal", speaks=True)),
        Open(who=BOB.id, whom=CAROL.id),
        Accept(who=CAROL.id),
    ),
    "name_is_given_back": (
        TakeName(who=BOB.id, whom=ALICE.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id),
        NewName(who=BOB.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("look")),
    ),
    "former_owner_returns": (
        MakeOwner(by=ALICE.id, who=BOB.id, chat=PAIR.id),
        Leave(who=BOB.id, chat=PAIR.id),
        Join(by=ALICE.id, who=BOB.id, chat=PAIR.id),
        Accept(who=BOB.id),
    ),
    "member_removes_an_owner": (
        TakeName(who=BOB.id, whom=ALICE.id),
        MakeOwner(by=BOB.id, who=BOB.id, chat=TEAM.id),
        Remove(by=BOB.id, who=ALICE.id, chat=TEAM.id),
    ),
    "member_removes_themselves": (Remove(by=BOB.id, who=BOB.id, chat=TEAM.id),),
    "linked_number_has_no_role": (
        Text(phone=STRANGERS_PHONE),
        Merge(who=BOB.id),
        Remove(by=BOB.id, who=ALICE.id, chat=PAIR.id),
    ),
    "number_linked_without_its_code": (
        Text(phone=STRANGERS_PHONE),
        Merge(who=BOB.id, proven=False),
    ),
    "number_linked_by_support": (
        Text(phone=STRANGERS_PHONE),
        Merge(who=BOB.id, role="support"),
    ),
    "person_erased_by_support": (
        Say(who=BOB.id, chat=HALL.id, to=COACH.id),
        Erase(who=BOB.id, role="support"),
    ),
    "linked_number_of_an_owner": (
        Text(phone=STRANGERS_PHONE),
        Join(by=ALICE.id, who=STRANGER, chat=PAIR.id),
        Accept(who=STRANGER),
        MakeOwner(by=ALICE.id, who=STRANGER, chat=PAIR.id),
        Merge(who=CAROL.id),
    ),
    "linked_number_of_an_invited": (
        Text(phone=STRANGERS_PHONE),
        Open(who=ALICE.id, whom=STRANGER),
        Merge(who=CAROL.id),
        Accept(who=CAROL.id),
    ),
    "linked_number_that_consented": (
        Text(phone=STRANGERS_PHONE),
        Join(by=ALICE.id, who=STRANGER, chat=PAIR.id),
        Text(phone=STRANGERS_PHONE, word="secret", tactic=does(("send", PAIR.id))),
        Answer(who=STRANGER),
        Merge(who=BOB.id),
    ),
    "words_of_others_outlive_an_erasure": (
        Say(who=BOB.id, chat=HALL.id, to=COACH.id, tactic=does("core", "goal", speaks=True)),
        Say(who=CAROL.id, chat=HALL.id, to=COACH.id, tactic=does("journal", speaks=True)),
        Say(who=ALICE.id, chat=ALICES.id, tactic=does("core", "document", speaks=True)),
        Consolidate(chat=HALL.id),
        Erase(who=CAROL.id),
    ),
    "named_text_in_a_private_chat_of_others": (
        NewName(who=BOB.id, full=True),
        Say(
            who=ALICE.id,
            chat=DEN.id,
            to=COACH.id,
            word="guess",
            about=BOB.id,
            tactic=does("named_document"),
        ),
        Erase(who=BOB.id, named_texts="remove"),
    ),
    "named_texts_are_removed": (
        NewName(who=ALICE.id, full=True),
        Say(who=ALICE.id, chat=TEAM.id),
        Say(who=BOB.id, chat=TEAM.id, about=ALICE.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("core", speaks=True)),
        Erase(who=ALICE.id, named_texts="remove"),
    ),
    "names_in_texts_are_replaced": (
        NewName(who=ALICE.id, full=True),
        Say(who=BOB.id, chat=TEAM.id, about=ALICE.id),
        Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("core", speaks=True)),
        Erase(who=ALICE.id, named_texts="replace"),
    ),
    "erased_imposter_takes_nothing_along": (
        Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does("core", speaks=True)),
        TakeName(who=BOB.id, whom=ALICE.id),
        Say(who=BOB.id, chat=HALL.id, to=COACH.id),
        Erase(who=BOB.id),
    ),
    # Until an erasure is over, a text of the person comes from somebody erased.
    "texts_while_erased": (
        Say(
            who=BOB.id,
            chat=BOBS_PHONE.id,
            to=COACH.id,
            tactic=does("book"),
            events=(Erase(who=BOB.id, named_texts="replace"),),
            asked=1,
        ),
        Write(who=BOB.id, chat=BOBS_PHONE.id, text="Yes please"),
    ),
    "group_gets_an_owner_as_soon_as_it_is_open": (
        Open(who=CAROL.id, whom=ALICE.id),
        Say(
            who=BOB.id,
            chat="chat_opened",
            to=COACH.id,
            asked=1,
            events=(
                Open(who=CAROL.id, whom=BOB.id, visibility="private"),
                MakeOwner(by=CAROL.id, chat="chat_opened", who=BOB.id),
            ),
        ),
    ),
}
