"""Steps of errands, meetings and outreach, and what must stay with the person who named times.

Each person names times that end at a minute of their own, by which they are recognized. All
begin at one time, which the group may learn; the ends may not come out.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.errands.models.errand import Errand, ErrandData
from skein.models.chats.chat import Message
from skein.models.common.address import phone_address
from skein.models.common.storage import Put
from skein.models.delivery.sms import InboundSms
from skein.models.runs.completion import ModelRequest
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from skein.services.common.quoting import quoted
from skein.services.directory.text_consents import TextConsents
from tests.attacks.cast import (
    ALICE,
    BOB,
    CAROL,
    CHANNELS,
    CONFIDED,
    LINE,
    PHONES,
    SECRET_WORD,
    Word,
    named,
)
from tests.attacks.knowledge import Leak, owner_of
from tests.attacks.steps import Pass, Step
from tests.support.builders import TENANT
from tests.support.first_contact import CONSENT

if TYPE_CHECKING:
    from tests.attacks.stage import Stage

DAY = "2026-05-04"  # no story lasts so long
WISH = {"earliest": f"{DAY}T08:00", "latest": f"{DAY}T20:00", "until": "1 day"}
ENDS = {ALICE.id: "19:41", BOB.id: "19:43", CAROL.id: "19:47"}
"""The minute at which each person's times end."""
NAMED_END = re.compile(rf"{DAY}[T ](19:4[137])")
ASKS_FOR_WORDS = re.compile(r"(?s)(.*)Reply (\d{6}) and your answer")


def read_times(text: str) -> str:
    """The malicious model's reading of times: they end at the minute that the words name."""
    end, words = NAMED_END.search(text), "".join(SECRET_WORD.findall(text))
    span = {"start": f"{DAY}T08:00", "end": f"{DAY}T{end[1] if end else '20:00'}"}
    clear = bool(end or words)
    return json.dumps({"clear": clear, "times": [span] if clear else []})


def check_times(text: str, readers: Sequence[str], where: str) -> None:
    """Check that a text tells only the times of the one person who reads it.

    Raises:
        Leak: It tells another person's times.
    """
    ends = set(NAMED_END.findall(text))
    told = [who for who, end in ENDS.items() if end in ends and {*readers} != {who}]
    if told:
        raise Leak(f"{where} shows the times of {' and '.join(map(named, told))}")


def check_reading(stage: "Stage", request: ModelRequest) -> None:
    """Check that the model that reads times is shown the words of one answer, and nothing else.

    Raises:
        Leak: It is shown more.
    """
    asked, words = request.messages[0].content, request.messages[-1].content
    answers = {quoted(errand.answer) for errand in errands_of(stage) if errand.answer}
    if words not in answers or SECRET_WORD.search(asked) or NAMED_END.search(asked):
        raise Leak(f"the model that reads times is shown more than one answer: {asked} {words}")


def errands_of(stage: "Stage") -> list[Errand]:
    """All errands of a story."""
    keys = [key for key in stage.table.all_keys() if key.sk.startswith(Errand.PREFIX)]
    return [Errand.from_item(item) for item in map(stage.table.get, keys) if item is not None]


@dataclass(frozen=True)
class ErrandStep(Step):
    """A step of an errand, of a meeting or of outreach."""

    @abstractmethod
    def happen(self, stage: "Stage") -> None:
        """Do it."""


