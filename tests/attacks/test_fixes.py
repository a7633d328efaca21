"""Without any one of the fixes, the search finds a leak or a breach."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from routes.app import ROLES, Principal
from skein.account_linking import phone_links
from skein.agent import training_export as training
from skein.agent.sections.your_chats import YourChats
from skein.desk import drafts
from skein.errands import orders
from skein.errors import RateLimited
from skein.events.models.endpoint import EventEndpoint
from skein.events.models.event import QueuedEvent
from skein.events.sending import EventSender
from skein.knowledge import search as knowledge_search
from skein.knowledge.models.source import IndexedGroup, KnowledgeHead
from skein.knowledge.sections import Knowledge
from skein.live import notifications
from skein.live.answer_frames import ListenerFinder
from skein.live.models.connection import PersonConnections
from skein.live.pushes import Listener, Pushes
from skein.media.uploads import FileLink, MediaUploads
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.consent import Consent
from skein.models.chats.person_choices import MAX_OPEN, OpenChoice, PersonChoices
from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Delete, Put
from skein.models.directory import user as directory_user
from skein.models.directory.number_code import NumberCode
from skein.models.directory.user import Merge, User
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Actor as ItemActor
from skein.models.visibility.ownership import Readers
from skein.models.visibility.provenance import Authors, Insiders
from skein.own_tools import rights
from skein.own_tools.ledger import CallLedger
from skein.ports import Table
from skein.privacy import erasure_rules
from skein.privacy.forgetting import Forgettings
from skein.recall import indexing
from skein.recall import search as recall_search
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats import opening
from skein.services.chats.ownership import Actor as ChatActor
from skein.services.choices import consents, wording
from skein.services.choices.asking import Asking
from skein.services.common.pagination import items_under
from skein.services.directory.number_codes import NumberCodes
from skein.services.runs.claim import Claim
from skein.services.visibility import disclosure
from skein.services.visibility.sharing_rules import PersonRoles
from skein.workspace import document_edits
from skein.workspace.document_edits import check_listed
from skein.workspace.models.document import DocumentReach
from skein.workspace.models.thread import Thread
from tests.attacks.cast import ALICES, PEOPLE
from tests.attacks.integrity import breach_in
from tests.attacks.knowledge import Leak
from tests.attacks.known import KNOWN, ORDERED
from tests.attacks.known_codes import ENCODED
from tests.attacks.known_rights import CONTESTED
from tests.attacks.search import leak_in, search, tell_shortest
from tests.stories.searches import SEARCHES
from tests.support.builders import TENANT

STORIES = KNOWN | ENCODED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _no(*_: Any, **__: Any) -> bool:
    return False


def _counting_hidden(
    before: Any, after: Any, most: int, what: str, shown: Any, **given: Any
) -> None:
    del shown
    check_listed(before, after, most, what, len, **given)


def _whole_run(
    export: training.TrainingExport, thread: Thread, run_id: str, _: Any
) -> list[training.Message]:
    steps = export.run_views.get(thread.tenant, run_id).steps
    return [training._message(message) for message in training._messages_of(steps)]


def _all_groups(head: KnowledgeHead, *_: Any) -> tuple[IndexedGroup, ...]:
    return head.groups


def _newest_title(chat: Chat, *_: Any, **__: Any) -> Chat:
    return chat


_listeners = Pushes.listeners


def _with_those_who_left(pushes: Pushes, snapshot: ChatSnapshot) -> list[Listener]:
    chat = snapshot.chat
    everybody = read_snapshot(pushes.table, chat.tenant, chat.id, closed=True).members
    present = [each.model_copy(update={"left_seq": None}) for each in everybody]
    return _listeners(pushes, snapshot._replace(members=tuple(present)))


def _open_scope(*_: Any) -> None:
    return None


_find = ListenerFinder.find


def _to_all_people(finder: ListenerFinder, *, with_words: bool) -> Any:
    found = _find(finder, with_words=with_words)
    keys = [PersonConnections.key_of(TENANT, each.id) for each in PEOPLE]
    items = finder.table.get_many(keys).values()
    everybody = [each for item in items for each in PersonConnections.from_item(item).connections]
    return found._replace(connections=tuple(everybody)) if found is not None else None


_body_of = EventSender._body


def _with_words(sender: EventSender, endpoint: EventEndpoint, queued: QueuedEvent) -> bytes:
    return _body_of(sender, endpoint.model_copy(update={"words": True}), queued)


def _of_another_chat(table: Table, chat: Chat) -> list[Message]:
    own = (Message.from_item(item) for item in items_under(table, chat.key.pk, Message.PREFIX))
    pk = chat_partition(TENANT, ALICES.id)
    others = (Message.from_item(item) for item in items_under(table, pk, Message.PREFIX))
    return [*own, *others]


def _without_member_check(
    uploads: MediaUploads, tenant: str, _: str, chat_id: str, media_id: str
) -> FileLink:
    return uploads.link_in(tenant, chat_id, media_id)


def _words_of(message: Message) -> str:
    return message.text


def _seen_json(value: Any) -> str:
    return "".join(each for each in json.dumps(value, ensure_ascii=False) if each.isprintable())


def _asked_at_once(
    forgettings: Forgettings, claim: Claim, query: str, zone: ZoneInfo, *, client_id: str
) -> None:
    run, person = claim.run, str(claim.run.trigger.user_id)
    home = forgettings._home(run.tenant, person, run.agent_id)
    if home is not None:
        new = forgettings._question(run, person, home, query, zone, client_id=client_id)
        if new is not None:
            forgettings.asking.ask(new, extra_writes=lambda _: (claim.guard,))


def _full_everywhere(asking: Asking, choices: PersonChoices, chat_id: str) -> list[OpenChoice]:
    if len(choices.open) >= MAX_OPEN:
        raise RateLimited("the person has enough open questions", retry_after_seconds=1)
    return []


FIXES: dict[str, tuple[Any, str, Callable[..., Any], str]] = {
    "open questions have places in each chat": (
        Asking,
        "_oldest",
        _full_everywhere,
        "open_questions_of_another_chat",
    ),
    "a question shows exactly what its yes sends": (
        wording,
        "exact_json",
        _seen_json,
        "question_shows_other_words_than_are_sent",
    ),
    "other chats are searched for what to forget after the run": (
        Forgettings,
        "ask_later",
        _asked_at_once,
        "forget_while_the_team_holds_the_chat",
    ),
    "drafts for the team are made of one chat": (
        drafts,
        "session_of",
        _of_another_chat,
        "team_answers_bob",
    ),
    "pictures stay with those who were present": (
        disclosure,
        "may_affect",
        _yes,
        "picture_of_a_private_chat",
    ),
    "a link to a file is for members of its chat": (
        MediaUploads,
        "link",
        _without_member_check,
        "picture_of_a_private_chat",
    ),
    "notifications hold no words": (
        notifications,
        "_text_of",
        _words_of,
        "said_to_a_group_with_phones",
    ),
    "a service learns for whom it may keep": (
        Audience,
        "reader_ids",
        property(lambda _: None),  # type: ignore[dict-item]
        "services_are_told_in_private",
    ),
    "a shared service is told nothing private": (
        rights,
        "_tells_private",
        lambda *_: False,
        "services_are_told_in_private",
    ),
    "a private run tells shared services few bits": (
        CallLedger,
        "count_told",
        _yes,
        "spelled_in_enums",
    ),
    "events hold no words unless an owner asks for them": (
        EventSender,
        "_body",
        _with_words,
        "services_are_told_in_private",
    ),
    "content stays with those who were present": (
        disclosure,
        "may_affect",
        _yes,
        "wait_in_private_asked_by_alice",
    ),
    "an answer is built again for people who join": (
        disclosure,
        "check_readers",
        _yes,
        "joins_while_the_model_thinks",
    ),
    "exports hold activations, not runs": (
        training.TrainingExport,
        "_worked",
        _whole_run,
        "export_of_an_open_thread",
    ),
    "private content changes nothing open": (
        DocumentReach,
        "changes",
        _yes,
        "plan_narrows_an_open_document",
    ),
    "limits do not count hidden documents": (
        document_edits,
        "check_listed",
        _counting_hidden,
        "hidden_documents_count",
    ),
    "a title is shown to those who read the chat": (
        Chat,
        "titled_for",
        _newest_title,
        "title_after_leaving",
    ),
    "frames go to those who are in the chat now": (
        Pushes,
        "listeners",
        _with_those_who_left,
        "said_after_leaving",
    ),
    "words go to those who are in the chat now": (
        ListenerFinder,
        "find",
        _to_all_people,
        "last_words_in_private",
    ),
    "a run's id is shown in its home only": (Run, "lives_in", _yes, "id_of_a_private_chat"),
    "readers of confirmed words are those who were named": (
        consents,
        "made_for_all",
        _yes,
        "yes_after_someone_joined",
    ),
    "recall counts words of readable scopes only": (
        indexing,
        "scope_of",
        _open_scope,
        "rare_word_said_in_private",
    ),
}


def _no_authors(*_: Any) -> tuple[Authors, ...]:
    return ()


def _writer(message: Message) -> Authors:
    return Authors.in_digests([message.sender.person_id])


def _allowed(*_: Any, **__: Any) -> None:
    return None


ORDERS: dict[str, tuple[Any, str, Any, str]] = {
    "words of outsiders have no effect elsewhere": (
        disclosure,
        "check_effect",
        _allowed,
        "recalled_from_a_strangers_group",
    ),
    "a source holds the words of a tool": (
        Knowledge,
        "authors",
        _no_authors,
        "order_on_a_page",
    ),
    "a title holds the words of its giver": (
        YourChats,
        "authors",
        _no_authors,
        "title_of_a_strangers_group",
    ),
    "an agent's message holds the words of others": (
        Message,
        "words",
        property(_writer),
        "order_passed_on_by_an_agent",
    ),
    "a run of a plan holds no words of outsiders": (
        Insiders,
        "admit",
        _yes,
        "plan_hears_an_order",
    ),
    "operators' items are changed by operators": (
        Readers,
        "changes",
        _yes,
        "consolidation_supersedes_an_operator",
    ),
    "open items are changed by their chat or their authors": (
        ItemActor,
        "changes_open",
        _yes,
        "agent_forgets_what_others_said",
    ),
    "a rule tells those who have its role": (
        PersonRoles,
        "is_in",
        _yes,
        "aside_to_somebody_without_a_role",
    ),
    "what is said in private stays with those who were present": (
        disclosure,
        "may_affect",
        _yes,
        "aside_posted_after_someone_joined",
    ),
    "agreed words go to the readers of their question": (
        consents,
        "made_for_all",
        _yes,
        "aside_posted_after_someone_joined",
    ),
    "an errand with private words takes a yes": (
        orders,
        "may_affect",
        _yes,
        "aside_of_an_errand_that_is_refused",
    ),
    "strangers are invited": (
        opening,
        "strangers_among",
        _no_authors,
        "group_that_nobody_accepted",
    ),
    "a chat that awaits a reader is hidden": (
        Chat,
        "awaits",
        _no,
        "group_that_nobody_accepted",
    ),
}


def _same_name(name: str, *_: Any) -> str:
    return name


def _all_owners(chat: Chat, *_: Any) -> tuple[str, ...]:
    return chat.owners


def _inherited(chat: Chat, roster: tuple[NamedMember, ...]) -> tuple[str, ...]:
    """The owners of a chat, if who takes the place of an owner owns the chat, too."""
    now, before = ({each.id for each in members} for members in (roster, chat.roster))
    stay = tuple(owner for owner in chat.owners if owner in now)
    return (*stay, *sorted(now - before)) if len(stay) < len(chat.owners) else stay


def _unchecked(_: Any, tenant: str, user_id: str, phone: str, __: str) -> Delete:
    return Delete(NumberCode.key_of(tenant, user_id, phone_address(phone)))


_move_rest = phone_links.PhoneLinks._move_rest


def _with_consents(links: phone_links.PhoneLinks, merge: Merge) -> None:
    _move_rest(links, merge)
    for item in items_under(links.table, User.key_of(TENANT, merge.id).pk, Consent.PREFIX):
        consent = Consent.from_item(item).model_copy(update={"user_id": merge.into})
        links.table.write(Put(consent.key, consent.attributes()))


def _all_roles(_: Principal) -> frozenset[str]:
    return frozenset(ROLES)


def _placeholder(*_: Any) -> str:
    return "[erased]"


def _emptied(_: Any, message: Message) -> Message:
    return message.model_copy(update={"text": "[erased]"})


RIGHTS: dict[str, tuple[Any, str, Any, str]] = {
    "a chosen name has a tag": (directory_user, "tagged", _same_name, "name_of_somebody_else"),
    "a look-alike name has a tag": (directory_user, "tagged", _same_name, "look_alike_name"),
    "who leaves is no owner any more": (Chat, "owners_in", _all_owners, "former_owner_returns"),
    "only owners make owners and remove members": (
        ChatActor,
        "check_owns",
        _allowed,
        "member_removes_an_owner",
    ),
    "linking a number takes its code": (
        NumberCodes,
        "check",
        _unchecked,
        "number_linked_without_its_code",
    ),
    "linking carries over no role": (Chat, "owners_in", _inherited, "linked_number_of_an_owner"),
    "linking ends open questions": (
        phone_links,
        "end_choices",
        _allowed,
        "linked_number_of_an_invited",
    ),
    "linking carries over no consents": (
        phone_links.PhoneLinks,
        "_move_rest",
        _with_consents,
        "linked_number_that_consented",
    ),
    "linking takes the role privacy": (
        Principal,
        "roles",
        property(_all_roles),
        "number_linked_by_support",
    ),
    "erasing takes the role privacy": (
        Principal,
        "roles",
        property(_all_roles),
        "person_erased_by_support",
    ),
    "a decision is about texts with the full name": (
        erasure_rules,
        "names_them",
        _yes,
        "named_texts_are_removed",
    ),
    "a decision is never about operators' items": (
        erasure_rules,
        "item_names_them",
        _yes,
        "named_texts_are_removed",
    ),
    "a decision replaces names only": (
        erasure_rules,
        "names_replaced",
        _placeholder,
        "names_in_texts_are_replaced",
    ),
    "an erasure leaves the items of others": (
        erasure_rules,
        "is_from_them_alone",
        _yes,
        "words_of_others_outlive_an_erasure",
    ),
    "an erasure leaves the messages of others": (
        erasure_rules,
        "is_their_message",
        _yes,
        "erased_imposter_takes_nothing_along",
    ),
    "an erasure replaces words only in texts that may hold the person's": (
        erasure_rules,
        "held_words_replaced",
        _emptied,
        "words_of_others_outlive_an_erasure",
    ),
}


@pytest.mark.parametrize("fix", FIXES)
def test_search_without_fix_finds_the_known_leak(fix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, without, story = FIXES[fix]
    assert leak_in(STORIES[story]) is None
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Leak, match=r"a leak in this story:\n +1\. "):
        search(STORIES[story])


@pytest.mark.parametrize("fix", FIXES)
def test_search_without_fix_finds_a_leak_in_generated_stories(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = FIXES[fix]
    monkeypatch.setattr(owner, name, without)
    search = replace(SEARCHES["leaks"], known=(STORIES[story],))
    assert search.found(fix, 500) is not None


def test_search_without_check_of_recalled_messages_finds_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two fixes must fail before a private message is shown: its scope, and the check of a hit."""
    monkeypatch.setattr(indexing, "scope_of", _open_scope)
    monkeypatch.setattr(recall_search, "may_show", _yes)
    leak = leak_in(KNOWN["rare_word_said_in_private"])
    assert "shows the secret" in str(leak)


