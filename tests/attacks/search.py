"""Runs a story with two secrets and compares everything that outsiders observe."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import islice, zip_longest
from typing import TypeVar

from skein.models.common.base import is_visitor
from tests.attacks.cast import SECRETS, VISITORS, named, words
from tests.attacks.errands import check_times
from tests.attacks.knowledge import EVERYBODY, Leak
from tests.attacks.moves import QUIET, Tactic
from tests.attacks.outsiders import (
    View,
    alike,
    prompts_for,
    seen_by,
    seen_by_everybody,
)
from tests.attacks.stage import Prompt, Stage
from tests.attacks.steps import Join, Merge, Say, Story, told
from tests.stories.town import Town

SEPARATOR = "\n=====\n"  # between the prompts of one place
MAX_TRIES = 100  # shorter stories tried for each that is found

T = TypeVar("T")


@dataclass(frozen=True)
class Look:
    """What an outsider observed before a step.

    Attributes:
        step: The number of the step; one more than the last for the end of the story.
        who: The outsider; the first of `EVERYBODY` for open places.
    """

    step: int
    who: str
    views: tuple[View, ...]


@dataclass
class Recital:
    """One run of a story, and what outsiders observed in it."""

    story: Story
    stage: Town
    looks: list[Look]


def search(story: Story) -> None:
    """Look for a leak in a story; see `tell_shortest`."""
    tell_shortest("leak", story, leak_in)


def tell_shortest(what: str, story: Story, found_in: Callable[[Story], Leak | None]) -> None:
    """Look for something in a story.

    Raises:
        Leak: It was found; the message tells the story, made as short as possible, and where.
    """
    found = found_in(story)
    if found is None:
        return
    shortest = shortened(story, found_in)
    raise Leak(f"a {what} in this story:\n{told(shortest)}\n\n{found_in(shortest) or found}")


def leak_in(story: Story) -> Leak | None:
    """The first leak in a story; None if there is none."""
    try:
        first = recite(story, SECRETS[1], None)
        second = recite(story, SECRETS[0], first)
        for one, other in zip_longest(first.looks, second.looks):
            _compare_looks(one, other, len(story))
        _compare_prompts(first, second)
    except Leak as leak:
        return leak
    return None


def shortened(story: Story, found_in: Callable[[Story], Leak | None] = leak_in) -> Story:
    """The story without everything that its leak does not need."""
    for shorter in islice(_shorter(story), MAX_TRIES):
        if found_in(shorter) is not None:
            return shortened(shorter, found_in)
    return story


def _shorter(story: Story) -> Iterator[Story]:
    """Stories that have a step, an event, a move or a flag less."""
    for n, step in enumerate(story):
        before, after = story[:n], story[n + 1 :]
        yield (*before, *after)
        if step.tactic != QUIET:
            yield (*before, replace(step, tactic=QUIET), *after)
        for tactic in _simpler(step.tactic):
            yield (*before, replace(step, tactic=tactic), *after)
        if isinstance(step, Say):
            for events in _without_one(step.events):
                yield (*before, replace(step, events=events), *after)


def _simpler(tactic: Tactic) -> Iterator[Tactic]:
    for rounds in _without_one(tactic.rounds):
        yield replace(tactic, rounds=rounds)
    for n, moves in enumerate(tactic.rounds):
        for fewer in _without_one(moves):
            if fewer:
                rounds = (*tactic.rounds[:n], fewer, *tactic.rounds[n + 1 :])
                yield replace(tactic, rounds=rounds)
    if tactic.speaks:
        yield replace(tactic, speaks=False)


def _without_one(things: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for n in range(len(things)):
        yield (*things[:n], *things[n + 1 :])


def recite(story: Story, secret: str, like: Recital | None = None) -> Recital:
    """Run a story with one secret.

    Args:
        story: The story.
        secret: The secret that is said in it.
        like: The other run, which says who looks when; without it, the outsiders do.

    Raises:
        Leak: An outsider sees the secret, or the id of a private chat.
    """
    stage = Town(words=words(secret), honest=False)
    looks: list[Look] = []

    def look() -> None:
        if like is None:
            lookers = _lookers(stage, story)
        else:
            lookers = [each.who for each in like.looks if each.step == stage.step]
        for who in lookers:
            views = tuple(_views(stage, who, [each for each in lookers if each not in EVERYBODY]))
            looks.append(Look(stage.step, who, views))
            if like is None:
                _check(stage, who, views)

    stage.play(story, before=look)
    return Recital(story, stage, looks)


def _lookers(stage: Stage, story: Story) -> list[str]:
    """Who looks before a step: the outsiders that join a chat in it; at the end, all of them."""
    outsiders = stage.knowledge.outsiders()
    if stage.step > len(story):
        acts = (each.id for each in VISITORS if each.id in repr(story))
        outsiders += [each for each in acts if each not in stage.knowledge.insiders]
        return [*outsiders, *(each for each in EVERYBODY if each not in stage.knowledge.insiders)]
    step = story[stage.step - 1]
    joiners = [each.who for each in (step, *step.meanwhile) if isinstance(each, Join | Merge)]
    return [who for who in dict.fromkeys(joiners) if who in outsiders]


def _views(stage: Stage, who: str, people: Sequence[str]) -> list[View]:
    """What somebody sees; what prompts would show counts as seen by everybody."""
    if who in EVERYBODY:
        return [*seen_by_everybody(stage), *prompts_for(stage, people)]
    return [*seen_by(stage, who), *(prompts_for(stage, [who]) if is_visitor(who) else ())]


def _check(stage: Stage, who: str, views: tuple[View, ...]) -> None:
    """Look for the secret itself, and for ids of private chats."""
    for what, text in views:
        if stage.secret in text:
            raise Leak(f"{named(who)} can see the secret in {what}:\n  {text}")
    if who in EVERYBODY:
        return
    hidden = stage.knowledge.strange_chats(who)
    for what, text in views:
        check_times(text, (who,), f"{named(who)}, in {what},")
        for chat_id in hidden:
            if chat_id in text and chat_id not in what:
                raise Leak(
                    f"{named(who)} can see {chat_id}, the id of a private chat that they were "
                    f"never in, in {what}:\n  {text}"
                )


def _compare_looks(one: Look | None, other: Look | None, end: int) -> None:
    assert one is not None, other
    assert other is not None, one
    when = "at the end" if one.step > end else f"before step {one.step}"
    for (what, text), (_, twin) in zip_longest(one.views, other.views, fillvalue=("", "")):
        compare(f"{named(one.who)}, {when}, sees {what}", text, twin)


def _compare_prompts(first: Recital, second: Recital) -> None:
    """Compare the prompts that were made for places that outsiders read."""
    knowledge = first.stage.knowledge
    for place in dict.fromkeys([*first.stage.prompts, *second.stage.prompts]):
        new = place not in first.stage.prompts and knowledge.outside(place.readers, place.place)
        if not (new or first.stage.for_outsiders[place]):
            continue
        one, other = _texts(first, place), _texts(second, place)
        counted = first.stage.for_outsiders[place]
        if len(counted) < len(one):  # its readers knew the secret, or might be told it
            one = [one[n] for n in counted]
            other = [other[n] for n in counted if n < len(other)]
        compare(f"the model sees {place}", SEPARATOR.join(one), SEPARATOR.join(other))


def _texts(recital: Recital, place: Prompt) -> list[str]:
    return recital.stage.prompts.get(place, [])


def compare(what: str, text: str, twin: str) -> None:
    """Compare what somebody sees in two runs of a story.

    Raises:
        Leak: It differs; the message has the whole difference.
    """
    one, other = alike(text), alike(twin)
    if one != other:
        lines = unified_diff(
            one.replace("\\n", "\n").splitlines(),
            other.replace("\\n", "\n").splitlines(),
            SECRETS[1],
            SECRETS[0],
            lineterm="",
            n=1,
        )
        difference = "\n".join(lines)
        raise Leak(f"{what}, which tells the secrets apart:\n{difference}")
