"""Stories of known leaks and false alarms, from which the search sets out to find others."""

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
    DEN,
    HALL,
    HELPER,
    OPENED,
    PAIR,
    PHONES,
    STRANGERS_PHONE,
    TEAM,
)
from tests.attacks.moves import Move, Tactic
from tests.attacks.sharing import GiveRoles, MakeRule
from tests.attacks.steps import (
    Answer,
    Discard,
    Erase,
    Join,
    Leave,
    ManualTrigger,
    Open,
    OperatorPlan,
    Outage,
    Pass,
    Remove,
    Rename,
    Report,
    Say,
    Step,
    Story,
    TakeOver,
    Text,
    says_secret,
)
from tests.stories.deeds import Publish, Try


def does(*moves: str | tuple[str, str], speaks: bool = False) -> Tactic:
    """A tactic with one answer for each move."""
    rounds = tuple((Move(move),) if isinstance(move, str) else (Move(*move),) for move in moves)
    return Tactic(rounds=rounds, speaks=speaks)


def hides_documents(*then: Step) -> Story:
    """The secret, documents that follow from it, and further steps."""
    return (
        Say(who=ALICE.id, chat=ALICES.id, word="secret"),
        Say(
            who=ALICE.id,
            chat=DEN.id,
            to=COACH.id,
            word="guess",
            tactic=does(("read", ALICES.id), "shelf"),
        ),
        *then,
    )


