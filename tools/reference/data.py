"""Content of docs/data.md: each item of the table with its key, and the access patterns."""

import inspect
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple, get_args

from skein.desk.models import canned_answer
from skein.errands.models import errand, meeting
from skein.events.models import endpoint, event
from skein.events.models.lanes import EndpointLanes
from skein.identity.models import api_key, user_token, visit
from skein.knowledge.models import source
from skein.live.models import connection, device
from skein.memory.models import memory, records
from skein.models.chats import (
    borrowed,
    chat,
    consent,
    desk_stay,
    idempotency,
    media,
    membership,
    person_choices,
)
from skein.models.chats.consolidation import Consolidation
from skein.models.common import effects
from skein.models.common.address import Address
from skein.models.common.base import MemberRef, Stored, rfc3339
from skein.models.common.storage import Key
from skein.models.config import overrides
from skein.models.delivery import delivery, media_link, sms
from skein.models.directory import (
    address_index,
    agent,
    assigned_number,
    keyed_call,
    line,
    number_code,
    opted_out_number,
    user,
    webhook_service,
)
from skein.models.items import agent_item
from skein.models.outbox import due
from skein.models.quotas import limit, usage
from skein.models.runs import run, step
from skein.models.runs.trigger import Trigger
from skein.models.visibility import disclosure, ownership, provenance
from skein.models.visibility.audience import OPEN
from skein.models.visibility.sharing_rules import RulesVersion, SharingRules
from skein.outreach.models import outreach
from skein.own_tools.models import approval, recorded_call, tool
from skein.own_tools.models.breaker import ToolBreaker
from skein.planning.models import goal, plan
from skein.privacy.models import audit, erasure, forgetting, registered_erasure
from skein.recall.models import own_words, stored
from skein.trials.models import case, trial
from skein.web_chat.models import widget
from skein.workspace.models import document, skill, thread
from tools.reference import access_patterns
from tools.reference.markdown import table

HEAD = """# Data

This page lists the items of Skein's DynamoDB table with their keys, the table's two indexes, and
what each read and write costs. It is for developers who add an item or a query, and for operators
who look at the table. [Limits](limits.md) lists sizes and what expires.

- **Owner.** Each entity in a folder `models` owns its keys. No other module spells a prefix
  such as `MSG#`.
- **Tenant.** A partition key begins with the tenant, except for items that a webhook or a
  connection looks up without knowing it, and for the settings of the stack.
- **Escaping.** `#` and `%` in ids and phone numbers are escaped (`models/common/base.py`), so two
  different ids never give the same key.
- **Scope.** An agent's open items are in the partition `{tenant}#AGENT#{agent}`. Items from a
  direct chat are in `{tenant}#AGENT#{agent}#AUD#user:{id}`, and items from another private chat
  in `{tenant}#AGENT#{agent}#AUD#chat:{chat}`. The tables below show one of these partitions.

A query reads one partition, so items that are read together are in the same one.

`make reference` writes this page.
"""
INDEXES = """
## Indexes

Both indexes hold only keys and are eventually consistent. A reader therefore takes the key from
the index, reads the item itself with strong consistency, and relies on the item.

**`gsi1`** lists items of one kind:

"""
DUE = f"""
**`gsi2`**, the due index, holds the due pointers of each kind in {due.DUE_SHARDS} shards:
`DUE#{{kind}}#{{shard}}` / `{{due_at}}#{{pk}}|{{sk}}`. An item has at most one due pointer, and none
if there is nothing to do. The [tick](stack.md#functions) reads all kinds except the last two.

"""
KINDS = {
    "run": ("`Run`", "a queued run should have started, a lease ends, or a wait ends"),
    "delivery": (
        "`Delivery`",
        "an SMS should have been sent, must be tried again, or has an unknown outcome",
    ),
    "media": ("`MediaFile`", "a picture or file must be fetched, checked or deleted"),
    "chat": (
        "`Chat`",
        "the members' lists must be updated, or a summary or the title is stale",
    ),
    "plan": ("`Plan`", "the plan fires"),
    "event": (
        "`EventLane`",
        "events should have been sent, or are to be sent again",
    ),
    "desk": (
        "`DeskStay`",
        "the holder may be silent for too long, or people are to be told of the return",
    ),
    "outreach": (
        "`Outreach`, `OutreachPerson`",
        "the people are to get items; a person is to be written to",
    ),
    "source": (
        "`Source`",
        "a source of knowledge is read again, or the files of a deleted one must be deleted",
    ),
    "visit": ("`Visit`", "its visitor may have to be erased"),
    "trial": ("`Trial`", "cases of a trial are still to be played"),
    "merge": ("`Merge`", "items of a merge are still to be moved"),
    "erasure": ("`Erasure`", "an erasure should have continued, or its next sweep begins"),
    "choice": (
        "`Consent`, `Forgetting`, `ForgetRequest`, `PersonChoices`, `Errand`, `Meeting`",
        "the consequence of a yes, an invitation or an errand is late, or an errand is at its end",
    ),
    "pause": (
        "`TenantSettings`, `StackSettings`",
        "a pause has ended and its work resumes, or a pause is a day old",
    ),
    "paused_run": ("`Run`", "a pause that holds the run back ends"),
    "paused_delivery": ("`Delivery`", "a pause that holds the SMS back ends"),
    "direct_consolidation": ("`Consolidation`", "a direct chat may be idle"),
    "consolidation": ("`Consolidation`", "a group may be idle; read by the consolidation finder"),
    "fading": ("`Memory`", "a journal entry fades in three days; read by the reflection finder"),
}

