"""The set with long answers: conversations of one person with an agent that writes a lot.

`make bench ONLY=recall` prints what recall finds in this set, by kind of question. It compares
recall with BM25 over passages and with the newest messages. The agent's answers have 500 to 6,000
characters and repeat the words of the subject. The facts that questions ask for are in sentences of
the person. The set is the same at each run. Odd and even seeds have different subjects and
wordings.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

from bench.recall.evidence import (
    BEGIN,
    BUDGETS,
    ByKind,
    Conversation,
    Kept,
    Stand,
    by_words,
    conversation,
    newest,
    packed,
    shares_by_kind,
)
from bench.recall.long_texts import ADVICE, OPENINGS, REPLIES, VALUES, Topic
from bench.recall.long_texts_a import SMALL_TALK as SMALL_TALK_A
from bench.recall.long_texts_a import TOPICS as TOPICS_A
from bench.recall.long_texts_b import SMALL_TALK as SMALL_TALK_B
from bench.recall.long_texts_b import TOPICS as TOPICS_B
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens

TUNING, REPORTED = 2, 3  # seeds
CONVERSATIONS, TURNS = 20, 150
TOPICS_EACH = 4  # of a conversation
SHORTEST, LONGEST = 500, 6_000  # characters of an answer
LENGTHS = (SHORTEST, 1_500, 2_500, 3_000, 4_000, LONGEST)
SESSION = 10  # messages of a day
PERSON, AGENT, FRIEND = "Maya", "Assistant", "Tom"
NOTHING = "nothing to find"
KINDS = {
    "one": "one fact",
    "changed": "changed fact",
    "several": "several facts",
    "order": "order of events",
    "preference": "preference",
    "instruction": "old instruction",
    "nothing": NOTHING,
}
LATEST = 0.8  # share of the conversation in which facts are told
_SLOT = re.compile(r"\{([a-z]+)\d*\}")


@dataclass(slots=True)
class _Told:
    """A statement of the person, and the turn in which the person makes it."""

    topic: Topic
    text: str
    turn: int = -1


@dataclass(slots=True)
class _Asked:
    """A question with the statements that answer it."""

    kind: str
    text: str
    facts: tuple[_Told, ...]
    needed: str = ""
    older: str = ""


@dataclass(slots=True)
class _Script:
    """The statements and questions of one conversation, before the statements are given turns.

    Attributes:
        chains: Lists of statements. The statements of one list are told in this order.
    """

    dice: random.Random
    values: dict[str, str] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    chains: list[list[_Told]] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)

    def new_values(self) -> None:
        """Forget the values of the names in braces, so that the next ones get other values."""
        self.values.clear()

    def filled(self, text: str) -> str:
        """Replace the names in braces by values."""
        for match in _SLOT.finditer(text):
            slot, kind = match[0], match[1]
            if slot not in self.values:
                if not self.left.get(kind):
                    self.left[kind] = self.dice.sample(VALUES[kind], len(VALUES[kind]))
                self.values[slot] = self.left[kind].pop()
            text = text.replace(slot, self.values[slot])
        return text

    def tell(self, topic: Topic, *texts: str) -> tuple[_Told, ...]:
        """Add statements that are told in this order."""
        told = [_Told(topic, self.filled(text)) for text in texts]
        self.chains.append(told)
        return tuple(told)


def conversations(seed: int, count: int = CONVERSATIONS, turns: int = TURNS) -> list[Conversation]:
    """Generate the conversations of a seed (deterministic)."""
    return [conversation(f"long_{n}", data(seed, n, turns)) for n in range(count)]


def of_friends(seed: int, count: int = CONVERSATIONS) -> list[Conversation]:
    """Generate conversations with the same statements, in which a friend gives short answers."""
    found = (data(seed, n, friends=True) for n in range(count))
    return [conversation(f"friends_{n}", one) for n, one in enumerate(found)]


def data(seed: int, number: int, turns: int = TURNS, *, friends: bool = False) -> dict[str, Any]:
    """Generate one conversation in the form of a file; see `bench.recall.evidence`."""
    dice = random.Random(f"{seed} {number}")
    every = TOPICS_B if seed % 2 else TOPICS_A
    topics = [every[(number + n * 3) % len(every)] for n in range(TOPICS_EACH)]
    script = _written(dice, topics)
    places = _placed(script, turns)
    said = []
    for turn in range(turns):
        answers = turn % 2 == 1
        told = places.get(turn - 1 if answers else turn)
        topic = told.topic if told else topics[(turn // SESSION) % len(topics)]
        if friends:  # they keep to a subject for some messages
            _, nearest = min((abs(at - turn), at) for at in places)
            topic = places[nearest].topic
        if answers:
            length = 0 if friends else dice.choice(LENGTHS)
            text = _answer(dice, topic, told, length)
        else:
            text = _request(dice, topic, told)
        at = BEGIN + timedelta(days=turn // SESSION * 3, minutes=turn)
        said.append(
            {
                "id": f"t{turn}",
                "session": turn // SESSION,
                "at": f"{at:%I:%M %p on %d %B, %Y}",
                "speaker": (FRIEND if friends else AGENT) if answers else PERSON,
                "agent": answers and not friends,
                "text": text,
            }
        )
    questions = [
        {
            "kind": KINDS[asked.kind],
            "question": asked.text,
            "evidence": [f"t{fact.turn}" for fact in asked.facts],
            "decisive": [fact.text for fact in asked.facts],
            "needed": asked.needed,
            "older": asked.older,
        }
        for asked in script.asked
    ]
    return {"turns": said, "questions": questions}


def _written(dice: random.Random, topics: list[Topic]) -> _Script:
    """Write the statements about the topics of a conversation, and the questions."""
    script = _Script(dice)
    for topic in topics:
        for row in topic.rows:
            script.new_values()
            told = script.tell(topic, *filter(None, (row.said, row.later)))
            needed = script.filled(row.needed)
            older = told[0].text if row.later else ""
            script.asked.append(_Asked(row.kind, row.asked, told[-1:], needed, older))
        script.new_values()
        told = tuple(fact for text in topic.several for fact in script.tell(topic, text))
        script.asked.append(_Asked("several", topic.asks_several, told))
        told = tuple(fact for text in topic.events for fact in script.tell(topic, text))
        compared = _compared(topic, told)
        script.asked.append(_Asked("order", topic.asks_order, compared))
        script.asked.append(_Asked("nothing", topic.asks_nothing, ()))
    return script


def _compared(topic: Topic, told: tuple[_Told, ...]) -> tuple[_Told, ...]:
    """Return the two events whose order a question asks about.

    They are the two events that share the most words with the question.
    """
    asked = _long_words(topic.asks_order)
    shared = sorted(told, key=lambda fact: len(asked & _long_words(fact.text)), reverse=True)
    return tuple(sorted(shared[:2], key=told.index))


def _long_words(text: str) -> set[str]:
    return {word[:4] for word in re.findall("[a-z]{4,}", text.casefold())}


def _placed(script: _Script, turns: int) -> dict[int, _Told]:
    """Give each statement a turn of the person.

    Between two statements of a chain, there are at least 20 turns if there is room.
    """
    dice = script.dice
    free = list(range(0, int(turns * LATEST), 2))
    late = list(range(int(turns * LATEST) // 2 * 2, turns - 10, 2))
    places: dict[int, _Told] = {}
    # Chains of two first, since they need more room.
    for chain in sorted(script.chains, key=len, reverse=True):
        turn = -20
        for position, fact in enumerate(chain):
            rest = len(chain) - position - 1
            fit = [at for at in free if at >= turn + 20 and (not rest or at < turns // 3)]
            turn = dice.choice(fit or free or late)
            (free if turn in free else late).remove(turn)
            fact.turn, places[turn] = turn, fact
    return places


def _request(dice: random.Random, topic: Topic, told: _Told | None) -> str:
    opening = _filled_in(dice, topic, dice.choice(OPENINGS))
    if told is None:
        return opening
    # A third of the statements stand alone, the others beside a request.
    return dice.choice((told.text, f"{told.text} {opening}", f"{opening} {told.text}"))


def _answer(dice: random.Random, topic: Topic, told: _Told | None, length: int) -> str:
    """Write an answer of about this length; for a length of 0, a sentence or two."""
    parts = [_filled_in(dice, topic, dice.choice(REPLIES))] if told else []
    while sum(map(len, parts)) + len(parts) < length - 120:
        sentence = _filled_in(dice, topic, dice.choice(ADVICE))
        # A paragraph has about four sentences.
        parts.append(sentence + ("\n" if dice.random() < 1 / 4 else ""))
    text = " ".join(parts).replace("\n ", "\n\n").strip()
    while len(text) < min(SHORTEST, length or 1):
        text += " " + _filled_in(dice, topic, dice.choice(ADVICE))
    return text[:LONGEST]


def _filled_in(dice: random.Random, topic: Topic, text: str) -> str:
    word, other = dice.sample(topic.words.split(", "), 2)
    return text.format(name=topic.name, word=word, other=other)


class GateCase(NamedTuple):
    """A message that tests the gate, which decides whether a message needs recall.

    Attributes:
        sort: `small talk`, `question` or `statement`.
        conversation: The number of its conversation in `conversations`.
        decisive: The earlier statement that an answer needs; empty for small talk.
    """

    sort: str
    conversation: int
    text: str
    decisive: str


def gate_cases(seed: int) -> Iterator[GateCase]:
    """Yield 50 messages of each sort, with the subjects and the wording of the seed."""
    small = SMALL_TALK_B if seed % 2 else SMALL_TALK_A
    texts = [text.strip() for text in small.replace("\n", "|").split("|") if text.strip()]
    for number, text in enumerate(texts):
        yield GateCase("small talk", number % CONVERSATIONS, text, "")
    left = {row.asked for topic in (TOPICS_B if seed % 2 else TOPICS_A) for row in topic.rows}
    for number in range(CONVERSATIONS):
        for asked in data(seed, number)["questions"]:
            if asked["needed"] and asked["question"] in left:
                left.discard(asked["question"])
                [decisive] = asked["decisive"]
                yield GateCase("question", number, asked["question"], decisive)
                yield GateCase("statement", number, asked["needed"], decisive)


def by_recall(known: Sequence[Conversation]) -> Kept:
    """Store and index each conversation in an index of its own.

    Returns a function that gives what recall shows for a question.
    """
    embeddings, tokens = StaticEmbeddings(), Tokens()
    stands: dict[str, Stand] = {}
    for one in known:
        stands[one.chat_id] = Stand(embeddings, tokens)
        stands[one.chat_id].hold(one)
    return lambda one, question, budget: stands[one.chat_id].recalled(one, question, budget)


def measure(seed: int = REPORTED, count: int = CONVERSATIONS) -> dict[str, ByKind]:
    """Measure the set of a seed and print a table.

    Returns:
        The shares of each way to find messages.
    """
    known, tokens = conversations(seed, count), Tokens()
    ways = {
        "newest": packed(newest, tokens),
        "BM25": packed(by_words(), tokens),
        "recall": by_recall(known),
    }
    measured = {name: shares_by_kind(known, kept) for name, kept in ways.items()}
    questions = sum(len(one.questions) for one in known)
    print(
        f"long answers, seed {seed}: {count} conversations of {TURNS} messages, {questions}"
        " questions; share of the evidence that is shown, or of empty answers to"
        f' "{NOTHING}"\n'
    )
    print(f"{'tokens':18}" + "".join(f"{budget:>24,}" for budget in BUDGETS))
    print(f"{'':18}" + "".join(f"{name:>8}" for _ in BUDGETS for name in ways))
    for kind in (*KINDS.values(), ""):
        cells = (measured[name][kind][budget] for budget in BUDGETS for name in ways)
        print(f"{kind or 'all with evidence':18}" + "".join(f"{cell:>8.3f}" for cell in cells))
    return measured