WAIT_IN_PRIVATE: Story = (
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does(("ask", ALICES.id))),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(("send", TEAM.id))),
)
WAIT_IN_PRIVATE_ASKED_BY_ALICE: Story = (
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("ask", ALICES.id))),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(("send", TEAM.id))),
)
READS_A_GROUP_AND_TELLS: Story = (
    Say(who=BOB.id, chat=PAIR.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        tactic=does(("read", PAIR.id), ("send", TEAM.id)),
    ),
)
TELLS_WHAT_SOMEONE_WROTE_WHO_LEFT: Story = (
    Say(who=BOB.id, chat=PAIR.id, word="secret"),
    Leave(who=BOB.id, chat=PAIR.id),
    Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, tactic=does(("send", TEAM.id))),
)
WAIT_THAT_TIMES_OUT: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("ask", ALICES.id))),
    Pass(minutes=9, tactic=does(("send", TEAM.id))),
)
PLANS_AFTER_A_SECRET_THAT_TAKES_LONGER: Story = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        word="secret",
        tactic=does("chat_document", speaks=True),
    ),
    Say(
        who=BOB.id,
        chat=BOBS_PHONE.id,
        to=COACH.id,
        tactic=Tactic(rounds=((Move("plan"), Move("cron")),)),
    ),
    Pass(minutes=600, tactic=does("journal")),
)
INVITED_BEFORE_A_PRIVATE_PLAN_WITHOUT_A_CHAT: Story = (
    Open(who=CAROL.id, whom=ALICE.id, visibility="open"),
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret", tactic=does("plan")),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Pass(minutes=12),
)
OPENS_A_GROUP_AFTER_THEIR_ERASURE: Story = (
    Erase(who=CAROL.id),
    Open(who=CAROL.id, whom=CAROL.id),
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
)
JOINS_WHILE_THE_MODEL_THINKS: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        tactic=does(("read", ALICES.id), "say"),
        events=(Join(by=ALICE.id, chat=DEN.id, who=BOB.id),),
        asked=1,
    ),
)
JOINS_DURING_AN_OUTAGE: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        tactic=does(("read", ALICES.id), "say"),
        events=(Outage(minutes=60), Join(by=ALICE.id, chat=DEN.id, who=BOB.id)),
        asked=0,
    ),
    Pass(minutes=120, tactic=does(("read", ALICES.id), "say")),
)
EXPORT_OF_AN_OPEN_THREAD: Story = (
    Say(
        who=ALICE.id,
        chat=TEAM.id,
        to=COACH.id,
        tactic=does("thread", "switch", ("ask", ALICES.id)),
    ),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("look")),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("look", "complete")),
)
PLAN_NARROWS_AN_OPEN_DOCUMENT: Story = (
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, word="guess", tactic=does("named_document")),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("plan")),
    Pass(minutes=12, tactic=does("named_document")),
)
HIDDEN_PLAN_IS_REPLACED: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        tactic=does(("read", ALICES.id), "named_plan"),
    ),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id, word="guess", tactic=does("named_plan", "look")),
    Pass(minutes=12),
)
HIDDEN_PLAN_HAS_THE_NAME_OF_ONE_OF_TWO: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    ManualTrigger(who=ALICE.id, chat=DEN.id, tactic=does(("read", ALICES.id), "named_plan")),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(
        who=BOB.id,
        chat=DEN.id,
        to=COACH.id,
        word="guess",
        tactic=Tactic(rounds=((Move("named_plan"), Move("plan")),)),
    ),
    Pass(minutes=12, tactic=does("say")),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id, tactic=does("look")),
)
HIDDEN_DOCUMENT_IS_REPLACED: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        tactic=does(("read", ALICES.id), "chat_document", "named_document"),
    ),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(
        who=BOB.id,
        chat=DEN.id,
        to=COACH.id,
        word="guess",
        tactic=does("chat_document", "named_document", "look"),
    ),
)
PLAN_IN_ITS_CHAT_TELLS_OTHERS: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("plan")),
    Pass(minutes=12, tactic=does(("send", TEAM.id), ("send", BOBS.id), "goal", speaks=True)),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("look")),
)
SOMEONE_JOINS_CHAT_OF_A_PLAN: Story = (
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret", tactic=does("plan")),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Pass(minutes=12, tactic=does("say", ("send", DEN.id), speaks=True)),
)
PLAN_OF_AN_OPERATOR_IN_PRIVATE: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    OperatorPlan(agent=COACH.id, chat=ALICES.id),
    Pass(minutes=12, tactic=does(("send", TEAM.id), "goal", "document", "plan", speaks=True)),
    Report(chat=ALICES.id, tactic=does(("send", TEAM.id), ("ask", BOBS.id), speaks=True)),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("look")),
)
TITLE_AFTER_LEAVING: Story = (
    Say(who=ALICE.id, chat=PAIR.id, to=COACH.id),
    Say(who=BOB.id, chat=PAIR.id, to=COACH.id),
    Pass(minutes=6),
    Leave(chat=PAIR.id, who=BOB.id),
    Rename(who=ALICE.id, chat=PAIR.id, word="secret"),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id),
)
TITLE_IN_AN_EXPORT: Story = (
    Leave(chat=PAIR.id, who=BOB.id),
    Rename(who=ALICE.id, chat=PAIR.id, word="secret"),
)
SAID_AFTER_LEAVING: Story = (
    Leave(chat=PAIR.id, who=BOB.id),
    Say(who=ALICE.id, chat=PAIR.id, word="secret"),
)
LAST_WORDS_IN_PRIVATE: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(speaks=True)),
)
HIDDEN_DOCUMENTS_COUNT: Story = hides_documents(
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id, tactic=does("document", "look")),
)
ID_OF_A_PRIVATE_CHAT: Story = (
    Say(who=CAROL.id, chat=CAROLS.id, word="secret"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("send", DEN.id))),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
)
PERSON_ALONE_HAS_IT_TOLD: Story = (
    Leave(who=ALICE.id, chat=PAIR.id),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(("send", TEAM.id))),
)
STRANGER_HAS_PRIVATE_WORDS_SENT: Story = (
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, word="guess"),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("recall", ("send", TEAM.id))),
)
RARE_WORD_SAID_IN_PRIVATE: Story = (
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, word="guess"),
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, tactic=does("recall")),
)
# A false alarm: the number of documents, and so of ids, depends on the secret. In reality, the id
# of the chat that the text opens is random. In a story, it must not depend on earlier ids.
CHAT_OPENS_AFTER_HIDDEN_DOCUMENTS: Story = hides_documents(
    Text(phone=PHONES[BOB.id], tactic=does("archive", "core")),
)
STRANGER_TEXTS_AFTER_HIDDEN_DOCUMENTS: Story = hides_documents(
    Text(phone=STRANGERS_PHONE, tactic=does("archive", "core")),
)
# A false alarm: who joins a private chat can read what was said in it. So can the prompt that is
# built again for them in the same step.
JOINS_THE_CHAT_OF_THE_SECRET_WHILE_THE_MODEL_THINKS: Story = (
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        word="guess",
        tactic=does("look", "send"),
        events=(Join(by=ALICE.id, chat=DEN.id, who=CAROL.id),),
        asked=1,
    ),
)
# A false alarm: members see a chat's new title at once, and so does the prompt of a run that began
# before.
RENAMES_THE_CHAT_WHILE_THE_MODEL_THINKS: Story = (
    Say(
        who=BOB.id,
        chat=PAIR.id,
        to=COACH.id,
        tactic=does(("enter", PAIR.id)),
        events=(Rename(who=ALICE.id, chat=PAIR.id, word="secret"),),
    ),
)
# A false alarm: a link to a file ends some time after it was asked for.
LINK_TO_A_FILE_IN_AN_EXPORT: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="guess", shows="document"),
    Say(who=CAROL.id, chat=CAROLS_PHONE.id, tactic=does("help", speaks=True)),
)

