"""`make bench ONLY=recall`: recall on a generated set, by the differences that users notice.

The set is the same at each run: several chats of one person with other people, with facts among
small talk. For each kind of question, the set has decoys: messages that share most of the
question's words. With `SIZE=100000`, the set has more messages and the same number of questions, so
the facts are harder to find.
"""

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from statistics import mean
from typing import NamedTuple

from bench.recall import evidence as recall
from bench.recall import long_answers
from bench.recall.evidence import BEGIN, Conversation, Kept, Stand, by_words, newest, packed
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens

DEFAULT_SIZE, LEAST_SIZE = 2_000, 1_200
SEED, DAYS, DAY_SECONDS = 17, 700, 86_400
EACH = 10  # questions of a kind
LATEST = 0.9  # share of the time; the messages after it are small talk
SHOWN_BUDGETS = (150, 1_000)  # about six messages, and forty


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


PERSON = "Dana"
# The other person of each chat.
OTHERS = _list("Ben, Cem, Eve, Finn, Greta, Hugo, Ines, Jonas, Kira, Liam, Mona, Nils")
CITIES = _list(
    "Lyon, Porto, Graz, Bergen, Turin, Ghent, Malmo, Bilbao, Krakow, Split, Basel, Cork, Leeds, "
    "Bremen, Tampere, Nantes, Seville, Trieste, Aarhus, Utrecht"
)
FOODS = _list(
    "mushrooms, olives, peanuts, cheese, shrimps, onions, celery, coconut, raisins, beetroot, "
    "garlic, tofu"
)
ANIMALS = _list("cat, dog, rabbit, parrot, hamster, turtle, pony, goat")
PLANTS = _list(
    "fig tree, rose bush, lavender, grape vine, plum tree, birch, magnolia, cherry tree, "
    "walnut tree, blackberry"
)
ROOMS = _list(
    "shed, garage, cellar, attic, bike locker, garden gate, boat house, laundry, archive, barn"
)
ROLES = _list("dentist, teacher, plumber, doctor, coach, baker, gardener, florist, tailor, lawyer")
RELATIVES = _list(
    "mother, father, brother, sister, uncle, aunt, cousin, nephew, niece, grandmother"
)
JOBS = _list("nurse, pilot, cook, judge, painter, farmer, baker, chemist, sailor, carpenter")
SYLLABLES = _list("ba, du, fe, go, hi, ka, lo, mu, na, pe, ri, so, ta, vo, we, xi, ya, zo")
MONTHS = _list(
    "January, February, March, April, May, June, July, August, September, October, November, "
    "December"
)
SMALL_TALK = (
    "The weather in {city} is fine today.",
    "I had {food} with bread for lunch.",
    "My neighbour has a {animal} again.",
    "Shall we meet at {hour}?",
    "Sounds good, see you at {hour}.",
    "I read about {city} yesterday, it looks pretty.",
    "The bus took {hour} minutes longer than usual.",
    "Do you like {food}?",
    "I slept badly, the {animal} next door was loud.",
    "Thanks, that helped a lot!",
    "Let us talk about the garden another time.",
    "I may look for a new flat some day.",
    "No, not today.",
    "I cannot find my keys.",
    "I have not eaten yet, do you eat at home?",
    "They do not eat before {hour}.",
    "My colleague lives near {city} now.",
    "Nobody told me the code of the door.",
    "My boss called, she works too much.",
    "I want to plant something soon.",
    "What is that shop in {city} called?",
)
# A fact, and a question that shares none of its telling words.
OTHER_WORDS = (
    ("Our beagle chewed my shoes.", "Which pet belongs to {name}?"),
    ("I bought a violin and practise each evening.", "Which musical instrument does {name} play?"),
    ("We flew over the ocean for our honeymoon.", "How did {name} travel after the wedding?"),
    ("The surgeon says my knee will heal.", "What medical problem did {name} mention?"),
    ("I finally passed the exam at the university.", "How are the studies of {name} going?"),
    ("My salary went up by a tenth.", "Does {name} earn more money?"),
    ("Our baby was born on Sunday.", "Does {name} have children?"),
    ("I painted the bedroom walls light blue.", "Which colours did {name} choose to decorate?"),
    ("The engine broke down on the motorway.", "What happened to the car of {name}?"),
    ("We pitched our tent beside the lake.", "Where did {name} go camping?"),
)


