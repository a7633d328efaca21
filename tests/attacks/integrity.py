"""Runs a story with two orders of an outsider, and compares what agents do beyond their chats."""

from difflib import unified_diff

from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.runs.run import HeldContent, Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import digest_of
from skein.workspace.models.document import Document
from skein.workspace.models.thread import Thread
from tests.attacks.cast import ORDERS, PAGE, named, titled, words
from tests.attacks.effects import Actor, Change, contents
from tests.attacks.knowledge import Leak
from tests.attacks.outsiders import alike
from tests.attacks.rights import Rights
from tests.attacks.stage import Stage
from tests.attacks.steps import Story, givers
from tests.stories.town import Town


class Breach(Leak):
    """Somebody's words have an effect that they may not have."""


def breach_in(story: Story) -> Leak | None:
    """The first effect that a story may not have; None if there is none."""
    try:
        first, second = (_effects(story, order) for order in ORDERS)
    except Leak as leak:
        return leak
    if first == second:
        return None
    lines = unified_diff(first, second, *ORDERS, lineterm="", n=0)
    difference = "\n".join(lines)
    return Breach(f"the words of {_names(givers(story))} tell effects apart:\n{difference}")


def _effects(story: Story, order: str) -> list[str]:
    """Play a story, and return all effects of those who heard an outsider's order.

    Raises:
        Breach: A run or a task did what it may not do.
    """
    stage = Town(words=words(order=order), honest=False)
    stage.play(story, Rights(stage, story).check)
    for actor in stage.ledger.actors:
        _check_held(actor, stage)
    for change in stage.ledger.changes:
        _check_rights(change, stage.ledger.changes)
        _check_order(change, stage)
    outside = (each for each in stage.ledger.changes if _is_outside(each, stage.givers))
    heard = (each for each in outside if not stage.givers & each.actor.insiders)
    return [alike(_told(each)) for each in heard]


def _outsiders(actor: Actor, stage: Stage) -> set[str]:
    """Those who gave the order; nobody if the actor works for one of them."""
    return set() if stage.givers & actor.insiders else stage.givers


def _check_held(actor: Actor, stage: Stage) -> None:
    """Look for an activation that was shown an outsider's order, and has no record of that."""
    outsiders = _outsiders(actor, stage)
    held = actor.run.held if actor.run is not None else None
    if not actor.ordered or not outsiders or actor.run is None or held is None:
        return
    if not held.outsiders:
        raise Breach(f"{_who(actor)} was shown the order of {_names(outsiders)}, not recorded")
    trigger = actor.run.trigger
    if outsiders == {PAGE}:  # a tool, whose words a run that is alone may be shown, too
        return
    if trigger.service is not None or (trigger.plan is not None and trigger.plan.authors.empty):
        raise Breach(f"{_who(actor)}, alone, was shown the order of {_names(outsiders)}")


def _check_order(change: Change, stage: Stage) -> None:
    """Look for an effect of an activation that was shown an outsider's order."""
    outsiders = _outsiders(change.actor, stage)
    if change.actor.ordered and outsiders and _is_outside(change, outsiders):
        raise Breach(f"after an order of {_names(outsiders)}:\n  {_told(change)}")


# ---------------------------------------------------------------------- what reaches further


def _is_outside(change: Change, givers: set[str]) -> bool:
    """Whether a change goes beyond the readers of the chats for which its actor works.

    A task without a chat works for those whose items it asks about, so what givers of the order
    had a part in is theirs.
    """
    actor, before, after = change.actor, change.before, change.after
    if actor.kind == "else":
        return False
    if isinstance(after, Message):
        return before is None and after.run_id is not None and after.chat_id not in actor.chats
    if isinstance(after, Run):
        stopped = isinstance(before, Run) and before.status != after.status == "canceled"
        return stopped and not _same(after, actor) and after.own_chat_id not in actor.chats
    if not _is_changed(change) or _lives_in(before, actor):
        return False
    alone = actor.kind == "task" and not actor.chats
    return not (alone and all(_has_part(before, giver) for giver in givers))


def _same(run: Run, actor: Actor) -> bool:
    return actor.run is not None and run.id == actor.run.id


def _is_changed(change: Change) -> bool:
    """Whether an item that there was says something else, or has ended."""
    before, after = change.before, change.after
    if not isinstance(before, DerivedItem):
        return False
    return after is None or (isinstance(after, DerivedItem) and contents(before) != contents(after))


def _lives_in(item: object, actor: Actor) -> bool:
    """Whether an item was made in a chat of the actor, or is for nobody else than its readers."""
    assert isinstance(item, DerivedItem)
    if item.source_chat_id in (actor.chats | _shown_to(actor)):
        return True
    return not item.audience.open and set(item.audience.people) <= actor.insiders