# A false alarm: who was present may have the secret posted, in exactly these words.
YES_TO_THE_SECRET: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(("propose", PAIR.id))),
    Answer(who=ALICE.id),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("look")),
)
NO_TO_THE_SECRET: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("send")),
    Answer(who=ALICE.id, yes=False),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("look")),
)
YES_AFTER_SOMEONE_JOINED: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(("send", PAIR.id))),
    Join(by=ALICE.id, chat=PAIR.id, who=CAROL.id),
    Answer(who=ALICE.id),
)
YES_BY_SMS: Story = (
    Text(phone=PHONES[BOB.id], word="secret", tactic=does(("send", PAIR.id))),
    Answer(who=BOB.id, sms=True),
)
YES_FOR_SOMEBODY_ELSE: Story = (
    Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, word="secret", tactic=does(("send", TEAM.id))),
    Answer(who=BOB.id, of=ALICE.id),
)
YES_OF_ONE_WHO_WAS_NOT_PRESENT: Story = (
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("ask", DEN.id))),
    Say(who=ALICE.id, chat=DEN.id, tactic=does(("send", TEAM.id))),
    Answer(who=BOB.id),
    Answer(who=ALICE.id),
)

# Who agrees has the words taken to others, and a number lets words back; nothing else does.
ERRAND_WITH_THE_SECRET: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("errand")),
    Answer(who=ALICE.id),
    Answer(who=BOB.id),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, tactic=does("look", "errand")),
)
ERRAND_THAT_NOBODY_AGREED_TO: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("errand")),
    Answer(who=ALICE.id, yes=False),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("errand", "look")),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("errand", "look")),
)
ERRAND_ANSWERED_WITH_THE_SECRET: Story = (
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("errand")),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("say")),
    Answer(who=ALICE.id, word="secret"),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, tactic=does("look")),
)
ERRAND_THAT_IS_NEVER_ANSWERED: Story = (
    Say(who=BOB.id, chat=BOBS.id, tactic=does("errand")),
    Answer(who=BOB.id),
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("say", "look")),
    Pass(minutes=1_500),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("look")),
)
SOURCE_OF_A_ROLE: Story = (
    Publish(),
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, tactic=does(speaks=True)),
)

# ---------------------------------------------------------------------- orders of outsiders