TENANT, CHAT, AGENT = "{tenant}", "{chat}", "{agent}"
KIND = "{kind}"
ADDRESS = Address.model_construct(kind=KIND, address="{address}")
LINE = Address.model_construct(kind=KIND, address="{line}")
PERSON = MemberRef(kind="user", id="{id}")
NOON = datetime(2026, 2, 18, 12, tzinfo=UTC)
MEETING = errand.ErrandRef.model_construct(agent_id=AGENT, scope=None, id="{meeting}")
ERRAND = errand.ErrandRef.model_construct(agent_id=AGENT, scope=None, id="{errand}")


class Row(NamedTuple):
    """One item: its key, and the class or function with the docstring that describes it."""

    key: Key
    described_by: Any


def _errand_link_key() -> Key:
    link = errand.ErrandLink.model_construct(
        tenant=TENANT, user_id="{id}", role="asker", errand=ERRAND, created_at=NOON
    )
    return Key(link.key.pk, link.key.sk.replace(rfc3339(NOON), "{time}"))


def _run_key(home: str, **more: Any) -> Key:
    """Return the key of a run or a step, with placeholders in braces for ids."""
    run_id = f"run_ULID_{home}"
    key = step.Step.key_of(TENANT, run_id, **more) if more else run.Run.key_of(TENANT, run_id)
    text = "\n".join(key).replace("chat_X", CHAT).replace("agt_X", AGENT).replace("ULID", "{ulid}")
    return Key(*text.replace("#007", "#{n}").split("\n"))


def _call_key() -> Key:
    """Return the key of a recorded call, with placeholders in braces for ids."""
    ref = recorded_call.CallRef(run_id="run_ULID_chat_X", step=7, position=8)
    key = recorded_call.RecordedCall.key_of(TENANT, ref, 9)
    text = "\n".join(key).replace("run_ULID_chat_X", "{run}").replace("chat_X", CHAT)
    for number, name in (("000000000009", "{seq}"), ("007", "{step}"), ("008", "{position}")):
        text = text.replace(number, name)
    return Key(*text.split("\n"))


def _result_key(run_id: str | None) -> Key:
    """Return the key of a play's result, with placeholders in braces for ids."""
    played = trial.PlayedCase(
        tenant=TENANT, agent_id=AGENT, trial_id="{trial}", id="{case}", run_id=run_id,
        case_version=1, required=True, private=False, expires_at=1,
    )  # fmt: skip
    unit = trial.Unit(trial_id="{trial}", case_id="{case}", side="candidate", n=7)
    text = "\n".join(played.key_of_result(unit))
    text = text.replace("chat_X", CHAT).replace("ULID", "{ulid}")
    return Key(*text.replace("candidate#7", "{side}#{n}").split("\n"))


