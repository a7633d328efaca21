"""The rules of an erasure: what is deleted, what is made again, and which words are replaced.

Each rule is one function. The rules rely on recorded provenance
(`models/visibility/provenance.py`): which messages an item was made from, and whose words the model
was shown. Only `names_them` searches texts for a name. The operator decides what happens to texts
that contain the name.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial
from typing import Any

from pydantic import ValidationError

from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice
from skein.models.chats.consent import ConsentData
from skein.models.chats.origin import Origin
from skein.models.visibility.audience import NOBODY
from skein.models.visibility.provenance import Authors
from skein.planning.models.plan import Plan
from skein.privacy.erasure_material import holds
from skein.privacy.erasure_sweep import ERASED, Sweep, tombstone
from skein.privacy.erasure_words import PLACEHOLDER, put_in, without_quotes
from skein.privacy.made_items import MadeItem
from skein.privacy.models.erasure import ErasedChat
from skein.recall.models.own_words import OwnWordsMemory
from skein.workspace.models.thread import Thread

Replacement = Callable[[str], str]

MAX_FUNCTION = timedelta(seconds=900)  # the longest time-out in template.yaml

# ---------------------------------------------------------------------- what is deleted


def is_from_them_alone(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether an agent's item was made only from the person's words.

    An item that was made only from agents' messages counts if the model was shown only the person's
    words. An operator's document or thread returns False, because it also contains the operator's
    words.
    """
    if thing.by_operator and thing.WORKED_ON:
        return False
    writers = thing.made_from.writers
    if writers.empty:
        set_by_them = isinstance(thing, Plan) and thing.set_by in sweep.subject.ids
        return thing.authors.only(sweep.digests) or (set_by_them and thing.authors.empty)
    return writers.only(sweep.subject.ids)