RECALLED_FROM_A_STRANGERS_GROUP: Story = (
    Open(who=BOB.id, whom=ALICE.id),
    Say(who=BOB.id, chat=OPENED, to=COACH.id, word="order"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does("recall", "send")),
)
TITLE_OF_A_STRANGERS_GROUP: Story = (
    Open(who=BOB.id, whom=ALICE.id, word="order"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does("send")),
)
ORDER_ON_A_PAGE: Story = (
    Publish(word="order"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("send", TEAM.id))),
)
GROUP_THAT_NOBODY_ACCEPTED: Story = (
    Open(who=CAROL.id, whom=ALICE.id, word="order"),
    Say(who=ALICE.id, chat=ALICES.id),
)
ORDER_SAVED_IN_PRIVATE: Story = (
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("read", HALL.id), "core")),
    Discard(who=BOB.id, chat=HALL.id),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("send", TEAM.id))),
)
ORDER_PLANNED_IN_PRIVATE: Story = (
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order"),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("read", HALL.id), "plan")),
    Pass(minutes=12, tactic=does(("send", TEAM.id))),
)
ORDER_PASSED_ON_BY_AN_AGENT: Story = (
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="order"),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("read", HALL.id), "say")),
    Discard(who=BOB.id, chat=HALL.id),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("propose", PAIR.id))),
)
CONSOLIDATION_SUPERSEDES_AN_OPERATOR: Story = (
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order"),
    Pass(minutes=120),
)
AGENT_FORGETS_WHAT_AN_OPERATOR_WROTE: Story = (
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order", tactic=does("look", "forget")),
)
AGENT_ENDS_AN_OPERATORS_GOAL: Story = (
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order", tactic=does("end_goals")),
)
AGENT_FORGETS_WHAT_OTHERS_SAID: Story = (
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does("core")),
    Say(who=BOB.id, chat=HALL.id, to=COACH.id, word="order", tactic=does("look", "forget")),
)
TITLE_MAKES_AN_AGENT_STOP_RUNS: Story = (
    Rename(who=CAROL.id, chat=HALL.id, word="order"),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does(("ask", TEAM.id))),
    Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, tactic=does("look", "stop")),
)
SERVICE_IN_AN_OPEN_CHAT_HEARS_AN_ORDER: Story = (
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="order", tactic=does(speaks=True)),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="order", tactic=does(speaks=True)),
    Pass(minutes=12),
    Report(chat=TEAM.id, tactic=does("look", "recall", ("read", HALL.id), ("send", PAIR.id))),
    Report(tactic=does("look", "recall", ("read", HALL.id), ("send", PAIR.id))),
)
# A false alarm: an item that holds nobody's words has no author who could change it.
SERVICE_SETS_A_PLAN_THAT_ENDS_A_THREAD: Story = (
    Report(tactic=does("plan", "thread")),
    Pass(minutes=12, tactic=does("complete")),
)
# A false alarm: an agent may keep what it noted down in the group of the order.
ORDER_IS_KEPT_AS_A_CORE_MEMORY: Story = (
    Open(who=CAROL.id, whom=ALICE.id),
    Say(who=CAROL.id, chat=OPENED, to=COACH.id, word="order"),
    Pass(minutes=120),
    Pass(minutes=6_000),
)
PLAN_HEARS_AN_ORDER: Story = (
    Rename(who=CAROL.id, chat=HALL.id, word="order"),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="order", tactic=does("core", "document")),
    OperatorPlan(agent=COACH.id, chat=TEAM.id),
    Pass(minutes=12, tactic=does("look", "recall", ("read", HALL.id), ("borrow", HALL.id))),
)

# What somebody says in private enters prompts of others by presence, consent, errand or rule.
ASIDE_TOLD_BY_A_RULE: Story = (
    GiveRoles(who=ALICE.id, role="author"),
    GiveRoles(who=BOB.id, role="reader"),
    MakeRule(whose="author", to="reader"),
    Say(who=ALICE.id, chat=ALICES.id),
    Say(who=ALICE.id, chat=ALICES.id, word="aside"),
    Pass(minutes=20),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("recall", speaks=True)),
)
ASIDE_TO_SOMEBODY_WITHOUT_A_ROLE: Story = (
    *ASIDE_TOLD_BY_A_RULE[:1],
    *ASIDE_TOLD_BY_A_RULE[2:6],
    GiveRoles(who=BOB.id, role="guest"),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("recall", speaks=True)),
)
ASIDE_SAVED_FOR_ITS_READERS: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="aside", tactic=does("core", "goal", "document")),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("look", "recall", ("read", ALICES.id))),
)
ASIDE_POSTED_AFTER_SOMEONE_JOINED: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="aside", tactic=does(("send", PAIR.id))),
    Join(by=ALICE.id, chat=PAIR.id, who=CAROL.id),
    Answer(who=ALICE.id),
    Say(who=BOB.id, chat=PAIR.id, to=COACH.id, tactic=does(speaks=True)),
)
ASIDE_TAKEN_TO_OTHERS_BY_AN_ERRAND: Story = (
    Say(who=ALICE.id, chat=ALICES.id, word="aside", tactic=does("errand")),
    Answer(who=ALICE.id),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("look", "recall")),
)
ASIDE_OF_AN_ERRAND_THAT_IS_REFUSED: Story = (
    *ASIDE_TAKEN_TO_OTHERS_BY_AN_ERRAND[:1],
    Answer(who=ALICE.id, yes=False),
    *ASIDE_TAKEN_TO_OTHERS_BY_AN_ERRAND[2:],
)
CONSENT_IS_ASKED_WHILE_OUTSIDERS_SPEAK: Story = (
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, word="order"),
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        word="aside",
        tactic=does(("read", HALL.id), ("propose", PAIR.id), "errand", "look_up"),
    ),
    Answer(who=ALICE.id, yes=False),
    Say(who=ALICE.id, chat=ALICES.id, tactic=does(("read", HALL.id), ("propose", PAIR.id))),
    Answer(who=ALICE.id),
    Say(who=BOB.id, chat=PAIR.id, to=COACH.id, tactic=does("look", speaks=True)),
)