def _memory_key(kind: str, **more: Any) -> Key:
    """Return the key of an agent's open memory."""
    made = memory.Memory(
        tenant=TENANT,
        agent_id=AGENT,
        audience=OPEN,
        id="{memory}",
        kind=kind,
        text="x",
        made_by="tool",
        created_at=NOON,
        **more,
    )
    return made.key


def _own_words_key() -> Key:
    """Return the key of a memory from a person's own words."""
    found = own_words.OwnWordsMemory.own_key(TENANT, AGENT, "user:{id}", CHAT, 7, "{memory}")
    return found._replace(sk=found.sk.replace(f"{7:012d}", "{seq}"))


def _named_document(key: Key) -> Key:
    return key._replace(sk=key.sk.replace(document.Document.id_of("plan.md"), "{document}"))


def _live_key() -> Key:
    found = run.live_key(
        run.Run(
            tenant=TENANT,
            id="run_ULID_agt_X",
            agent_id="agt_X",
            trigger=Trigger(type="plan"),
            created_at=NOON,
        )
    )
    return Key(found.pk.replace("agt_X", AGENT), found.sk.replace("ULID", "{ulid}"))


def _access_key() -> Key:
    found = audit.Access.key_of(TENANT, "{id}", NOON, "{entry}")
    return Key(found.pk, found.sk.replace("2026-02-18T12:00:00.000Z", "{time}"))


def _audit_key() -> Key:
    found = audit.AuditEntry.key_of(TENANT, NOON, "{entry}")
    time = "2026-02-18T12:00:00.000Z"
    return Key(found.pk.replace("2026-02-18", "{day}"), found.sk.replace(time, "{time}"))


QUEUED = event.QueuedEvent(
    tenant=TENANT,
    endpoint_id="{endpoint}",
    event=event.Event(
        tenant=TENANT, id="{event}", type="run.ended", lane=CHAT, number="{number}", at=NOON
    ),
    queued_at=NOON,
)
OWN_FOLDER = document.Folder(tenant=TENANT, agent_id=AGENT)
CHAT_FOLDER = document.Folder(tenant=TENANT, chat_id=CHAT)
PRIVATE_FOLDER = document.Folder(tenant=TENANT, agent_id=AGENT, scope="user:{id}")
USAGE = "{tenant}#USAGE#{day}"

