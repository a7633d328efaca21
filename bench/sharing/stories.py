"""Stories with questions, read from `episodes.jsonl` and `checkpoints.jsonl` of a domain."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

STORIES, QUESTIONS = "episodes.jsonl", "checkpoints.jsonl"
BEGIN = datetime(2026, 3, 2, 8, tzinfo=UTC)  # of a story without times
BETWEEN = timedelta(minutes=20)  # from a turn to the next one without a time
AGENT = "agent"  # the role of the assistant itself

Kind = Literal["utility", "privacy", "safety"]


@dataclass(frozen=True, slots=True)
class Principal:
    """A person of a story.

    Attributes:
        subjects: The people in the story to whom the person's role relates.
    """

    id: str
    role: str
    name: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a person to the agent."""

    person: str
    role: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with the strings to look for in its prompt.

    Attributes:
        turns: The number of turns before the question.
        counted: The strings to look for, in lower case. For the kind `utility`, they are facts that
            the person who asks needs; otherwise, facts that the person must not get.
    """

    id: str
    kind: Kind
    asker: str
    turns: int
    text: str
    counted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A story, with its questions in the order in which they are asked."""

    id: str
    domain: str
    people: tuple[Principal, ...]
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    def person(self, person_id: str) -> Principal:
        """Return a person by id."""
        return next(person for person in self.people if person.id == person_id)


Domains = Mapping[str, Sequence[Story]]
"""The stories of each domain, sorted by id."""


def domains_in(folder: Path) -> Domains:
    """Read all domains of a folder; a folder may also hold the files of a single domain.

    Raises:
        ValueError: There is no story.
    """
    found: dict[str, list[Story]] = defaultdict(list)
    for file in sorted({*folder.glob(STORIES), *folder.glob(f"*/{STORIES}")}):
        for story in stories_in(file.parent):
            found[story.domain].append(story)
    if not found:
        raise ValueError(f"no {STORIES} in {folder} or a folder in it")
    return {name: sorted(found[name], key=lambda story: story.id) for name in sorted(found)}


def halves(stories: Sequence[Story]) -> tuple[Sequence[Story], Sequence[Story]]:
    """Split stories into two halves.

    The first half has every other story, from the first on: rules are made from it. The second half
    has the rest.
    """
    return stories[::2], stories[1::2]


def stories_in(folder: Path) -> list[Story]:
    """Read the stories of one domain."""
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in _lines(folder / QUESTIONS):
        asked[line["episode_id"]].append(line)
    return [_story(line, asked[line["episode_id"]]) for line in _lines(folder / STORIES)]


def role_name(role: str) -> str:
    """Return a role's name in the form that the API accepts."""
    return re.sub(r"[^a-z0-9_-]", "_", role.lower())[:40]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _story(line: dict[str, Any], asked: Sequence[dict[str, Any]]) -> Story:
    entities = line["entities"]
    subjects = _subjects(entities)
    people = tuple(
        Principal(
            one["principal_id"],
            role_name(one["role"]),
            one["display_name"],
            tuple(sorted(subjects[one["principal_id"]])),
        )
        for one in entities["principals"]
        if one["role"] != AGENT
    )
    turns = tuple(_turns(line["turns"]))
    places = {turn["turn_id"]: place for place, turn in enumerate(line["turns"], 1)}
    questions = [_question(one, turns, places[one["as_of_turn_id"]]) for one in asked]
    known = {person.id for person in people}
    ordered = sorted(
        (one for one in questions if one.asker in known), key=lambda one: (one.turns, one.id)
    )
    return Story(line["episode_id"], line["domain"], people, turns, tuple(ordered))


def _subjects(entities: dict[str, Any]) -> dict[str, set[str]]:
    """Return the people whom each person's role is about, by the story's relations.

    For example, the role of Lina's advisor is about Lina, and so is Lina's own role.
    """
    known = {one["principal_id"] for one in entities["principals"]}
    found: dict[str, set[str]] = defaultdict(set)
    for relation in entities.get("relationships", ()):
        holder = relation.get("principal_id")
        others = {
            value
            for name, value in relation.items()
            if name.endswith("_id") and name != "principal_id" and value in known
        }
        for other in others - {holder}:
            found[other].add(other)
            if holder in known:
                found[holder].add(other)
    return found


def _turns(lines: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    at = BEGIN - BETWEEN
    for line in lines:
        stamp = line.get("timestamp")
        at = max(at, _time(stamp)) if stamp else at + BETWEEN
        speaker = line["speaker"]
        yield Turn(speaker["principal_id"], role_name(speaker["role"]), at, line["text"])


def _time(stamp: str) -> datetime:
    at = datetime.fromisoformat(stamp)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _question(line: dict[str, Any], turns: Sequence[Turn], count: int) -> Question:
    """Return a question, with the strings to look for in its prompt.

    Left out are strings that the question itself contains, strings that no turn so far contains,
    and protected strings that the person who asks has said.
    """
    kind, asker = cast("Kind", line["query_type"]), line["asker"]["principal_id"]
    listed = line["judge_spec"].get("include") if kind == "utility" else line.get("leak_targets")
    asked = line["query_text"].lower()
    said = [(turn.person, turn.text.lower()) for turn in turns[:count]]
    counted = tuple(
        string
        for string in (one.lower() for one in listed or ())
        if string not in asked
        and any(string in text for _, text in said)
        and (kind == "utility" or not any(who == asker and string in text for who, text in said))
    )
    return Question(line["checkpoint_id"], kind, asker, count, line["query_text"], counted)