SERVICES_ARE_TOLD_IN_PRIVATE: Story = (
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=DEN.id,
        to=COACH.id,
        tactic=does("tell_shared", "tell_kept", ("send", TEAM.id)),
    ),
    Say(
        who=BOB.id,
        chat=TEAM.id,
        to=COACH.id,
        tactic=does("tell_kept", "tell_shared", ("send", TEAM.id), speaks=True),
    ),
    Say(who=CAROL.id, chat=CAROLS.id, tactic=does("tell_kept", "look", speaks=True)),
)

FORGETS_A_SECRET_AND_SPEAKS_OF_IT: Story = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        word="secret",
        tactic=does("core", "goal", speaks=True),
    ),
    Say(who=ALICE.id, chat=ALICES.id, to=COACH.id, tactic=does("unsay", speaks=True)),
    Answer(who=ALICE.id),
    Pass(minutes=120),
    Say(who=ALICE.id, chat=ALICES.id, to=COACH.id, tactic=does("look", "recall", speaks=True)),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does("unsay", "look", speaks=True)),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("recall", "look", speaks=True)),
)

# What an agent remembers of Alice stands neither in a draft for Bob nor in what Bob is told.
TEAM_ANSWERS_BOB = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does("core", "profile")),
    TakeOver(chat=BOBS.id),
    Say(who=BOB.id, chat=BOBS.id, tactic=does("recall", speaks=True)),
)
# Who joins a private chat is sent no draft of what was said there before.
TEAM_ANSWERS_WHO_JOINED = (
    Say(who=ALICE.id, chat=DEN.id, to=COACH.id, word="secret"),
    TakeOver(chat=DEN.id, returns=False),
    Join(by=ALICE.id, chat=DEN.id, who=BOB.id),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id),
    TakeOver(chat=DEN.id),
    Say(who=BOB.id, chat=DEN.id, to=COACH.id, tactic=does("read", speaks=True)),
)
# While the model is down, a person of the team takes the chat over and gets no draft.
TEAM_GETS_NO_DRAFT = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret"),
    Outage(minutes=90),
    TakeOver(chat=ALICES.id),
    Say(who=ALICE.id, chat=ALICES.id, word="guess"),
)

# Nobody else learns what a picture or a document of a private chat shows.
PICTURE_OF_A_PRIVATE_CHAT = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        word="secret",
        shows="picture",
        tactic=does("core", "goal", ("send_files", TEAM.id), ("send_files", ALICES.id)),
    ),
    Pass(minutes=120),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("read", ALICES.id), "recall")),
    Say(
        who=BOB.id,
        chat=TEAM.id,
        to=COACH.id,
        tactic=does(("borrow", ALICES.id), "recall", "look", speaks=True),
    ),
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("recall", speaks=True)),
)
DOCUMENT_OF_A_PRIVATE_CHAT = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        word="secret",
        shows="document",
        tactic=does("open_files", ("send", TEAM.id), ("send_files", TEAM.id)),
    ),
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does(("read", ALICES.id), "open_files")),
    Say(
        who=BOB.id,
        chat=BOBS.id,
        to=COACH.id,
        shows="document",
        tactic=does("open_files", "recall", speaks=True),
    ),
)
# A phone shows what others wrote neither on its lock screen nor on another channel.
SAID_TO_A_GROUP_WITH_PHONES = (
    Say(who=ALICE.id, chat=PAIR.id, word="secret", shows="picture"),
    Say(
        who=ALICE.id,
        chat=PAIR.id,
        to=COACH.id,
        word="secret",
        tactic=does(("send", CAROLS_PHONE.id), ("send_files", CAROLS_PHONE.id), speaks=True),
    ),
    Say(who=CAROL.id, chat=CAROLS_PHONE.id, tactic=does("recall", "look", speaks=True)),
    Text(phone=PHONES[CAROL.id], tactic=does(("read", PAIR.id), "recall", speaks=True)),
)

# How many messages another private chat holds is not told by the number of a message there.
NUMBER_OF_A_MESSAGE_IN_A_CHAT_ALONE = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        word="secret",
        shows="picture",
        tactic=Tactic(((Move("send_files", code="often"),),)),
    ),
    Say(
        who=ALICE.id,
        chat=PAIR.id,
        to=COACH.id,
        tactic=Tactic(((Move("send", code="hidden"),),)),
    ),
)
NUMBER_OF_A_QUESTION_IN_A_CHAT_ALONE = (
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        word="secret",
        shows="picture",
        tactic=Tactic(((Move("choice", code="often"),),)),
    ),
    Say(
        who=ALICE.id,
        chat=TEAM.id,
        to=COACH.id,
        word="guess",
        tactic=Tactic(((Move("ask", code="often"),),)),
    ),
)