def _has_part(item: object, person: str) -> bool:
    """Whether a person may be an author of an open item, or reads a private one."""
    assert isinstance(item, DerivedItem)
    if item.audience.open:
        return item.authors.may_include([digest_of(person)])
    return person in item.audience.people


# ---------------------------------------------------------------------- rights to change items


def _shown_to(actor: Actor) -> set[str]:
    """The chat that the prompt of a run showed."""
    held = actor.run.held if actor.run is not None else None
    return {held.chat_id} if held is not None and held.chat_id is not None else set()


def _check_rights(change: Change, changes: list[Change]) -> None:
    """Look for an item that a run or a task changed without the right to.

    The rule is spelled out here once more: operators' items are changed by operators only, but
    their documents and threads by runs without words of outsiders, too; private ones by those who
    may be shown all of them; open ones in their own chat without words of outsiders, and elsewhere
    by those whose held people are all authors.
    """
    item, actor = change.before, change.actor
    if actor.kind == "else" or not isinstance(item, DerivedItem) or not _is_changed(change):
        return
    if item.by_operator and not (isinstance(item, Memory) and item.made_by != "api"):
        _check_operators(change)
        return
    held = actor.run.held if actor.run is not None else _held_by_task(change, changes)
    if held is None:
        return
    if not item.audience.open:
        if not may_show(held.audience, item.audience):
            raise Breach(f"a private item is changed from elsewhere:\n  {_told(change)}")
        return
    inside = {digest_of(person) for person in actor.insiders}
    home = item.source_chat_id in (actor.chats | _shown_to(actor))
    alone = not held.authors.many and set(held.authors.ids) <= inside
    nobodys = held.authors.empty and item.authors.empty and item.source_chat_id is None
    if not (home and alone) and not held.authors.only(item.authors.ids) and not nobodys:
        raise Breach(f"an open item is changed by others than its authors:\n  {_told(change)}")


def _check_operators(change: Change) -> None:
    run = change.actor.run
    worked_on = isinstance(change.before, Document | Thread)
    inside = {digest_of(person) for person in change.actor.insiders}
    held = run.held if run is not None else None
    known = held is not None and not held.authors.many and set(held.authors.ids) <= inside
    if worked_on and known:
        return
    raise Breach(f"an operator's item is changed:\n  {_told(change)}")


def _held_by_task(change: Change, changes: list[Change]) -> HeldContent | None:
    """What a task held; None for a reflection.

    The memory that supersedes another has the task's content, and so has each that a task makes
    while it removes another.
    """
    item = change.after
    memories = [each for each in changes if isinstance(each.after, Memory)]
    if isinstance(item, Memory) and item.status == "removed":
        made = (
            each.after
            for each in memories
            if each.before is None
            and (each.step, each.actor.chats) == (change.step, change.actor.chats)
        )
        new = next((one for one in made if _makes_beside(one, item)), None)
    else:
        by = item.superseded_by if isinstance(item, Memory) else None
        new = next((each.after for each in memories if _has_id(each.after, by)), None)
    if not isinstance(new, Memory) or new.made_by == "reflection":
        return None
    return HeldContent(readers=new.audience, audience=new.audience, authors=new.authors)


def _has_id(item: object, memory_id: str | None) -> bool:
    return isinstance(item, Memory) and item.id == memory_id


def _makes_beside(item: object, removed: Memory) -> bool:
    """Whether a consolidation made a memory in the transaction that removes another."""
    if not isinstance(item, Memory) or item.made_by != "consolidation":
        return False
    return (item.agent_id, item.created_at) == (removed.agent_id, removed.ended_at)


# ---------------------------------------------------------------------- how it is told


def _told(change: Change) -> str:
    """A change in a sentence."""
    return f"in step {change.step}, {_who(change.actor)} {_what(change)}"


def _who(actor: Actor) -> str:
    where = " and ".join(titled(chat) for chat in sorted(actor.chats)) or "no chat"
    return f"{named(actor.run.agent_id) if actor.run else 'a task'}, for {where},"


def _what(change: Change) -> str:
    thing = change.thing
    if isinstance(thing, Message):
        return f"posts in {titled(thing.chat_id)}: {thing.text!r}"
    if isinstance(thing, Run):
        return (
            f"stops a run of {named(thing.agent_id)} for {titled(thing.own_chat_id or 'no chat')}"
        )
    kind = type(thing).__name__.lower()
    before = change.before.texts if isinstance(change.before, DerivedItem) else None
    after = change.after.texts if isinstance(change.after, DerivedItem) else "nothing"
    status = getattr(change.after, "status", "gone")
    return f"changes a {kind} from {before} to {after} ({status})"


def _names(people: set[str]) -> str:
    return " and ".join(sorted(map(named, people))) or "nobody"
