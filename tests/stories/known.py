"""Stories of former defects, each with what must be true when it is over beside the promises."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import NamedTuple

from skein.own_tools.asking import CHANGED, TEAM_ANSWERED
from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS_PHONE,
    CAROL,
    COACH,
    EVE,
    PAIR,
    TEAM,
    VISIT,
)
from tests.attacks.errands import Reach, Reply
from tests.attacks.known_codes import FULL
from tests.attacks.known_sharing import ASKS, HELLO, OVER, RULED, SECRET
from tests.attacks.services import BOOK, LOOK_UP, NOTIFY
from tests.attacks.sharing import Refuse
from tests.attacks.steps import (
    Accept,
    Answer,
    Discard,
    Erase,
    Join,
    Leave,
    ManualTrigger,
    NewName,
    Open,
    OperatorPlan,
    Pass,
    Remove,
    Report,
    Say,
    Step,
    Story,
)
from tests.stories.deeds import (
    CancelOutreach,
    Decide,
    Delete,
    DeskDoes,
    Fault,
    Meanwhile,
    Pause,
    Setting,
    StopRun,
    Try,
    Write,
)
from tests.stories.tasks import task_of
from tests.stories.town import Town

NEARLY_A_DAY = timedelta(hours=23)  # for so long at least, a question is open


class Known(NamedTuple):
    """A story of a former defect.

    Attributes:
        story: The steps.
        holds: Whether it ended well.
    """

    story: Story
    holds: Callable[[Town], bool]


def booked(times: int) -> Callable[[Town], bool]:
    """A table was booked so many times."""
    return lambda town: [call.tool for call in town.services.calls].count(BOOK) == times


def shows(chat: str, words: str) -> Callable[[Town], bool]:
    """The last prompt for a chat has some words."""

    def holds(town: Town) -> bool:
        prompts = [each.request for each in town.shown if each.chat == chat]
        return bool(prompts) and words in str(prompts[-1].messages)

    return holds


def tells(words: str) -> Callable[[Town], bool]:
    """An agent was told some words as the result of a call that a person approved."""
    return lambda town: any(words in said for each in town.shown for said in each.told.values())


def asked(chat: str, words: str) -> Callable[[Town], bool]:
    """A question in a chat has some words."""
    return lambda town: any(m.choice and words in m.text for m in town.messages(chat))


def keeps_all_questions(town: Town) -> bool:
    """A question for a task was asked, and no older one of another chat has ended for it."""
    elsewhere = [m for chat in (TEAM.id, PAIR.id) for m in town.messages(chat)]
    mine = [m for m in elsewhere if m.choice and m.choice.addressee == ALICE.id]
    whole = [m for m in mine if m.choice and m.choice.expires_at - m.created_at >= NEARLY_A_DAY]
    return asked(ALICES.id, task_of(len(FULL) + 1))(town) and len(whole) == len(FULL)


def _writes(task: str, who: str = ALICE.id, chat: str = ALICES.id, other: str = BOB.id) -> Step:
    return Write(who=who, chat=chat, task=task, other=other)


BOOKS, YES = _writes("book"), Answer(who=ALICE.id)
BY_OPERATORS = Setting(tool=BOOK, name="approval", value="operator")
TYPES_YES = Write(who=ALICE.id, chat=ALICES.id, text="Yes please")
TAKES, RETURNS = DeskDoes(chat=ALICES.id), DeskDoes(chat=ALICES.id, does="hand back")
SPEAKS = DeskDoes(chat=ALICES.id, does="say")

REFUSED_WHILE_HELD = (
    Setting(name="approval", value="operator", tool=BOOK),
    Write(who=ALICE.id, chat=PAIR.id, task="book", other=BOB.id),
    DeskDoes(chat=PAIR.id),
    Decide(yes=False),
)
KNOWN: Mapping[str, Known] = {
    "an agreed call and the desk": Known(
        (BOOKS, Meanwhile(events=(TAKES,)), YES, RETURNS), booked(1)
    ),
    "an agreed call and an hour of silence": Known(
        (BOOKS, Meanwhile(events=(TAKES,)), YES, Pass(minutes=130)), booked(1)
    ),
    "an agreed call and a colleague who answers instead": Known(
        (BOOKS, Fault(at=2, runs=True), YES, TAKES, SPEAKS),
        lambda town: booked(0)(town) and tells(TEAM_ANSWERED)(town),
    ),
    "a yes to a colleague who answers it": Known(
        (BOOKS, TAKES, YES, SPEAKS, RETURNS),
        lambda town: booked(0)(town) and tells(TEAM_ANSWERED)(town),
    ),
    "an agreed call and the death of its worker": Known(
        (BOOKS, Fault(at=0, runs=True), YES, Pass(minutes=130)), booked(1)
    ),
    "an agreed call and a service that dies over it": Known(
        (BOOKS, Fault(what="no answer"), YES, Fault(what="gone"), Pass(minutes=130)), booked(1)
    ),
    "a call of a service that dies over its first try": Known(
        (
            Setting(tool=NOTIFY, name="idempotent", value=True),
            _writes("notify", chat=TEAM.id),
            Fault(what="dies"),
            YES,
        ),
        lambda town: [call.tool for call in town.services.calls] == [NOTIFY],
    ),
    "a yes by text from the phone of somebody erased": Known(
        (
            Erase(who=BOB.id),
            Setting(name="approval", value="person", tool=BOOK),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Answer(who=BOB.id, sms=True),
        ),
        booked(1),
    ),
    "a yes by text while the tokens are spent": Known(
        (
            Setting(name="user_tokens_per_day", value=1),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Answer(who=BOB.id, sms=True),
        ),
        booked(1),
    ),
    "a yes by text to a call that only reads while the tokens are spent": Known(
        (
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="look_up", other=ALICE.id),
            BY_OPERATORS,
            Setting(name="user_tokens_per_day", value=1),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Answer(who=BOB.id, sms=True),
        ),
        lambda town: any(call.tool == LOOK_UP for call in town.services.calls),
    ),
    "a yes by text to an erased call while the tokens are spent": Known(
        (
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="look_up", other=ALICE.id),
            Erase(who=ALICE.id),
            BY_OPERATORS,
            Setting(name="user_tokens_per_day", value=1),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Answer(who=BOB.id, sms=True),
        ),
        lambda town: not town.services.calls,
    ),
    "equal calls that wait, and somebody who comes and goes": Known(
        (
            BY_OPERATORS,
            _writes("book", chat=PAIR.id),
            Join(by=ALICE.id, chat=PAIR.id, who=CAROL.id),
            ManualTrigger(who=ALICE.id, chat=PAIR.id),
            Remove(by=ALICE.id, chat=PAIR.id, who=CAROL.id),
            Decide(),
        ),
        booked(2),  # once by each agent
    ),
    "a yes before so many messages that the history starts after it": Known(
        (
            Discard(who=BOB.id, chat=BOBS_PHONE.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Pause(),
            Answer(who=BOB.id),
            Answer(who=BOB.id, sms=True),
            NewName(who=BOB.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="propose", other=ALICE.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="help", other=ALICE.id),
        ),
        booked(1),
    ),
    "a yes and a reset that one run answers": Known(
        (
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Pause(),
            Answer(who=BOB.id, sms=True),
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="Start over"),
        ),
        booked(1),
    ),
    "a call that an outreach repeats, because its prompt hides that it was made": Known(
        (
            Write(who=ALICE.id, chat=TEAM.id, task="recall", other=BOB.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Answer(who=BOB.id, sms=True),
            BY_OPERATORS,
            Reach(people=(BOB.id,)),
            Decide(),
        ),
        booked(1),  # the operator is shown when it was made, and refuses
    ),
    "somebody who left before a call was decided is erased while runs are paused": Known(
        (
            BY_OPERATORS,
            _writes("book", chat=PAIR.id),
            Pause(),
            Leave(chat=PAIR.id, who=BOB.id),
            Decide(yes=False),
            Erase(who=BOB.id),
        ),
        booked(0),
    ),
    "an operator approves a call whose run an erasure has emptied": Known(
        (
            BY_OPERATORS,
            Write(who=EVE.id, chat=VISIT.id, task="book", other=ALICE.id),
            Erase(who=ALICE.id),
            Decide(),
            Erase(who=EVE.id),
        ),
        booked(0),
    ),
    "an agent that is removed while the worker of an agreed call is dead": Known(
        (
            Fault(at=4, runs=True),
            _writes("notify", chat=PAIR.id),
            Answer(who=ALICE.id),
            Remove(by=ALICE.id, chat=PAIR.id, who=COACH.id),
        ),
        lambda town: not town.services.calls,
    ),
    "a yes to an agent that has left and comes back": Known(
        (
            _writes("book", chat=PAIR.id),
            Remove(by=ALICE.id, chat=PAIR.id, who=COACH.id),
            Answer(who=ALICE.id),
            Join(by=ALICE.id, chat=PAIR.id, who=COACH.id),
            Answer(who=ALICE.id),
        ),
        booked(1),
    ),
    "a yes by text after STOP": Known(
        (
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="book", other=ALICE.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="STOP"),
            Answer(who=BOB.id, sms=True),
        ),
        booked(1),
    ),
    "STOP while texts of the chat before are paused": Known(
        (
            Pause(kind="texts"),
            Reach(people=(BOB.id,), written=True),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="talk", other=ALICE.id),
            Discard(who=BOB.id, chat=BOBS_PHONE.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="STOP"),
        ),
        lambda town: not town.sms.taken,
    ),
    "an answer to a question that a service may not be shown": Known(
        (
            Open(who=CAROL.id, whom=ALICE.id),
            Accept(who=ALICE.id, accept=False),
            Write(who=ALICE.id, chat=PAIR.id, task="propose", other=BOB.id),
            Write(who=ALICE.id, chat=PAIR.id, text="Yes please"),
            Report(chat=PAIR.id),
            Write(who=ALICE.id, chat=PAIR.id, task="plan", other=BOB.id),
        ),
        shows(PAIR.id, "remind them"),
    ),
    "the person of a decided call is erased while the team holds the chat": Known(
        (*REFUSED_WHILE_HELD, Erase(who=ALICE.id)), booked(0)
    ),
    "a reader of a decided call is erased while the team holds the chat": Known(
        (*REFUSED_WHILE_HELD, Erase(who=BOB.id)), booked(0)
    ),
    "the answer to an errand is reported after a call that was approved": Known(
        (
            Write(who=ALICE.id, chat=TEAM.id, task="errand", other=BOB.id),
            Setting(name="approval", value="operator", tool=BOOK),
            Write(who=ALICE.id, chat=TEAM.id, task="book", other=BOB.id),
            Decide(),
            Reply(who=BOB.id),
            Say(who=ALICE.id, chat=TEAM.id, to=COACH.id),
            Decide(),
        ),
        booked(1),
    ),
    "a second message to a paused agent whose run is stopped": Known(
        (
            Pause(),
            Write(who=ALICE.id, chat=ALICES.id, task="choice", other=BOB.id),
            Write(who=ALICE.id, chat=ALICES.id, task="talk", other=BOB.id),
            StopRun(chat=ALICES.id),
        ),
        lambda town: [run.trigger.seqs for run in town.runs(ALICES.id)] == [range(1, 3)],
    ),
    "a call that failed is approved again": Known(
        (
            Fault(what="gone"),
            Setting(name="approval", value="operator", tool=BOOK),
            Write(who=ALICE.id, chat=PAIR.id, task="book", other=BOB.id),
            Decide(),
            Say(who=ALICE.id, chat=PAIR.id, to=COACH.id),
            Fault(what="back"),
            Decide(),
        ),
        booked(1),
    ),
    "somebody new texts from the phone of an erased person who said STOP": Known(
        (
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="STOP"),
            Erase(who=BOB.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, task="talk", other=ALICE.id),
        ),
        lambda town: [sms.body for sms, _ in town.sms.taken][-1:] == ["About task 3."],
    ),
    "a typed yes": Known((BOOKS, TYPES_YES, TYPES_YES, TYPES_YES), booked(1)),
    "a typed yes by text": Known(
        (
            _writes("book", BOB.id, BOBS_PHONE.id, ALICE.id),
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="Yes please"),
            Answer(who=BOB.id),
        ),
        booked(1),
    ),
    "words after the question of an errand": Known(
        (
            _writes("errand", chat=PAIR.id),
            Answer(who=ALICE.id),
            Pass(minutes=6),
            Write(who=BOB.id, chat=BOBS_PHONE.id, text="Sure, I bring two bottles."),
        ),
        shows(BOBS_PHONE.id, "OPEN QUESTIONS"),
    ),
    "places for questions that others fill": Known((*FULL, BOOKS), keeps_all_questions),
    "an outreach that is canceled while runs are paused": Known(
        (
            Pause(),
            Reach(people=(BOB.id,)),
            CancelOutreach(),
            Pause(on=False),
            Pass(minutes=130),
        ),
        lambda town: not town.sms.taken,
    ),
    "an outreach that is canceled while the agent writes": Known(
        (Meanwhile(events=(CancelOutreach(),)), Reach(people=(BOB.id,))),
        lambda town: not town.sms.taken,
    ),
    "a rule for a reader who turned it off": Known(
        (*RULED, HELLO, SECRET, OVER, Refuse(who=BOB.id), ASKS),
        lambda town: not town.knowledge.told_by_rule,
    ),
    "an erasure after a person was called to the desk": Known(
        (_writes("help", BOB.id, BOBS_PHONE.id, ALICE.id), Erase(who=BOB.id)),
        lambda town: (
            not any(
                BOB.id in item for key, item in town.table.all_stored().items() if "DESK#" in key.sk
            )
        ),
    ),
    "a yes after the request was deleted": Known(
        (
            _writes("book", BOB.id, BOBS_PHONE.id, ALICE.id),
            Delete(who=BOB.id, chat=BOBS_PHONE.id),
            Answer(who=BOB.id, sms=True),
        ),
        tells(CHANGED),
    ),
    "a report after a call that operators have approved": Known(
        (BY_OPERATORS, _writes("book", chat=PAIR.id), Decide(), Report(chat=PAIR.id), Decide()),
        booked(1),
    ),
    "a plan after a call that operators have approved": Known(
        (
            OperatorPlan(agent=COACH.id, chat=TEAM.id),
            BY_OPERATORS,
            _writes("book", chat=TEAM.id),
            Decide(),
            Pass(minutes=1500),
            Decide(),
        ),
        booked(1),
    ),
    "an equal call to approve after one that a new member may not see": Known(
        (
            BY_OPERATORS,
            _writes("book", chat=PAIR.id),
            Leave(chat=PAIR.id, who=BOB.id),
            Decide(),
            Join(by=ALICE.id, chat=PAIR.id, who=BOB.id),
            Say(who=ALICE.id, chat=PAIR.id, word="secret", to=COACH.id),
            Decide(),
        ),
        booked(1),
    ),
    "an equal call while one waits for operators": Known(
        (
            BY_OPERATORS,
            _writes("book", chat=PAIR.id),
            Write(who=ALICE.id, chat=PAIR.id, text=f"@{COACH.name}?"),
            Decide(),
        ),
        booked(1),
    ),
    "a run that is stopped between an approved call and its model": Known(
        (
            _writes("notify", chat=PAIR.id),
            Fault(at=0, runs=True),
            Answer(who=ALICE.id),
            StopRun(chat=PAIR.id),
            _writes("notify", chat=PAIR.id),
        ),
        asked(PAIR.id, "task 5"),
    ),
    "a call that operators approved, and an agent that said nothing about it": Known(
        (
            Setting(name="approval", value="operator", tool=BOOK),
            _writes("book", chat=TEAM.id),
            Decide(),
            Write(who=ALICE.id, chat=TEAM.id, text="@Coach, please go on."),
            Decide(),
        ),
        booked(1),
    ),
    "a call that operators approved, and an answer to an older question": Known(
        (
            _writes("choice", chat=PAIR.id),
            Setting(name="approval", value="operator", tool=BOOK),
            _writes("book", chat=PAIR.id),
            Decide(),
            Answer(who=ALICE.id, yes=False),
            Decide(),
        ),
        booked(1),
    ),
    "erasures while calls wait for operators": Known(
        (
            BY_OPERATORS,
            _writes("book", chat=PAIR.id),
            _writes("book", BOB.id, PAIR.id, ALICE.id),
            Erase(who=ALICE.id),
            Erase(who=BOB.id),
        ),
        lambda town: not town.waiting_calls(),
    ),
    "an erasure of a reader before a yes": Known(
        (_writes("notify", chat=PAIR.id), Erase(who=BOB.id), YES),
        tells(CHANGED),
    ),
    "an erasure while a report waits": Known(
        (Pause(), Report(chat=PAIR.id), Erase(who=ALICE.id)),
        lambda town: [run.status for run in town.all_runs()] == ["done"],
    ),
    "an erasure while a plan waits": Known(
        (_writes("plan", chat=PAIR.id), Pause(), Pass(minutes=12), Erase(who=ALICE.id)),
        lambda town: "canceled" in {run.status for run in town.all_runs()},
    ),
    "a report after words of somebody erased": Known(
        (
            DeskDoes(chat=TEAM.id, does="take"),
            DeskDoes(chat=TEAM.id, does="say"),
            Report(chat=TEAM.id),
            Erase(who=BOB.id),
            _writes("book", chat=TEAM.id),
        ),
        shows(TEAM.id, "I look after this."),
    ),
    "an erasure after a trial": Known(
        (_writes("talk"), Try(chat=ALICES.id), Erase(who=ALICE.id), Try(chat=ALICES.id)),
        lambda town: len(town.trials) > 2,  # two of the script, and one of the run
    ),
    "the death of a worker of a trial": Known(
        (_writes("talk"), Fault(at=3), Try(chat=ALICES.id), Pass(minutes=130)),
        lambda town: town.deaths == 1 and len(town.trials) > 1,
    ),
    "an erasure after an errand": Known(
        (
            _writes("errand", BOB.id, BOBS_PHONE.id, ALICE.id),
            Answer(who=BOB.id),
            Pass(minutes=12),
            Erase(who=BOB.id),
        ),
        lambda town: [m.kind for m in town.messages(ALICES.id)] == ["erased"],
    ),
}

OPEN: Mapping[str, tuple[Story, str]] = {}
"""Stories of defects that are still there, each with what happens."""