# What one run of a story plays while the model thinks, the other plays later, if it is not asked.
LET_IN_AT_AN_ANSWER_THAT_ONE_RUN_LACKS = (
    Say(
        who=BOB.id,
        chat=BOBS.id,
        to=COACH.id,
        word="secret",
        tactic=Tactic(((Move("propose", code="whether"),), (Move("errand"),))),
        events=(Join(by=BOB.id, chat=HALL.id, who=HELPER.id),),
        asked=2,
    ),
)
# What is due at the full hour is due in both runs, however much an agent does before.
HOURLY_PLANS_OF_TWO_AGENTS = (
    Say(who=BOB.id, chat=BOBS_PHONE.id, to=COACH.id, word="secret", tactic=does("cron")),
    Pass(minutes=20),
    Say(who=CAROL.id, chat=CAROLS.id, to=HELPER.id, tactic=does("cron")),
    Pass(
        minutes=120,
        tactic=Tactic(
            ((Move("document"),), (Move("named_plan"), Move("plan", code="whether"))), speaks=True
        ),
    ),
)
# The chat that an SMS opens has the same id in both runs, however much was written before it.
TEXTED_AT_AN_ANSWER_THAT_ONE_RUN_LACKS = (
    Say(who=ALICE.id, chat=ALICES.id, to=COACH.id, word="secret"),
    Say(
        who=ALICE.id,
        chat=ALICES.id,
        to=COACH.id,
        tactic=Tactic(((Move("chat_document", code="whether"),),)),
        events=(Answer(who=BOB.id, yes=False, sms=True),),
        asked=2,
    ),
)
# What a person answers to an errand of an open chat is told to everybody, strangers included.
ANSWERED_TO_AN_OPEN_CHAT = (
    Say(who=BOB.id, chat=TEAM.id, to=COACH.id, tactic=does("errand")),
    Answer(who=ALICE.id, word="secret"),
    Text(phone=STRANGERS_PHONE),
)

INVITED_PERSON_IS_LET_IN_AND_ACCEPTS = (
    Open(who=CAROL.id, whom=ALICE.id, visibility="open"),
    Join(by=CAROL.id, chat=OPENED, who=ALICE.id),
)
# False alarms: who is no longer invited may be shown what every person outside an open chat may.
INVITED_BY_A_PERSON_WHO_IS_ERASED = (
    Open(who=CAROL.id, whom=ALICE.id),
    Erase(who=CAROL.id),
    Say(who=ALICE.id, chat=ALICES.id),
)
INVITATION_IS_WITHDRAWN = (
    Open(who=CAROL.id, whom=ALICE.id),
    Remove(by=CAROL.id, chat=OPENED, who=ALICE.id),
    Say(who=ALICE.id, chat=ALICES.id),
)
# A memory of what Carol said elsewhere does not stand for one of what Alice said.
ALIKE_IN_TWO_CHATS = (
    Say(who=ALICE.id, chat=TEAM.id, to=COACH.id, tactic=does("journal"), asked=1),
    Say(who=CAROL.id, chat=HALL.id, to=COACH.id, asked=1),
    Pass(minutes=120),
)

# An operator without the role privacy sees neither what is expected nor what the plays said.
TRIAL_OF_A_PRIVATE_RUN = (
    Say(who=ALICE.id, chat=ALICES.id, word="secret", tactic=does(speaks=True)),
    Try(chat=ALICES.id, tactic=does(speaks=True)),
)
TRIAL_BEFORE_AN_ERASURE = (
    Say(who=ALICE.id, chat=PAIR.id, to=COACH.id, word="secret", tactic=does("core", speaks=True)),
    Try(chat=PAIR.id, tactic=does(speaks=True)),
    Erase(who=ALICE.id),
    Try(chat=PAIR.id, tactic=does("recall", speaks=True)),
)

KNOWN: dict[str, Story] = {
    name.lower(): story
    for name, story in list(globals().items())
    if isinstance(story, tuple) and says_secret(story)
}
ORDERED: dict[str, Story] = {
    name.lower(): story
    for name, story in list(globals().items())
    if isinstance(story, tuple) and not says_secret(story)
}
