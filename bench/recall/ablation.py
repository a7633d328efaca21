"""`make bench ONLY=recall-parts`: what each part of recall costs, and what it contributes.

The command prints for each part its lines of code, the items that it stores for a message, and how
much less of the evidence recall shows within 1,000 tokens if the part is left out. It measures
generated conversations with long answers, the same conversations with a friend's short answers, and
a set of short messages. With `DATA=folder`, it adds the conversations of a folder; see
`bench.recall.evidence`.
"""

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from types import ModuleType
from unittest import mock

from bench.recall import generated, long_answers
from bench.recall.evidence import Conversation, Kept, Stand, conversation, share_of
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.recall import (
    candidates,
    changes,
    passages,
    query,
    questions,
    ranking,
    rare_words,
    search,
    time_phrases,
)
from skein.recall.layout import RecalledEntry
from skein.recall.models.stored import Posting, PostingRef

BUDGET, SHORT_SEED, LONG = 1_000, 101, 2

Code = ModuleType | Callable[..., object]
Patch = tuple[object, str, object]
"""An attribute of a module or a class, and the value that leaves the part out."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of recall that can be left out.

    Attributes:
        code: The modules and functions that only this part needs.
        patches: The replaced attributes with which recall reads without the part.
    """

    name: str
    code: tuple[Code, ...]
    patches: tuple[Patch, ...]

    @property
    def lines(self) -> int:
        """The number of lines of code, empty lines left out."""
        texts = map(inspect.getsource, self.code)
        return sum(1 for text in texts for line in text.splitlines() if line.strip())


def _without(weight: str) -> tuple[Patch, ...]:
    return ((ranking, "WEIGHTS", ranking.WEIGHTS | {weight: 0.0}),)


def _older_alone(
    shown: Sequence[changes.ReadPassage], _read: Sequence[changes.ReadPassage]
) -> list[RecalledEntry]:
    return [one.entry for one in shown]


PARTS = (
    Part(
        "vectors of passages",
        (passages,),
        ((search.Recall, "_search", lambda *_: lambda: ()),),
    ),
    Part(
        "postings of rare words",
        (rare_words, Posting, PostingRef, candidates.found_refs),
        ((search, "found_refs", lambda *_: []),),
    ),
    Part("neighbours of hits", (), ((candidates, "NEIGHBOURS", 0),)),
    Part("floor", (search._strong,), ((search, "MATCH", 0.0), (search, "LEAST", -9.0))),
    Part("newer statements", (changes,), ((search, "with_newer", _older_alone),)),
    Part("names of people", (query.people_named, query.without_names), _without("person")),
    Part("time phrases", (time_phrases,), ((query, "time_range_in", lambda *_: None),)),
    *(
        Part(f"weight: {weight}", code, _without(weight))
        for weight, code in (
            ("meaning, 3 messages", ()),
            ("meaning, 7 messages", ()),
            ("words of the passage", ()),
            ("words, 11 messages", ()),
            ("asks for a time", (questions.asks_time, questions.names_time)),
            ("question", (query.ends_with_question,)),
            ("long answer", (candidates.is_long_answer,)),
        )
    ),
)


class Sets:
    """The conversations of each kind, indexed, with their questions."""

    def __init__(self, folder: str = "") -> None:
        files = sorted(Path(folder).glob("*.json")) if folder else []
        self._short = generated.generated(generated.LEAST_SIZE, SHORT_SEED)
        self._short_stand = Stand(StaticEmbeddings(), Tokens())
        self._short_kept = generated.by_recall(self._short, self._short_stand)
        self._long: dict[str, list[tuple[Conversation, Kept]]] = {
            "long": _held(long_answers.conversations(long_answers.TUNING, LONG)),
            "friends": _held(long_answers.of_friends(long_answers.TUNING, LONG)),
        }
        if files:
            known = (conversation(one.stem, json.loads(one.read_text())) for one in files)
            self._long["folder"] = _held([*known])

    def shares(self) -> dict[str, float]:
        """Return the share of the evidence that is shown, by kind of conversation."""
        found = {
            kind: mean(
                share_of(known, asked, kept(known, asked.text, BUDGET))
                for known, kept in each
                for asked in known.questions
                if asked.evidence
            )
            for kind, each in self._long.items()
        }
        short = generated.shares(self._short, self._short_kept, [BUDGET])
        return found | {"short": mean(short.values())}

    def items(self) -> Mapping[str, float]:
        """Return the items that each part stores for a message, in the set of short messages."""
        posted = [
            rare_words.rare_stems(text, self._short_stand.indexing.vocabulary)
            for chat in self._short.chats
            for text in chat.texts
        ]
        return {"vectors of passages": 1.0, "postings of rare words": mean(map(len, posted))}


def _held(conversations: Sequence[Conversation]) -> list[tuple[Conversation, Kept]]:
    held: list[tuple[Conversation, Kept]] = []
    for known in conversations:
        stand = Stand(StaticEmbeddings(), Tokens())
        stand.hold(known)
        held.append((known, stand.recalled))
    return held


def without(part: Part, sets: Sets) -> dict[str, float]:
    """Return the shares of evidence that are shown without a part."""
    with ExitStack() as patched:
        for target, name, value in part.patches:
            patched.enter_context(mock.patch.object(target, name, value))
        return sets.shares()


def main(folder: str = "") -> int:
    """Measure with and without each part, and print a table."""
    sets = Sets(folder)
    whole, items = sets.shares(), sets.items()
    row = partial("{:32}{:>6}{:>8}".format)
    print(row("", "lines", "items") + "".join(f"{kind:>9}" for kind in whole))
    print(row("all parts", "", "") + "".join(f"{share:>9.3f}" for share in whole.values()))
    for part in PARTS:
        found = without(part, sets)
        stored = f"{items[part.name]:.1f}" if part.name in items else "0"
        gains = "".join(f"{whole[kind] - found[kind]:>+9.3f}" for kind in whole)
        print(row(part.name, part.lines or "-", stored) + gains, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
