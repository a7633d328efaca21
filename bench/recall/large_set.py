"""A large generated set: 100,000 messages in 1,000 chats, in which no sentence comes twice.

In each chat, Dana talks with one other person. Each kind has a hundred questions about facts, which
are hidden among small talk with the same words. The set is the same at each run.
"""

import random
from collections.abc import Callable
from itertools import product

from bench.recall.evidence import BEGIN
from bench.recall.generated import (
    ANIMALS,
    CITIES,
    DAYS,
    FOODS,
    JOBS,
    LATEST,
    MONTHS,
    OTHER_WORDS,
    PERSON,
    PLANTS,
    ROLES,
    ROOMS,
    SYLLABLES,
    GeneratedSet,
    Script,
    written,
)

CHATS, MESSAGES = 1_000, 100_000
EACH = 100  # questions of a kind


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


RELATIVES = _list(
    "mother, father, brother, sister, uncle, aunt, cousin, nephew, niece, grandmother, "
    "grandfather, godmother, neighbour, landlord, flatmate, stepson, daughter, tutor, boss, trainer"
)
COLOURS = _list("red, blue, green, white, old, new, small, big, front, back")
TRADES = (
    *JOBS,
    *_list("tailor, lawyer, teacher, plumber, coach, dentist, florist, waiter, miner, banker"),
)
SPORTS = _list(
    "tennis, chess, rugby, hockey, golf, squash, cricket, handball, darts, polo, judo, karate, "
    "volleyball, badminton, curling, fencing, snooker, baseball, basketball, football"
)
SUBJECTS = _list(
    "physics, law, medicine, history, music, botany, geology, latin, statistics, nursing, design, "
    "theatre, philosophy, biology, chemistry, geography, economics, forestry, astronomy, theology"
)
CARS = _list(
    "Volvo, Fiat, Skoda, Honda, Mazda, Toyota, Jeep, Tesla, Opel, Ford, Renault, Dacia, Saab, "
    "Nissan, Subaru, Kia, Lexus, Audi, Peugeot, Suzuki"
)
# What somebody says at first and later, and what is asked.
CHANGES = (
    ("I live in {}.", "I have moved, I live in {} now.", "Where does {} live?", CITIES),
    ("I work as a {}.", "I changed jobs, I work as a {} now.", "What is the job of {}?", TRADES),
    ("I play {}.", "I gave that up, I play {} now.", "Which sport does {} play?", SPORTS),
    ("I study {}.", "I switched, I study {} now.", "Which subject does {} study?", SUBJECTS),
    ("I drive a {}.", "We sold it, I drive a {} now.", "Which car does {} drive?", CARS),
)
# What Dana says of a relative in one chat, and is asked in another.
OF_RELATIVES = (
    ("My {} works as a {}.", "What job does {}'s {} have?", TRADES),
    ("My {} lives in {}.", "In which city does {}'s {} live?", CITIES),
    ("My {} plays {}.", "Which sport does {}'s {} play?", SPORTS),
    ("My {} studies {}.", "What does {}'s {} study?", SUBJECTS),
    ("My {} drives a {}.", "Which car does {}'s {} drive?", CARS),
)
DEEDS = (
    ("Today I planted a {}.", "What did {} plant in {} {}?"),
    ("Today I repaired the {}.", "What did {} repair in {} {}?"),
    ("Today I painted the {}.", "What did {} paint in {} {}?"),
    ("Today I cleaned the {}.", "What did {} clean in {} {}?"),
    ("Today I sold the {}.", "What did {} sell in {} {}?"),
)
WHO = _list(
    "my neighbour, a colleague, somebody at work, the man from upstairs, a friend of ours, the "
    "postman, our teacher, the woman next door, an old classmate, my flatmate, the driver, "
    "a cousin of mine, the baker, one of the kids, the new doctor, my boss, her sister, his brother"
)
WHEN = _list(
    "yesterday, this morning, last night, on Monday, on Friday, two days ago, over the weekend, "
    "before lunch, after work, around noon, late in the evening, during the break, in the rain, "
    "all day, for an hour, once more, just now, earlier today, as usual, again"
)
PLACES = _list(
    "at the station, in the park, by the lake, near the market, behind the school, at the harbour, "
    "in the kitchen, on the balcony, outside the library, at the bus stop, in the garden, at the "
    "pool, in the hall, near the bridge, on the square, at the gym, in the cellar, by the river"
)
THINGS = _list(
    "a lamp, some bread, the keys, a letter, two chairs, a map, the laundry, a jacket, some soup, "
    "a ticket, the radio, a basket, an umbrella, three books, a cake, the bill, a phone, the paper"
)
# Small talk with the words of the facts.
SMALL_TALK = (
    "{who} lives near {city} and came by {place} {when}",
    "{who} works too much and missed the bus {place} {when}",
    "{who} plays with the {animal} {place} {when}",
    "{who} has to study {place} and lost {thing} {when}",
    "{who} drives too fast {place}, I saw it {when}",
    "{who} forgot the code of the door {place} {when}",
    "{who} ate {food} with {thing} on the table {place} {when}",
    "{who} does not eat {food}, or so I heard {place} {when}",
    "{who} planted something {place} and left {thing} there {when}",
    "{who} was called about {thing} {place} {when}",
    "{who} sold {thing} to someone from {city} {when}",
    "{who} painted the fence {place} {when}, it took {hour} hours",
    "{who} told me a story about {city} {place} {when}",
    "{who} walked the {animal} {place} {when} and found {thing}",
    "I bought {thing} {place} {when}, {who} was there, too",
    "I saw {who} with {thing} {place} {when}",
    "we met {who} {place} {when} and talked about {city}",
    "could you ask {who} for {thing} {place} {when}",
    "the weather in {city} was fine {when}, {who} wrote from there",
    "let us cook {food} for {who} {when}, I bring {thing}",
)