class Fact(NamedTuple):
    """A message of the set that is worth finding, with its chat and position."""

    chat: int
    position: int
    speaker: str
    text: str


class GeneratedQuestion(NamedTuple):
    """A question of one kind, asked in a chat, with the fact that answers it."""

    kind: str
    chat: int
    text: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class GeneratedSet:
    """Chats of one person, and questions about what was said in them.

    Attributes:
        whole: All messages of all chats by time, as one conversation.
        positions: The position of each message in `whole`, by its chat and its position in that
            chat.
    """

    chats: tuple[Conversation, ...]
    whole: Conversation
    positions: dict[tuple[int, int], int]
    questions: tuple[GeneratedQuestion, ...]


Said = list[tuple[float, str, str]]
"""Messages: the second since the begin, the speaker and the text."""


def generated(size: int, seed: int = SEED) -> GeneratedSet:
    """Generate a set (deterministic).

    Args:
        size: The number of messages, at least 1,200; rounded down to a multiple of 12.
        seed: Another seed makes other names, numbers and orders.

    Raises:
        ValueError: The size is too small for the facts.
    """
    if size < LEAST_SIZE:
        raise ValueError(f"the set needs at least {LEAST_SIZE} messages")
    dice = random.Random(seed)
    script = Script(dice, size // len(OTHERS), OTHERS)
    for write in KINDS.values():
        write(script)
    return written(script, _small_talk)


def written(script: "Script", small_talk: Callable[[random.Random], str]) -> GeneratedSet:
    """Write small talk around the facts of a script."""
    facts = {(fact.chat, fact.position): fact for fact in script.facts}
    step = DAYS * DAY_SECONDS / (script.length * len(script.others))
    chats: list[Said] = [[] for _ in script.others]
    whole: Said = []
    positions: dict[tuple[int, int], int] = {}
    for position in range(script.length):
        for chat, other in enumerate(script.others):
            fact = facts.get((chat, position))
            speaker = fact.speaker if fact else script.dice.choice((PERSON, other))
            text = fact.text if fact else small_talk(script.dice)
            message = (len(whole) * step, speaker, text)
            positions[chat, position] = len(whole)
            chats[chat].append(message)
            whole.append(message)
    return GeneratedSet(
        tuple(_conversation(f"chat_{chat}", said) for chat, said in enumerate(chats)),
        _conversation("chat_all", whole),
        positions,
        tuple(script.questions),
    )


@dataclass(slots=True)
class Script:
    """The facts and questions of a set that have been written so far.

    Attributes:
        length: The number of messages of each chat.
        others: The other person of each chat.
    """

    dice: random.Random
    length: int
    others: Sequence[str]
    facts: list[Fact] = field(default_factory=list)
    questions: list[GeneratedQuestion] = field(default_factory=list)
    taken: set[tuple[int, int]] = field(default_factory=set)

    def tell(
        self,
        text: str,
        chat: int,
        speaker: str | None = None,
        *,
        between: tuple[float, float] = (0, LATEST),
    ) -> Fact:
        """Add a fact at a free place of a chat.

        `between` limits the place, by shares of the chat's length.
        """
        first, last = ceil(between[0] * self.length), int(between[1] * self.length)
        free = [at for at in range(first, last + 1) if (chat, at) not in self.taken]
        position = self.dice.choice(free)
        self.taken.add((chat, position))
        fact = Fact(chat, position, speaker or self.others[chat], text)
        self.facts.append(fact)
        return fact

    def ask(self, kind: str, text: str, fact: Fact, chat: int | None = None) -> None:
        """Add a question. By default, it is asked in the chat of its fact."""
        asked_in = fact.chat if chat is None else chat
        self.questions.append(GeneratedQuestion(kind, asked_in, text, fact))

    def shuffled(self, words: Sequence[str]) -> list[str]:
        """Return the words in random order."""
        return self.dice.sample(words, len(words))

    def name(self) -> str:
        """Return an invented name that is in no dictionary."""
        return "".join(self.dice.sample(SYLLABLES, 3)).capitalize()


def _names(script: Script) -> None:
    for chat, role in enumerate(script.shuffled(ROLES)):
        name = script.name()
        fact = script.tell(f"My {role} is called {name}.", chat)
        script.tell(f"I saw my {role} again, it was fine.", chat)
        script.ask("names", f"Who is {name}?", fact)


def _numbers(script: Script) -> None:
    for chat, room in enumerate(script.shuffled(ROOMS)):
        code = script.dice.randrange(1_000, 10_000)
        fact = script.tell(f"The code of the {room} is {code}.", chat)
        script.tell(f"Somebody has changed the lock of the {room}.", chat)
        by_code = f"Which door has the code {code}?"
        script.ask("numbers", f"What is the code of the {room}?" if chat % 2 else by_code, fact)


def _dates(script: Script) -> None:
    for chat, plant in enumerate(script.shuffled(PLANTS)):
        month = 2 * chat + 1
        year, named = BEGIN.year + month // 12, MONTHS[month % 12]
        begin = (BEGIN.replace(year=year, month=month % 12 + 1) - BEGIN).days
        within = ((begin + 1) / DAYS, (begin + 20) / DAYS)
        fact = script.tell(f"Today I planted a {plant}.", chat, PERSON, between=within)
        script.tell(f"Next year I want to plant a {plant}, too.", chat, PERSON)
        script.ask("dates", f"What did {PERSON} plant in {named} {year}?", fact)


def _negations(script: Script) -> None:
    foods = script.shuffled(FOODS)
    for chat in range(EACH):
        fact = script.tell(f"I do not eat {foods[chat]}, they make me ill.", chat)
        for more in (1, 2):
            script.tell(f"I eat {foods[(chat + more) % len(foods)]} nearly every day.", chat)
        script.ask("negations", f"What does {OTHERS[chat]} not eat?", fact)


def _changed_facts(script: Script) -> None:
    cities = script.shuffled(CITIES)
    for chat in range(EACH):
        script.tell(f"I live in {cities[2 * chat]}.", chat, between=(0, 0.4))
        moved = f"I have moved, I live in {cities[2 * chat + 1]} now."
        fact = script.tell(moved, chat, between=(0.5, LATEST))
        script.ask("changed facts", f"Where does {OTHERS[chat]} live?", fact)


def _many_chats(script: Script) -> None:
    pairs = zip(script.shuffled(RELATIVES), script.shuffled(JOBS), strict=True)
    for chat, (relative, job) in enumerate(pairs):
        fact = script.tell(f"My {relative} works as a {job}.", chat, PERSON)
        text = f"What job does {PERSON}'s {relative} have?"
        script.ask("many chats", text, fact, chat=(chat + 5) % len(OTHERS))


def _other_words(script: Script) -> None:
    for chat, (text, question) in enumerate(OTHER_WORDS):
        fact = script.tell(text, chat)
        script.ask("other words", question.format(name=OTHERS[chat]), fact)


# How the facts and questions of each kind are written; dates first, because they need their month.
KINDS: dict[str, Callable[[Script], None]] = {
    "dates": _dates,
    "names": _names,
    "numbers": _numbers,
    "negations": _negations,
    "changed facts": _changed_facts,
    "many chats": _many_chats,
    "other words": _other_words,
}


def _small_talk(dice: random.Random) -> str:
    return dice.choice(SMALL_TALK).format(
        city=dice.choice(CITIES),
        food=dice.choice(FOODS),
        animal=dice.choice(ANIMALS),
        hour=dice.randrange(7, 22),
    )


def _conversation(chat_id: str, said: Said) -> Conversation:
    times = tuple(BEGIN + timedelta(seconds=int(second)) for second, _, _ in said)
    return Conversation(
        chat_id,
        tuple(text for _, _, text in said),
        tuple(speaker for _, speaker, _ in said),
        times,
        tuple((at - BEGIN).days for at in times),
        questions=(),
    )


def shares(
    known: GeneratedSet, kept: Kept, budgets: Sequence[int] = SHOWN_BUDGETS
) -> dict[tuple[str, int], float]:
    """Return the share of questions whose fact is shown, by kind and budget.

    Args:
        known: The set.
        kept: Returns the positions in `known.whole` that are shown, for a chat, a question and a
            budget.
    """
    found: dict[tuple[str, int], list[bool]] = {}
    for question in known.questions:
        evidence = known.positions[question.fact.chat, question.fact.position]
        for budget in budgets:
            shown = kept(known.chats[question.chat], question.text, budget)
            found.setdefault((question.kind, budget), []).append(evidence in shown)
    return {each: mean(values) for each, values in found.items()}


def by_recall(known: GeneratedSet, stand: Stand) -> Kept:
    """Store and index a set; return a function that gives what recall shows for a question."""
    stand.load(known.chats)
    return shown_by(known, stand)


def shown_by(known: GeneratedSet, stand: Stand, *, thorough: bool = False) -> Kept:
    """Return a function that gives what recall shows, in a prompt or by the tool (`thorough`)."""
    numbers = {chat.chat_id: number for number, chat in enumerate(known.chats)}

    def kept(asked_in: Conversation, question: str, budget: int) -> dict[int, str]:
        entries = stand.find(asked_in, question, budget, thorough=thorough).entries
        return {
            known.positions[numbers[entry.chat.id], entry.message.seq - 1]: entry.text
            for entry in entries
        }

    return kept


def over_all(known: GeneratedSet, kept: Kept) -> Kept:
    """Return a function that gives what is shown if all chats were one conversation."""
    return lambda _, question, budget: kept(known.whole, question, budget)


def measure(size: int) -> dict[str, dict[tuple[str, int], float]]:
    """Measure a set of this size and print a table.

    Returns:
        The shares of each way to find facts; see `shares`.
    """
    known, tokens = generated(size), Tokens()
    stand = Stand(StaticEmbeddings(), tokens)
    measured: dict[str, dict[tuple[str, int], float]] = {}
    for name, order in (("newest", newest), ("BM25", by_words())):
        measured[name] = shares(known, over_all(known, packed(order, tokens)))
    measured["recall"] = shares(known, by_recall(known, stand))
    print(
        f"generated: {len(known.whole.texts):,} messages, {len(known.chats)} chats of one person,"
        f" {len(known.questions)} questions; share of the facts that are shown\n"
    )
    print(f"{'tokens':16}" + "".join(f"{budget:>30,}" for budget in SHOWN_BUDGETS))
    print(f"{'':16}" + "".join(f"{name:>10}" for _ in SHOWN_BUDGETS for name in measured))
    for kind in KINDS:
        cells = (each[kind, budget] for budget in SHOWN_BUDGETS for each in measured.values())
        print(f"{kind:16}" + "".join(f"{cell:>10.2f}" for cell in cells))
    print(f"\na recall took {mean(stand.recall_seconds) * 1e3:.0f} ms")
    return measured


def main(folder: str = "", size: str = "") -> int:
    """Measure the conversations of a folder, if one is named, and the generated set.

    Returns:
        1 if a share that is required for the folder is missed, else 0.
    """
    failed = 0
    if folder:
        failed = recall.main(folder)
        print()
    long_answers.measure()
    print()
    measure(int(size or DEFAULT_SIZE))
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
