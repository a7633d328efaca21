"""The subjects of the set with long answers: what the person says, and what is asked later."""

from typing import NamedTuple


class Row(NamedTuple):
    """Something that the person says once, with later messages that need it.

    Attributes:
        kind: The kind of question.
        said: What the person says.
        asked: A question that `said` answers.
        needed: A later message that asks nothing, but can't be answered well without `said`.
        later: What the person says later that makes `said` outdated; empty if `said` stays true.
    """

    kind: str
    said: str
    asked: str
    needed: str
    later: str = ""


class Topic(NamedTuple):
    """A subject of a conversation.

    Attributes:
        name: The name of the subject.
        words: The words that the agent's answers repeat.
        rows: What the person says, with questions.
        several: Statements that together answer `asks_several`.
        events: Three events. The first two are told in random order.
        asks_order: A question about the order of two of the events.
        asks_nothing: A question that no statement answers.
    """

    name: str
    words: str
    rows: tuple[Row, ...]
    several: tuple[str, str, str]
    asks_several: str
    events: tuple[str, str, str]
    asks_order: str
    asks_nothing: str


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


def rows(lines: str) -> tuple[Row, ...]:
    """Read rows: one per line, with bars between the parts."""
    return tuple(
        Row(*(part.strip() for part in line.split(" | "))) for line in lines.strip().splitlines()
    )


# The values that stand for the names in braces; a number after a name asks for another value.
VALUES = {
    "name": _list(
        "Alma, Bruno, Clara, Dario, Edith, Felix, Gesa, Henry, Ilse, Jakob, Karla, Lukas, Marta, "
        "Nadia, Oskar, Paula, Quentin, Rosa, Sven, Tilda, Ulrich, Vera, Wanda, Yusuf, Zoe"
    ),
    "city": _list(
        "Lyon, Porto, Graz, Bergen, Turin, Ghent, Malmo, Bilbao, Krakow, Split, Basel, Cork, "
        "Leeds, Bremen, Tampere, Nantes, Seville, Trieste, Aarhus, Utrecht"
    ),
    "brand": _list(
        "Avelo, Brimma, Corvan, Dulane, Estrix, Fandor, Grelt, Hovano, Istrel, Jurno, Kelvar, "
        "Lumeo, Morvia, Nestol, Orvain, Pralte, Quesno, Ruvana, Solmer, Tavrin, Ulmera, Vestro"
    ),
    "colour": _list("green, red, blue, yellow, black, brown, purple, grey, orange, white"),
    "plant": _list("thyme, mint, lavender, clove, sage, basil, fennel, anise, ginger, rosemary"),
    "month": _list("January, February, March, April, May, June, July, August, September, October"),
    "day": _list("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"),
    "side": ("left", "right"),
    "street": _list("Mill, Lake, Station, Castle, Garden, Bridge, Tower, Market, Church, Forest"),
    "hour": _list("6, 7, 8, 9, 10, 11, 2, 3, 4, 5"),
    "n": tuple(map(str, range(11, 29))),
    "price": _list("1250, 1480, 1730, 2150, 2460, 2890, 3340, 3870, 4120, 4560"),
    "code": _list("3817, 4492, 5036, 6174, 7283, 8350, 9461, 2758, 1693, 6905"),
}

# What the person writes around a statement, or instead of one.
OPENINGS = (
    "Tell me more about {word} and {other}.",
    "What should I know about the {word}?",
    "Can you explain the {word} to me again?",
    "I have trouble with the {word}, what would you do?",
    "How do other people handle the {word} and the {other}?",
    "Give me a long list of tips about the {word}.",
    "Is it normal that the {word} takes so much time?",
    "I read an article about the {other} today, is there something to it?",
    "Let us talk about {name} again.",
    "Which mistakes do beginners make with the {word}?",
    "Compare the {word} and the {other} for me.",
    "What comes first, the {word} or the {other}?",
)
# Sentences of the agent's answers.
ADVICE = (
    "When it comes to {name}, the {word} matters more than most people think.",
    "Many people ask about the {word}, and the answer depends on the {other}.",
    "Start with the {word}, then look at the {other}, and give it a few days.",
    "A good rule is to change only one thing at a time: first the {word}, later the {other}.",
    "If the {word} gives you trouble, write down what you did and what happened.",
    "There are three common opinions about the {word}, and none of them is wrong.",
    "Your {word} will never be the same twice, and that is a part of {name}.",
    "Think of the {other} as a partner of the {word}.",
    "Experts in {name} usually recommend patience with the {word}.",
    "You asked about the {other}: it is worth a closer look.",
    "The {word} should be checked once a week, the {other} about once a month.",
    "Who knows the {word} well can save a lot of money on the {other}.",
    "Do not forget the {other}, since it decides how the {word} turns out.",
    "How often you need the {word} depends on where you live and on the time of the year.",
    "What do you want to do with the {word} next, and how do you like the {other} so far?",
    "It also helps to ask somebody with experience in {name} which {word} they use.",
    "In the first month, {name} is mostly about the {word}.",
    "Always keep the {word} clean, and keep the {other} at hand.",
    "Most of my advice on {name} comes down to the {word}, the {other} and some luck.",
    "Before you buy anything for the {word}, compare what you already have.",
)
# How an answer begins after a statement; it repeats the subject and says nothing new.
REPLIES = (
    "Thank you for telling me, I will keep it in mind for everything about {name}.",
    "That is good to know about your {name}.",
    "Noted. With that, we can go on with {name}.",
    "I see, that fits what you have said about {name} before.",
)