GROUPS: Mapping[str, Mapping[str, Row]] = {
    "Chats": {
        "`Chat`": Row(chat.Chat.key_of(TENANT, CHAT), chat.Chat),
        "`Membership`": Row(
            membership.Membership.key_of(TENANT, CHAT, PERSON), membership.Membership
        ),
        "closed membership": Row(
            membership.Membership.left_key_of(TENANT, CHAT, PERSON),
            membership.Membership.left_key_of,
        ),
        "`Message`": Row(
            chat.Message.key_of(TENANT, CHAT, 7)._replace(sk="MSG#{seq}"), chat.Message
        ),
        "`IdempotencyRecord`": Row(
            idempotency.IdempotencyRecord.key_of(TENANT, CHAT, PERSON, "{client}"),
            idempotency.IdempotencyRecord,
        ),
        "`Delivery`": Row(delivery.Delivery.key_of(TENANT, CHAT, "{delivery}"), delivery.Delivery),
        "`MediaFile`": Row(media.MediaFile.key_of(TENANT, CHAT, "{media}"), media.MediaFile),
        "`BorrowedContext`": Row(
            borrowed.BorrowedContext.key_of(TENANT, CHAT, AGENT), borrowed.BorrowedContext
        ),
        "`DeskStay`": Row(desk_stay.DeskStay.key_of(TENANT, CHAT, "{stay}"), desk_stay.DeskStay),
        "document of a chat": Row(_named_document(CHAT_FOLDER.key("plan.md")), document.Document),
        "`RecallPassage`": Row(
            stored.RecallPassage.key_of(TENANT, CHAT, AGENT, 7)._replace(
                sk="RECALL#{agent}#{seq}#{part}"
            ),
            stored.RecallPassage,
        ),
        "`Consolidation`": Row(Consolidation.key_of(TENANT, CHAT), Consolidation),
        "`ConsolidationRecord`": Row(
            records.ConsolidationRecord.key_of(TENANT, CHAT, "{record}"),
            records.ConsolidationRecord,
        ),
    },
    "Runs": {
        "`Run`": Row(_run_key("chat_X"), run.Run),
        "`Run` of a plan or a service": Row(_run_key("agt_X"), run.Run),
        "`Step`": Row(_run_key("chat_X", n=7), step.Step),
        "`RecordedCall`": Row(_call_key(), recorded_call.RecordedCall),
        "live run": Row(_live_key(), run.live_key),
    },
    "Agents, skills and services": {
        "`Agent`": Row(agent.Agent.key_of(TENANT, AGENT), agent.Agent),
        "`AgentVersion`": Row(
            agent.AgentVersion.key_of(TENANT, AGENT, 7)._replace(sk="VERSION#{n}"),
            agent.AgentVersion,
        ),
        "`Case`": Row(case.Case.key_of(TENANT, AGENT, "{case}"), case.Case),
        "`Trial`": Row(trial.Trial.key_of(TENANT, AGENT, "{trial}"), trial.Trial),
        "`PlayedCase`": Row(
            trial.PlayedCase.key_of(TENANT, AGENT, "{trial}", "{case}"), trial.PlayedCase
        ),
        "`PlayResult` of a script": Row(_result_key(None), trial.PlayResult),
        "`PlayResult` of a run": Row(_result_key("run_ULID_chat_X"), trial.PlayResult),
        "`TrialHead`": Row(trial.TrialHead.key_of(TENANT), trial.TrialHead),
        "`DirectoryEntry`": Row(agent.DirectoryEntry.key_of(TENANT, AGENT), agent.DirectoryEntry),
        "`Skill`": Row(skill.Skill.key_of(TENANT, "{skill}"), skill.Skill),
        "`SkillCatalog`": Row(skill.SkillCatalog.key_of(TENANT), skill.SkillCatalog),
        "`CannedAnswer`": Row(
            canned_answer.CannedAnswer.key_of(TENANT, "{answer}"), canned_answer.CannedAnswer
        ),
        "`OwnTool`": Row(tool.OwnTool.key_of(TENANT, "{tool}"), tool.OwnTool),
        "`ToolBreaker`": Row(ToolBreaker.key_of(TENANT, "{tool}"), ToolBreaker),
        "`OwnToolVersion`": Row(
            tool.OwnToolVersion.key_of(TENANT, "{tool}", 7), tool.OwnToolVersion
        ),
        "`Source`": Row(source.Source.key_of(TENANT, "{source}"), source.Source),
        "`SourceVersion`": Row(
            source.SourceVersion.key_of(TENANT, "{source}", 7), source.SourceVersion
        ),
        "`KnowledgeHead`": Row(source.KnowledgeHead.key_of(TENANT), source.KnowledgeHead),
        "`EventEndpoint`": Row(
            endpoint.EventEndpoint.key_of(TENANT, "{endpoint}"), endpoint.EventEndpoint
        ),
        "`ApiKey`": Row(api_key.ApiKey.key_of(TENANT, "{key}"), api_key.ApiKey),
        "`EventLane`": Row(event.EventLane.key_of(TENANT, "{endpoint}", "{chat}"), event.EventLane),
        "`EndpointLanes`": Row(EndpointLanes.key_of(TENANT, "{endpoint}"), EndpointLanes),
        "`QueuedEvent`": Row(QUEUED.key, event.QueuedEvent),
        "`ParkedEvent`": Row(event.ParkedEvent.of(QUEUED, "", NOON).key, event.ParkedEvent),
        "`ToolApproval`": Row(
            approval.ToolApproval.key_of(TENANT, "{approval}"), approval.ToolApproval
        ),
        "`WebhookService`": Row(
            webhook_service.WebhookService.key_of("{source}"), webhook_service.WebhookService
        ),
        "`Visit`": Row(visit.Visit.key_of(TENANT, "{visitor}"), visit.Visit),
        "`Widget`": Row(widget.Widget.key_of("{widget}"), widget.Widget),
    },
    "Items of agents": {
        "`Goal`": Row(goal.Goal.key_of(TENANT, AGENT, None, "{goal}"), goal.Goal),
        "`Goal` set in a direct chat": Row(
            goal.Goal.key_of(TENANT, AGENT, "user:{id}", "{goal}"), goal.Goal
        ),
        "`Goal` that has ended": Row(
            goal.Goal.key_of(TENANT, AGENT, None, "{goal}", live=False), goal.Goal
        ),
        "`Plan`": Row(plan.Plan.key_of(TENANT, AGENT, None, "{plan}"), plan.Plan),
        "`Plan` that has ended": Row(
            plan.Plan.key_of(TENANT, AGENT, None, "{plan}", live=False), plan.Plan
        ),
        "core `Memory`": Row(_memory_key("core"), memory.Memory),
        "memory of an operator": Row(_memory_key("core", by_operator=True), memory.Memory),
        "journal entry": Row(_memory_key("journal"), memory.Memory),
        "memory that has ended": Row(_memory_key("core", status="superseded"), memory.Memory),
        "`OwnWordsMemory`": Row(_own_words_key(), own_words.OwnWordsMemory),
        "`ReflectionRecord`": Row(
            records.ReflectionRecord.key_of(TENANT, AGENT, None, "{record}"),
            records.ReflectionRecord,
        ),
        "document": Row(_named_document(OWN_FOLDER.key("plan.md")), document.Document),
        "pinned documents": Row(OWN_FOLDER.pins_key, document.PinnedDocuments),
        "renamed document": Row(
            _named_document(PRIVATE_FOLDER.renamed_key("plan.md")), document.RenamedDocument
        ),
        "open `Thread`": Row(thread.Thread.key_of(TENANT, AGENT, None, "{thread}"), thread.Thread),
        "thread that has ended": Row(
            thread.Thread.key_of(TENANT, AGENT, None, "{thread}", live=False), thread.Thread
        ),
        "`ActiveThread`": Row(thread.ActiveThread.key_of(TENANT, AGENT, None), thread.ActiveThread),
        "`ThreadRunLink`": Row(
            thread.ThreadRunLink.key_of(TENANT, AGENT, None, "{thread}", "{run}", 1),
            thread.ThreadRunLink,
        ),
        "`Errand`": Row(errand.Errand.key_of(TENANT, ERRAND), errand.Errand),
        "`OpenErrand`": Row(errand.OpenErrand.key_of(TENANT, ERRAND), errand.OpenErrand),
        "`Meeting`": Row(meeting.Meeting.key_of(TENANT, MEETING), meeting.Meeting),
        "revision": Row(agent_item.revision_key(TENANT, AGENT, None), agent_item.revision_key),
        "effect": Row(
            effects.effect_key(ownership.owned_partition(TENANT, AGENT, None), "{effect}"),
            effects.effect_key,
        ),
        "`Posting`": Row(stored.Posting.key_of(TENANT, AGENT, None, "{stem}"), stored.Posting),
    },
    "People, addresses and connections": {
        "`User`": Row(user.User.key_of(TENANT, "{id}"), user.User),
        "`KeyedCall`": Row(
            keyed_call.KeyedCall.key_of(TENANT, "{id}", "{call}"), keyed_call.KeyedCall
        ),
        "`NameWord`": Row(user.NameWord.key_of(TENANT, "{word}", "{id}"), user.NameWord),
        "`OpeningRecord`": Row(
            idempotency.OpeningRecord.key_of(TENANT, "{id}", "{client}"),
            idempotency.OpeningRecord,
        ),
        "`PersonChoices`": Row(
            person_choices.PersonChoices.key_of(TENANT, "{id}"), person_choices.PersonChoices
        ),
        "`Consent`": Row(consent.Consent.key_of(TENANT, "{id}", "{consent}"), consent.Consent),
        "`ErrandLink`": Row(_errand_link_key(), errand.ErrandLink),
        "`Forgetting`": Row(
            forgetting.Forgetting.key_of(TENANT, "{id}", "{forgetting}"), forgetting.Forgetting
        ),
        "`ForgetRequest`": Row(
            forgetting.ForgetRequest.key_of(TENANT, "{id}", "{request}"), forgetting.ForgetRequest
        ),
        "`Access`": Row(_access_key(), audit.Access),
        "`NumberCode`": Row(
            number_code.NumberCode.key_of(TENANT, "{id}", ADDRESS), number_code.NumberCode
        ),
        "`Outreach`": Row(outreach.Outreach.key_of(TENANT, "{id}"), outreach.Outreach),
        "`OutreachPerson`": Row(
            outreach.OutreachPerson.key_of(TENANT, "{outreach}", "{id}"), outreach.OutreachPerson
        ),
        "`Merge`": Row(user.Merge.key_of(TENANT, "{id}"), user.Merge),
        "`PersonConnections`": Row(
            connection.PersonConnections.key_of(TENANT, "{id}"), connection.PersonConnections
        ),
        "`PersonDevices`": Row(device.PersonDevices.key_of(TENANT, "{id}"), device.PersonDevices),
        "`UserToken`": Row(
            user_token.UserToken.key_of(TENANT, "{id}", "{token}"), user_token.UserToken
        ),
        "`DeviceOwner`": Row(device.DeviceOwner.key_of(TENANT, "{id}"), device.DeviceOwner),
        "`Connection`": Row(connection.Connection.key_of("{id}"), connection.Connection),
        "`MediaLink`": Row(media_link.MediaLink.key_of("{hash}"), media_link.MediaLink),
        "`LiveTicket`": Row(connection.LiveTicket.key_of("{hash}"), connection.LiveTicket),
        "`AddressOwner`": Row(
            address_index.AddressOwner.key_of(TENANT, ADDRESS), address_index.AddressOwner
        ),
        "`AddressChat`": Row(
            address_index.AddressChat.key_of(TENANT, ADDRESS, LINE), address_index.AddressChat
        ),
        "`OptOutKey`": Row(opted_out_number.OptOutKey.key_of(TENANT), opted_out_number.OptOutKey),
        "`OptedOutNumber`": Row(
            opted_out_number.OptedOutNumber.key_of(TENANT, "{channel}", "{hash}"),
            opted_out_number.OptedOutNumber,
        ),
        "`ReceivedSms`": Row(sms.ReceivedSms.key_of(TENANT, "{sid}"), sms.ReceivedSms),
        "`Line`": Row(line.Line.key_of(ADDRESS), line.Line),
        "`ReservedNumber`": Row(line.ReservedNumber.key_of(ADDRESS), line.ReservedNumber),
        "`AssignedNumber`, in the table of assigned numbers": Row(
            assigned_number.AssignedNumber.key_of(ADDRESS), assigned_number.AssignedNumber
        ),
    },
    "Settings, limits and usage": {
        "`TenantSettings`": Row(overrides.TenantSettings.key_of(TENANT), overrides.TenantSettings),
        "`StackSettings`": Row(
            overrides.StackSettings.key_of(7)._replace(pk="STACK#{copy}"), overrides.StackSettings
        ),
        "`SmsHourRecord`": Row(
            sms.SmsHourRecord.key_of(NOON)._replace(sk="{hour}"), sms.SmsHourRecord
        ),
        "`Allowance`": Row(limit.Allowance.key_of(TENANT, "user:{id}"), limit.Allowance),
        "`Allowance` of a tenant": Row(
            limit.Allowance.key_of(TENANT, "all:{shard}"), limit.Allowance
        ),
        "`SharingRules`": Row(SharingRules.key_of(TENANT), SharingRules),
        "`RulesVersion`": Row(RulesVersion.key_of(TENANT, 7), RulesVersion),
        "usage": Row(
            usage.usage_key(TENANT, "{day}", 7)._replace(pk=f"{USAGE}#{{shard}}"),
            usage.usage_key,
        ),
        "usage of an agent": Row(
            usage.agent_usage_key(TENANT, NOON, AGENT, 7)._replace(
                pk=f"{USAGE}#{{shard}}", sk="AGENT#{agent}#{shard}"
            ),
            usage.agent_usage_key,
        ),
        "usage of a person": Row(
            usage.user_usage_key(TENANT, NOON, "{id}")._replace(pk=f"{USAGE}#{{shard}}"),
            usage.user_usage_key,
        ),
        "usage of 0.3.0": Row(
            usage.unsharded(usage.user_usage_key(TENANT, NOON, "{id}"))._replace(pk=USAGE),
            usage.unsharded,
        ),
    },
    "Privacy": {
        "`DisclosureRecord`": Row(
            Key(
                disclosure.DisclosureRecord.partition_of(TENANT, "{id}"),
                "DISCLOSED#{time}#{run}#{chat}",
            ),
            disclosure.DisclosureRecord,
        ),
        "`AuditEntry`": Row(_audit_key(), audit.AuditEntry),
        "`Erasure`": Row(erasure.Erasure.key_of(TENANT, "{erasure}"), erasure.Erasure),
        "`Subject`": Row(erasure.Subject.key_of(TENANT, "{erasure}"), erasure.Subject),
        "`ErasedChat`": Row(
            erasure.ErasedChat.key_of(TENANT, "{erasure}", CHAT), erasure.ErasedChat
        ),
        "`RegisteredErasure`, in the erasure register": Row(
            registered_erasure.RegisteredErasure.key_of("{shard}", TENANT, "{erasure}"),
            registered_erasure.RegisteredErasure,
        ),
    },
}
RELATIONS: Mapping[str, Any] = {
    membership.member_relation(TENANT, PERSON): membership.member_relation,
    membership.past_relation(TENANT, "{id}"): membership.past_relation,
    chat.chats_relation(TENANT, 0).replace("#0", "#{shard}"): chat.chats_relation,
    run.runs_relation(TENANT, AGENT, date(2026, 2, 18)).replace("2026-02-18", "{day}"): (
        run.runs_relation
    ),
    provenance.made_relation(TENANT, CHAT): provenance.made_relation,
    provenance.mixed_relation(TENANT, AGENT): provenance.mixed_relation,
    agent.agents_relation(TENANT): agent.agents_relation,
    user.users_relation(TENANT): user.users_relation,
    user.users_relation(TENANT, visitors=True): user.users_relation,
    line.lines_relation(TENANT): line.lines_relation,
    webhook_service.services_relation(TENANT): webhook_service.services_relation,
}
# Beginnings of docstrings that say no more than the column does.
FORMULAS = ("Return the key of ", "Return the `gsi1` partition key of ", "The key of ")