def test_search_without_readers_of_sources_finds_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each stage has a source that contains the secret and is limited to a role without people."""
    monkeypatch.setattr(knowledge_search, "readable", _all_groups)
    with pytest.raises(Leak, match="The vault opens"):
        search(KNOWN["source_of_a_role"])


@pytest.mark.parametrize("fix", ORDERS)
def test_search_without_fix_finds_the_known_breach(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = ORDERS[fix]
    assert breach_in(ORDERED[story]) is None
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Leak, match=r"a breach in this story:\n +1\. "):
        tell_shortest("breach", ORDERED[story], breach_in)


@pytest.mark.parametrize("fix", ORDERS)
def test_search_without_fix_finds_a_breach_in_generated_stories(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = ORDERS[fix]
    monkeypatch.setattr(owner, name, without)
    search = replace(SEARCHES["orders"], known=(ORDERED[story],))
    assert search.found(fix, 500) is not None


@pytest.mark.parametrize("fix", RIGHTS)
def test_search_without_fix_finds_the_known_rights_violation(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = RIGHTS[fix]
    assert breach_in(CONTESTED[story]) is None
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Leak, match=r"a wrong in this story:\n +1\. "):
        tell_shortest("wrong", CONTESTED[story], breach_in)


@pytest.mark.parametrize("fix", RIGHTS)
def test_search_without_fix_finds_a_rights_violation_in_generated_stories(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = RIGHTS[fix]
    monkeypatch.setattr(owner, name, without)
    search = replace(SEARCHES["claims"], known=(CONTESTED[story],))
    assert search.found(fix, 500) is not None