def large_set(messages: int = MESSAGES, chats: int = CHATS, seed: int = 17) -> GeneratedSet:
    """Generate the set (deterministic).

    Args:
        messages: The number of messages, at least 40 for each chat.
        chats: The number of chats, at least 100.
        seed: Another seed makes other names, numbers and orders.
    """
    dice = random.Random(seed)
    script = Script(dice, messages // chats, dice.sample(_all_names(), chats))
    for write in KINDS.values():
        write(script)
    said: set[str] = set()
    return written(script, lambda dice: _small_talk(dice, said))


def _small_talk(dice: random.Random, said: set[str]) -> str:
    """Return a sentence that was not said yet."""
    while True:
        text = dice.choice(SMALL_TALK).format(
            who=dice.choice(WHO),
            city=dice.choice(CITIES),
            place=dice.choice(PLACES),
            when=dice.choice(WHEN),
            animal=dice.choice(ANIMALS),
            thing=dice.choice(THINGS),
            food=dice.choice(FOODS),
            hour=dice.randrange(2, 12),
        )
        text = f"{text[0].upper()}{text[1:]}."
        if text not in said:
            said.add(text)
            return text


def _hundred(script: Script) -> list[int]:
    """Return the numbers of a hundred chats."""
    return script.dice.sample(range(len(script.others)), EACH)


def _all_names() -> list[str]:
    return ["".join(parts).capitalize() for parts in product(SYLLABLES, repeat=3)]


def _names(script: Script) -> None:
    free = [name for name in _all_names() if name not in script.others]
    people = script.dice.sample(free, EACH)
    for chat, person, role in zip(_hundred(script), people, ROLES * len(ROLES), strict=True):
        fact = script.tell(f"My {role} is called {person}.", chat)
        script.ask("names", f"Who is {person}?", fact)


def _numbers(script: Script) -> None:
    doors = product(COLOURS, ROOMS)
    for chat, (colour, room) in zip(_hundred(script), doors, strict=True):
        code = script.dice.randrange(1_000, 10_000)
        fact = script.tell(f"The code of the {colour} {room} is {code}.", chat)
        script.ask("numbers", f"What is the code of the {colour} {room}?", fact)


def _dates(script: Script) -> None:
    chats = iter(_hundred(script))
    for (told, asked), things in zip(DEEDS, (PLANTS, *[ROOMS] * 4), strict=True):
        objects = [f"{age} {thing}" for age, thing in product(("old", "new"), things)]
        for month, thing in enumerate(script.shuffled(objects)):
            year, named = BEGIN.year + month // 12, MONTHS[month % 12]
            begin = (BEGIN.replace(year=year, month=month % 12 + 1) - BEGIN).days
            within = ((begin + 2) / DAYS, (begin + 20) / DAYS)
            fact = script.tell(told.format(thing), next(chats), PERSON, between=within)
            script.ask("dates", asked.format(PERSON, named, year), fact)


def _negations(script: Script) -> None:
    for number, chat in enumerate(_hundred(script), 3):
        food = FOODS[number % len(FOODS)]
        fact = script.tell(f"I do not eat {food}, they made me ill {number} times.", chat)
        script.ask("negations", f"What does {script.others[chat]} not eat?", fact)


def _changed_facts(script: Script) -> None:
    chats = iter(_hundred(script))
    for before, after, asked, words in CHANGES:
        for old, new in zip(script.shuffled(words), script.shuffled(words), strict=True):
            chat = next(chats)
            script.tell(before.format(old), chat, between=(0, 0.4))
            fact = script.tell(after.format(new), chat, between=(0.5, LATEST))
            script.ask("changed facts", asked.format(script.others[chat]), fact)


def _many_chats(script: Script) -> None:
    chats = iter(_hundred(script))
    for told, asked, words in OF_RELATIVES:
        pairs = zip(script.shuffled(RELATIVES), script.shuffled(words), strict=True)
        for relative, word in pairs:
            fact = script.tell(told.format(relative, word), next(chats), PERSON)
            elsewhere = (fact.chat + len(script.others) // 2) % len(script.others)
            script.ask("many chats", asked.format(PERSON, relative), fact, elsewhere)


def _other_words(script: Script) -> None:
    for chat, ((told, asked), when) in zip(
        _hundred(script), product(OTHER_WORDS, WHEN[:10]), strict=True
    ):
        fact = script.tell(f"{told.rstrip('.')}, I told you {when}.", chat)
        script.ask("other words", asked.format(name=script.others[chat]), fact)


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