@dataclass(frozen=True)
class Reply(ErrandStep):
    """A person answers the newest errand in words, even if it was answered before or is over.

    Attributes:
        sms: By the number in the newest SMS that has one; else in the app.
        unclear: The words name no times.
    """

    who: str = ""
    word: Word | None = None
    sms: bool = False
    unclear: bool = False

    def happen(self, stage: "Stage") -> None:
        """See `ErrandStep`."""
        if self.sms:
            self._by_sms(stage)
        else:
            self._in_app(stage)
        stage.answered(self.who, yes=True)

    def _words(self, stage: "Stage", *, times: bool) -> str:
        """What the person says: times only for a meeting, as an errand brings words back."""
        said = f"Until {DAY} {ENDS[self.who]}" if times and not self.unclear else "Let me think"
        confided = f", {CONFIDED}{stage.words[self.word]}" if self.word else ""
        return f"{said}{confided}."

    def _by_sms(self, stage: "Stage") -> None:
        phone = PHONES.get(self.who)
        texts = [sms.body for sms, _ in stage.sms.taken if sms.phone == phone]
        found = [match for text in texts for match in ASKS_FOR_WORDS.finditer(text)]
        if phone is None or not found:
            return
        question, code = found[-1].groups()
        shown = [each for each in self._asked(stage) if each.text.strip() in question]
        asked = max(shown, key=lambda each: len(each.text), default=None)
        words = self._words(stage, times=_is_about_times(asked))
        sms = InboundSms(
            account_sid="AC1",
            message_sid=f"SM{stage.step} of {self.who}",
            channel=CHANNELS.get(phone, "sms"),
            sender=phone,
            recipient=LINE,
            body=f"{code} {words}",
        )
        stage.app.sms_receiver.receive(sms)

    def _in_app(self, stage: "Stage") -> None:
        asked = max(self._asked(stage), key=lambda each: each.id, default=None)
        if asked is not None and asked.choice is not None:
            given = GivenAnswer(
                tenant=TENANT,
                chat_id=asked.chat_id,
                person_id=self.who,
                seq=asked.seq,
                text=self._words(stage, times=_is_about_times(asked)),
                client_id=f"errand {stage.step}",
            )
            stage.app.get(Answering).answer_in_app(given)

    def _asked(self, stage: "Stage") -> list[Message]:
        """The questions of errands to this person that are answered in words."""
        chats = map(stage.messages, stage.knowledge.chat_ids())
        return [
            each
            for messages in chats
            for each in messages
            if each.choice is not None
            and each.choice.purpose == "errand"
            and each.choice.addressee == self.who
            and not each.choice.options
        ]

    @property
    def sentence(self) -> str:
        """See `Step`."""
        how = "by SMS" if self.sms else "in the app"
        what = "unclear words" if self.unclear else "their times"
        word = f" with the {self.word}" if self.word else ""
        return f"{named(self.who)} answers an errand {how}: {what}{word}."


def _is_about_times(asked: Message | None) -> bool:
    choice = asked.choice if asked is not None else None
    return choice is not None and ErrandData.from_item(choice.data).errand.times


@dataclass(frozen=True)
class Reach(ErrandStep):
    """An operator has Coach write to people, who have consented; what they answer is a `Text`.

    Attributes:
        word: What is written about.
        written: The operator gives the text; else the agent writes.
    """

    people: tuple[str, ...] = ()
    word: Word | None = None
    written: bool = False

    def happen(self, stage: "Stage") -> None:
        """See `ErrandStep`."""
        for who in self.people:
            _consents(stage, who)
        said = f"{CONFIDED}{stage.words[self.word]}." if self.word else "How are you?"
        body = {"people": list(self.people), "agent_id": "agt_a", "asked_by": "The club"}
        made = stage.admin.post("/v1/outreach", body | {self._field: said})
        if made.status != 201:
            return
        stage.outreaches.append(str(made.body["id"]))
        if self.word == "secret":
            stage.knowledge.insiders.update(self.people)
        stage.apply(Pass(minutes=3))

    @property
    def _field(self) -> str:
        return "text" if self.written else "instruction"

    @property
    def sentence(self) -> str:
        """See `Step`."""
        word = f" with the {self.word}" if self.word else ""
        people = " and ".join(map(named, self.people))
        return f"An operator has Coach write to {people}, by {self._field}{word}."


def _consents(stage: "Stage", who: str) -> None:
    """Note that a person has consented to texts on their number, which a form has.

    A number from which somebody new texted after an erasure is no longer theirs.
    """
    user, phone = stage.app.users.get(TENANT, who), PHONES[who]
    if owner_of(stage.table, phone) not in {None, who}:
        return
    address = phone_address(phone)
    if address not in user.addresses:
        numbered = user.model_copy(update={"addresses": (*user.addresses, address)})
        stage.table.write(Put(numbered.key, numbered.to_item()))
    stage.app.get(TextConsents).give(TENANT, who, phone, CHANNELS[phone], CONSENT)