def is_for_them_alone(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether an item may be shown only to the person."""
    ids = sweep.subject.ids
    return thing.audience.counts(ids) and thing.audience.without(ids) == NOBODY


def is_their_message(sweep: Sweep, erased: ErasedChat | None, message: Message) -> bool:
    """Return whether a message belongs to the person, or was made only from or for the person.

    This is the case for a message that the person sent and for a question to the person. It is also
    the case for a message of an agent or of the team in two situations: the author was shown only
    words of the person (apart from results of tools), or the chat is private and no other person
    was ever in it.

    Args:
        sweep: The sweep of the person.
        erased: The note on the chat; None if it is not one of the person's chats.
        message: The message as stored.
    """
    if message.kind == "erased":
        return False
    if message.sender.kind == "user":
        return sweep.is_theirs(message.sender)
    if message.choice is not None and message.choice.addressee in sweep.subject.ids:
        return True
    to_them_alone = erased is not None and erased.private and not erased.others
    return to_them_alone or message.authors.without_tools.only(sweep.digests)


def is_made_again(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether to delete a memory, so that agents make it again without the person's words.

    This concerns memories from consolidation and reflection. A memory is deleted if the person is
    one of its known writers. If the writers are not known exactly, or if it was made only from
    agents' messages, two conditions must be met: at least one of its source messages is not older
    than the person's first message, and it was made before the end of the first sweep. An
    operator's memory is never made again.
    """
    if not isinstance(thing, Memory) or thing.by_operator:
        return False
    made = thing.made_from
    if thing.made_by not in {"consolidation", "reflection"} or not made.wrote(sweep.subject.ids):
        return False
    if made.writers.includes(sweep.subject.ids):
        return True
    chats = sweep.chats.values()
    after_them = any(made.reaches(erased.chat_id, erased.first_seq) for erased in chats)
    return after_them and sweep.suspect(thing.updated_at or thing.created_at)


def is_from_deleted(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether an item was made from the deleted message and no other source is left."""
    message = sweep.erasure.message
    if message is None or (thing.by_operator and thing.WORKED_ON):
        return False
    return holds(thing.made_from, message) and sweep.gone(thing.made_from)


def is_made_again_without(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether to delete a memory, so that agents make it again without a forgotten message.

    A function that started before the deletion may have read the message. A memory is therefore
    deleted if it was made before the deletion, or so soon afterwards that such a function may have
    made it.
    """
    message = sweep.erasure.message
    if message is None or not message.forgotten:
        return False
    if isinstance(thing, Memory):
        made = thing.made_by in {"consolidation", "reflection"} and not thing.by_operator
    else:
        made = isinstance(thing, OwnWordsMemory)
    if not made:
        return False
    made_at = thing.updated_at or thing.created_at
    return holds(thing.made_from, message) and made_at <= sweep.erasure.requested_at + MAX_FUNCTION


def is_to_make_again(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether agents should process the source messages of a deleted item again."""
    if sweep.erasure.message is not None:
        return is_made_again_without(sweep, thing)
    return not is_removed_by_name(sweep, thing)


# ---------------------------------------------------------------------- what is replaced


def may_hold_their_words(sweep: Sweep, authors: Authors, *writers: Authors) -> bool:
    """Return whether a text by an agent may contain the person's words.

    Args:
        sweep: The sweep of the person.
        authors: The people whose words the model was shown, by digest.
        writers: The people who wrote the messages that the text was made from, by id.
    """
    by_id = any(each.may_include(sweep.subject.ids) for each in writers)
    return by_id or authors.may_include(sweep.digests)


def without_their_words(sweep: Sweep, text: str) -> str:
    """Return a text with the person's ids, phone numbers and quotes replaced by the placeholder."""
    return sweep.ids_pattern.sub(PLACEHOLDER, without_quotes(text, sweep.quotes))


def held_words_replaced(sweep: Sweep, message: Message) -> Message:
    """Return a message by an agent or the team with the person's words replaced."""
    if message.sender.kind == "user" or not may_hold_their_words(sweep, message.authors):
        return message
    return _message_with(message, partial(without_their_words, sweep))


def held_words_of_item_replaced(sweep: Sweep, thing: MadeItem) -> MadeItem:
    """Return an agent's item with the person's words replaced."""
    if not may_hold_their_words(sweep, thing.authors, thing.made_from.writers):
        return thing
    return _item_with(thing, partial(without_their_words, sweep))


# ---------------------------------------------------------------------- full names


def names_them(sweep: Sweep, *texts: str | None) -> bool:
    """Return whether one of the texts contains a full name of the person (two words or more)."""
    return any(text and sweep.names_pattern.search(text) for text in texts)


def message_names_them(sweep: Sweep, message: Message) -> bool:
    """Return whether a message that stays contains a full name of the person."""
    question = message.choice.question if message.choice is not None else None
    origin = message.origin
    why = (origin.text, origin.chat_title) if origin is not None else ()
    return names_them(sweep, message.text, question, *why)


def item_names_them(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether an item that stays contains a full name of the person.

    An operator's item returns False.
    """
    return not thing.by_operator and names_them(sweep, *thing.texts)


def names_replaced(sweep: Sweep, text: str) -> str:
    """Return a text with the person's full names replaced by the placeholder."""
    return sweep.names_pattern.sub(PLACEHOLDER, text)


# ---------------------------------------------------------------------- together


def message_after(sweep: Sweep, erased: ErasedChat | None, message: Message) -> dict[str, Any]:
    """Return the attributes of a message that the erasure changes; empty if nothing changes.

    Texts with the person's full name are changed only in the person's own chats, because the
    preview of the erasure lists only these.
    """
    if is_their_message(sweep, erased, message):
        return tombstone(message)
    after = _without_their_origin(sweep, held_words_replaced(sweep, message))
    after = _without_reader(sweep, after)
    if erased is not None and message_names_them(sweep, after):
        if sweep.erasure.named_texts == "remove":
            return tombstone(message) | {"sender": message.attributes()["sender"]}
        if sweep.erasure.named_texts == "replace":
            after = _message_with(after, partial(names_replaced, sweep))
    before, stored = message.attributes(), after.attributes()
    return {name: stored.get(name) for name in before if before[name] != stored.get(name)}


def item_after(sweep: Sweep, thing: MadeItem) -> MadeItem:
    """Return an item that stays, with the person's words replaced and without the person's ids."""
    after = held_words_of_item_replaced(sweep, _without_person(sweep, thing))
    if sweep.erasure.named_texts == "replace" and item_names_them(sweep, after):
        return _item_with(after, partial(names_replaced, sweep))
    return after


def item_goes(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether a rule or the operator's decision on named texts deletes an item."""
    rules = (
        is_from_them_alone,
        is_for_them_alone,
        is_made_again,
        is_from_deleted,
        is_made_again_without,
    )
    return any(rule(sweep, thing) for rule in rules) or is_removed_by_name(sweep, thing)


def is_removed_by_name(sweep: Sweep, thing: MadeItem) -> bool:
    """Return whether an item is deleted because it contains the person's full name.

    This requires that the operator chose `remove` for named texts.
    """
    return sweep.erasure.named_texts == "remove" and item_names_them(sweep, thing)


def _without_their_origin(sweep: Sweep, message: Message) -> Message:
    """Return a message without the person's id, and without an origin that is their request."""
    if message.origin is not None and sweep.is_theirs(message.origin.asker):
        message = message.model_copy(update={"origin": None})
    if message.traced_to in sweep.subject.ids:
        message = message.model_copy(update={"traced_to": None})
    return message


def _without_reader(sweep: Sweep, message: Message) -> Message:
    """Return a question without the person's id in its data."""
    choice = message.choice
    if choice is None:
        return message
    left = choice.model_copy(update={"data": _data_without(choice.data, sweep.subject.ids)})
    return message.model_copy(update={"choice": left})


def _data_without(data: Any, ids: Collection[str]) -> Any:
    """Return the data of a question without some people.

    The ids of these people are removed from each stored `Audience`. Where one of the people is
    stored as a member, `ERASED` replaces the member, because some kinds of data are valid only with
    at least one member.
    """
    if isinstance(data, list):
        return [_data_without(each, ids) for each in data]
    if not isinstance(data, dict):
        return data
    if data.get("id") in ids:
        return data | ERASED.model_dump(mode="json")
    return {
        name: [each for each in value if each not in ids]
        if name == "people"
        else _data_without(value, ids)
        for name, value in data.items()
    }


def _without_person(sweep: Sweep, thing: MadeItem) -> MadeItem:
    """Return an item with the person removed from its audience and its provenance.

    The placeholder `ERASED` replaces the person among the writers. The number of writers stays the
    same, so the item never seems to be made only from the words of the other writers.
    """
    ids, made = sweep.subject.ids, thing.made_from
    if thing.audience.counts(ids):
        thing = thing.model_copy(update={"audience": thing.audience.without(ids)})
    if made.writers.includes(ids):
        known = {ERASED.id if each in ids else each for each in made.writers.ids}
        writers = made.writers.model_copy(update={"ids": tuple(sorted(known))})
        made = made.model_copy(update={"writers": writers})
    if made.source is not None:
        clean = made.source.without(ids, title=names_them(sweep, made.source.title))
        made = made.model_copy(update={"source": clean})
    if made != thing.made_from:
        thing = thing.model_copy(update={"made_from": made})
    if isinstance(thing, Plan) and thing.set_by in ids:
        thing = thing.model_copy(update={"set_by": None, "own_time": False})
    return thing


def _message_with(message: Message, change: Replacement) -> Message:
    """Return a message with `change` applied to its text, its question and its origin."""
    return message.model_copy(
        update={
            "text": put_in(message.text, change),
            "choice": message.choice and _choice_with(message.choice, change),
            "origin": message.origin and _origin_with(message.origin, change),
        }
    )


def _choice_with(choice: Choice, change: Replacement) -> Choice:
    data = choice.data
    if "proposal" in data:
        proposal = ConsentData.from_item(data).proposal
        words = proposal.model_copy(update={"text": change(proposal.text)})
        data = ConsentData(proposal=words).attributes()
    return choice.model_copy(update={"question": change(choice.question), "data": data})


def _origin_with(origin: Origin, change: Replacement) -> Origin:
    return origin.model_copy(
        update={"text": change(origin.text), "chat_title": change(origin.chat_title)}
    )


def _item_with(thing: MadeItem, change: Replacement) -> MadeItem:
    """Return an item with `change` applied to its texts.

    A text that becomes too long for its field is cut to its former length.
    """
    texts = {name: text for name in thing.TEXTS if (text := getattr(thing, name))}
    changed: dict[str, Any] = {name: change(text) for name, text in texts.items()}
    if isinstance(thing, Thread):
        texts["documents"] = thing.documents
        changed["documents"] = tuple(map(change, thing.documents))
    if changed == texts:
        return thing
    try:
        return type(thing).model_validate(dict(thing) | changed)
    except ValidationError:
        cut: dict[str, Any] = {name: changed[name][: len(text)] for name, text in texts.items()}
        if isinstance(thing, Thread):
            names = zip(thing.documents, changed["documents"], strict=True)
            cut["documents"] = tuple(new[: len(old)] for old, new in names)
        return type(thing).model_validate(dict(thing) | cut)
