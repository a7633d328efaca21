"""Stories of meetings and outreach: each flow that is permitted, and those that checks forbid."""

from tests.attacks.cast import ALICE, ALICES, BOB, CAROL, COACH, HALL, OPENED, PAIR, PHONES, TEAM
from tests.attacks.errands import Reach, Reply
from tests.attacks.known import does
from tests.attacks.steps import Answer, Join, Open, Outage, Pass, Say, Story, Text

FIND = Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, tactic=does("find_time"))
LOOKS = Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, tactic=does("look", "recall", speaks=True))

ERRANDS: dict[str, Story] = {
    "time_that_suits_all": (
        FIND,
        Reply(who=ALICE.id),
        Reply(who=BOB.id, word="secret", sms=True),
        LOOKS,
        Answer(who=ALICE.id),
        Answer(who=BOB.id, sms=True),
        LOOKS,
    ),
    "times_unclear_late_and_again": (
        FIND,
        Reply(who=BOB.id, unclear=True, sms=True),
        Reply(who=BOB.id, word="secret", sms=True),
        Reply(who=BOB.id, sms=True),
        LOOKS,
        Pass(minutes=1_500),
        Reply(who=ALICE.id),
        LOOKS,
    ),
    "times_read_again_after_an_outage": (
        FIND,
        Say(who=ALICE.id, chat=ALICES.id, word="secret"),
        Reply(who=ALICE.id),
        Outage(minutes=90),
        Reply(who=BOB.id, sms=True),
        Pass(minutes=120),
        Answer(who=ALICE.id),
        LOOKS,
    ),
    "topic_after_someone_joined": (
        Say(who=BOB.id, chat=PAIR.id, word="secret"),
        Open(who=ALICE.id, whom=BOB.id, visibility="private"),
        Say(
            who=ALICE.id,
            chat=OPENED,
            to=COACH.id,
            tactic=does(("read", PAIR.id), "find_time"),
        ),
        Join(by=ALICE.id, chat=OPENED, who=CAROL.id),
        Reply(who=ALICE.id),
        Reply(who=BOB.id, sms=True),
        Answer(who=ALICE.id),
        Answer(who=BOB.id, sms=True),
    ),
    "outreach_with_the_secret": (
        Reach(
            people=(BOB.id,),
            word="secret",
            tactic=does(("send", TEAM.id), ("send", HALL.id), "core", speaks=True),
        ),
        Text(phone=PHONES[BOB.id], tactic=does(("send", HALL.id), "say")),
        Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="guess", tactic=does("look", "recall")),
    ),
    "answer_to_outreach": (
        Reach(people=(BOB.id, CAROL.id), written=True),
        Text(
            phone=PHONES[BOB.id],
            word="secret",
            tactic=does(("send", HALL.id), "errand", "find_time", "journal"),
        ),
        Text(phone=PHONES[CAROL.id], word="guess", tactic=does("look", "recall", speaks=True)),
        Say(who=ALICE.id, chat=ALICES.id, tactic=does("look", "recall", speaks=True)),
    ),
}