def page() -> str:
    """Return docs/data.md in Markdown.

    Raises:
        ValueError: An entity or a kind of due pointer is missing in this module.
    """
    told = {name for rows in GROUPS.values() for name in rows}
    missing = {name for name in _entities() if not any(f"`{name}`" in heading for heading in told)}
    if missing or KINDS.keys() != set(get_args(due.DueKind)):
        wrong = sorted(missing) or sorted(KINDS.keys() ^ set(get_args(due.DueKind)))
        raise ValueError(f"correct {wrong} in tools/reference/data.py")
    relations = table(
        "`gsi1pk`",
        "lists",
        rows=((f"`{name}`", _first_line(function)) for name, function in RELATIONS.items()),
    )
    kinds = table(
        "kind",
        "on",
        "due when",
        rows=((f"`{kind}`", on, when) for kind, (on, when) in KINDS.items()),
    )
    items = "".join(map(_part, GROUPS))
    return f"{HEAD}{items}{INDEXES}{relations}{DUE}{kinds}{access_patterns.section()}"


def _part(heading: str) -> str:
    rows = (
        (name, f"`{key.pk}`", f"`{key.sk}`", _first_line(described_by))
        for name, (key, described_by) in GROUPS[heading].items()
    )
    return f"\n## {heading}\n\n{table('item', 'pk', 'sk', 'content', rows=rows)}"


def _first_line(documented: Any) -> str:
    """Return the first line of a docstring, without words that the column's heading says."""
    words = (inspect.getdoc(documented) or "").splitlines()[0]
    for formula in FORMULAS:
        words = words.removeprefix(formula)
    return words[0].upper() + words[1:]


def _entities(kind: type[Stored] = Stored) -> Iterator[str]:
    """Yield every kind of item that is stored under a key of its own."""
    for inner in kind.__subclasses__():
        if hasattr(inner, "key_of") and inner is not agent_item.AgentItem:
            yield inner.__name__
        yield from _entities(inner)
