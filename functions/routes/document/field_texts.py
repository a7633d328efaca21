"""Descriptions in the OpenAPI document of enums, and of fields without one in their model.

A field's own description in its model wins. `SCHEMA_FIELDS` has the fields whose meaning depends on
the schema, and `FIELDS` has all others by name. `ENUMS` has the enums by name.
"""

from collections.abc import Mapping
from typing import Any

FIELDS = {
    "active": "Whether the thread is the active one.",
    "activation": "The number of the activation to which the step belongs, from 1.",
    "agent_id": "The id of an agent.",
    "agent_ids": "The agents whose runs the service starts.",
    "agents": "The outcome for each agent of the chat.",
    "all": "True: all agents of the chat respond, one after the other.",
    "amount": "The amount, with up to six digits after the point.",
    "answers": "Number of answers of models.",
    "approach": "How the agent goes about the work.",
    "archived_at": "When the thread was archived; null if it was not.",
    "arguments": "The arguments as the model wrote them: JSON text, unchecked.",
    "at": "When it happened.",
    "attempts": "Number of attempts; a run fails after three.",
    "audience": "The people who were present for all of the content.",
    "blocking": "What the work waits for.",
    "cached_tokens": "Input tokens that the provider's prefix cache served.",
    "call_id": "The id of the tool call.",
    "calls": "Number of model calls.",
    "chain_depth": "How many agents' messages lie between the run and a person; 0 for a person's.",
    "changed_at": "When the version was stored.",
    "characters": "Number of characters of the text.",
    "chat_id": "The id of a chat.",
    "chats": "The current and former chats of the person.",
    "checked_at": "When Skein last asked the provider.",
    "completed_at": "When the thread was completed; null if it was not.",
    "concern": "What the thread is about.",
    "configuration": "All values that operators set, as they are in this version.",
    "constitutional": "Whether agents and consolidations cannot remove the memory.",
    "content": "The text that the model was shown.",
    "content_type": "The media type, such as `image/jpeg`.",
    "created_at": "When the item was created.",
    "cron": "Five cron fields, in the plan's time zone; null for a plan that runs once.",
    "currency": "The code of the currency (ISO 4217), such as `USD`.",
    "current": "The position in `turns` of the message to answer; the end if there is none.",
    "day": "The day, in UTC.",
    "deliverable": "What the work produces.",
    "deliveries": "SMS and their deliveries.",
    "description": "What the item is for, in a sentence.",
    "discarded_at": "When the chat was discarded; null if it was not.",
    "documents": "Names of the agent's documents that belong to the thread.",
    "enabled_tools": "The tools that the agent may call.",
    "ended_at": "When it ended; null before.",
    "error": "The error in words; null without one.",
    "evidence": "How to tell that the work is done.",
    "fault": "Why the answer could not be used as it is; null if it could.",
    "field": "The field: `name`, `time_zone`, or a field of the profile.",
    "finished_at": "When the erasure was done; null before.",
    "from_seq": "The `seq` of the first message.",
    "global": "Whether prompts always show the document.",
    "goal": "What the thread is to achieve.",
    "history_format": "How prompts show the history; null: it depends on the chat.",
    "id": "The id, an opaque text.",
    "ids": "The ids in the call's parameters, and the id of a created item.",
    "input_tokens": "Tokens of prompts.",
    "instruction": "What the agent does when the plan is due.",
    "items": "The items of this page.",
    "kept": "What agents store for this person only.",
    "kind": "The kind of item.",
    "last_error": "The newest run that failed or is held up; null without one.",
    "last_message": "The newest message; null in an empty chat.",
    "last_message_at": "When the newest message was posted; null in an empty chat.",
    "last_seq": "The `seq` of the newest message; 0 without one.",
    "learned": "What the agent learned beyond the work.",
    "line": "The phone number of the line; null without SMS.",
    "listed": "Whether the directory lists the agent.",
    "long_term": "Whether the goal is a long-term one.",
    "made_by": "What made the memory.",
    "marks": "Notes on how the prompt was built.",
    "max_concurrent_runs": "How many runs may work at once; null: the deployment's limit.",
    "max_prompt_tokens": "Maximum tokens of a prompt; null: the deployment's limit.",
    "meaning": "The reason in one sentence.",
    "media": "Images, audio and videos of the message.",
    "media_type": "The media type of the text, such as `text/markdown`.",
    "members": "The members of the chat.",
    "message": "The message of the API Gateway.",
    "messages": "Number of messages.",
    "mode": "The mode of work; prompts include the skills of this mode.",
    "model": "The name of a model.",
    "modes": "Threads in one of these modes get the skill.",
    "n": "The number of the step in its run, from 1.",
    "name": "The name.",
    "next_cursor": "Pass it as `cursor` to get the next page; null on the last page.",
    "nudge": "The text of the final user message, if no message to answer comes last.",
    "output_tokens": "Tokens of answers.",
    "parts": "The texts of the SMS, in order.",
    "phone": "A phone number in E.164 form, such as +15005550100.",
    "phones": "Phone numbers with country codes.",
    "pinned_thread_id": "The thread with which the agent's runs begin in this chat; null: none.",
    "priority": "1 is the most important.",
    "profile": "Free fields about the person, up to 16 KiB.",
    "profile_fields": "Fields of people that the agent and consolidation may set.",
    "progress": "How far the work has come.",
    "prompt": "The prompt with the edits.",
    "reachable": "Whether the provider answered.",
    "reason": "Why there is no answer, or not yet.",
    "reasoning_tokens": "Output tokens of the model's hidden reasoning.",
    "reply_mode": "Whether the agent answers by tools or text; null: it depends on the chat.",
    "reply_to": "The `seq` of the message that this one replies to; null for none.",
    "request_id": "The id of the request, by which the logs are found.",
    "requested_at": "When the erasure was requested.",
    "requested_by": "The operator who requested the erasure.",
    "respond": "Which messages agents answer: `every` one, those that `mention` them, or none.",
    "role": "The role of the message in the chat-completion API.",
    "route": "The method and the path of the call.",
    "run_after": "The delay after which the plan is due, such as `2 hours`.",
    "run_id": "The id of a run.",
    "runs": "The ids of the started runs.",
    "scheduled_at": "When the plan is due; null for another kind of plan.",
    "scope": "The scope of the caller's token.",
    "scopes": "The scopes of the token.",
    "sections": "The sections, in order.",
    "seen_seq": "The `seq` of the newest message that was read; 0 if there is none.",
    "sender": "Who posted the message.",
    "seq": "The number of the message in its chat.",
    "settings": "The item's own settings. Null in a field means that the next level decides.",
    "skill_tags": "Prompts include the skills with these tags.",
    "bound_skills": "Names of skills that prompts always include.",
    "source": "Where it comes from.",
    "stack": "Pauses of the whole stack.",
    "started_at": "When it started; null before.",
    "status": "The current state.",
    "steps": "All steps of the run, in order.",
    "summary_instruction": "The instruction for the agent's summaries; null: the default.",
    "sweeps": "The finished sweeps, with what each erased.",
    "system_prompt": "The instructions for the agent, which each prompt contains.",
    "tags": "Threads with one of these tags get the skill.",
    "tenant": "The tenant.",
    "text": "The text.",
    "time_zone": "The IANA name of a time zone, such as `Europe/Paris`.",
    "title": "The title; null without one.",
    "to_seq": "The `seq` of the last message.",
    "tokens": "Number of tokens.",
    "tool_calls": "The tools that the model called.",
    "total": "All rows together.",
    "total_tokens": "Tokens of all sections together.",
    "trigger": "What started the run.",
    "turns": "The history as messages with roles, if the agent's history format is `roles`.",
    "unpriced_models": "Models without a price, which the amount leaves out.",
    "unpriced_segments": "Segments of SMS without a price, which the amount leaves out.",
    "unread": "Number of messages after the last one that the caller has read.",
    "updated_at": "When the text or a property last changed.",
    "url": "The address of the file.",
    "usage": "The tokens that were used.",
    "user": "The record of the person.",
    "user_id": "The id of a user.",
    "value": "The value.",
    "verb": "What the call does.",
    "version": "The version, a number that each change raises.",
    "visibility": "Whether content may be shown to everyone in the tenant (`open`) or not.",
    "warnings": "Problems of the configuration, which do not prevent requests.",
    "who": "The `sub` of the caller's token.",
}
SCHEMA_FIELDS = {
    "AgentResource.description": "What people read about the agent in the directory.",
    "AgentDetail.description": "What people read about the agent in the directory.",
    "AgentConfiguration.description": "What people read about the agent in the directory.",
    "AgentResource.model": "The model; null: the deployment's default model.",
    "AgentDetail.model": "The model; null: the deployment's default model.",
    "AgentConfiguration.model": "The model; null: the deployment's default model.",
    "AgentChange.model": "The model; null: the deployment's default model.",
    "AuditResource.at": "When the call was made.",
    "AuditResource.kind": "The kind of item that the call concerns.",
    "ConsolidationResource.at": "When the consolidation ended.",
    "EffectiveSettingResource.description": "What the setting does.",
    "EffectiveSettingResource.name": "The name of the setting.",
    "EffectiveSettingResource.value": "The value in force.",
    "ErrorEnvelope.error": "What went wrong.",
    "GatewayErrorEnvelope.error": "The error, if it is one of Skein.",
    "LastErrorResource.at": "When the reason was recorded.",
    "ListedAgent.description": "What the agent is for; null if operators gave no description.",
    "MemoryResource.expires_at": "When a journal entry fades.",
    "MessageResource.text": "The text; empty for a deleted or erased message.",
    "NoteResource.at": "When the summary was made.",
    "PausesResource.tenant": "Pauses of the tenant.",
    "ProfileChangeResource.at": "When the change was made.",
    "ReadReceipt.seq": "The `seq` of the newest message that the caller has read.",
    "RecordedReason.at": "When the reason was recorded last.",
    "ReflectionResource.at": "When the agent decided.",
    "RunResource.prompt": "The prompt of the newest activation.",
    "SectionResource.tokens": "Tokens of the section.",
    "RespondNow.agent_id": "The agent that responds; give either this or `all`.",
    "ServiceTrigger.name": "The name of the service.",
    "ShownStaging.staging": "The id of the staging.",
    "ShownStaging.chat_id": "The chat that the borrowed messages come from.",
    "ThreadResource.kind": "Whether the thread explores a subject or produces a deliverable.",
    "ThreadChange.kind": "Whether the thread explores a subject or produces a deliverable.",
    "NewThread.kind": "Whether the thread explores a subject or produces a deliverable.",
    "ToolResult.name": "The name of the tool.",
    "ToolResult.status": "Whether the tool did its work.",
    "ToolCall.name": "The name of the tool.",
    "Trigger.seq": "The newest message that the run answers; null without a message.",
    "UsageReportResource.by": "What each row stands for.",
    "Health.status": "Always `ok`.",
    "SystemResource.model": "Whether the model's provider answers.",
}

ENUMS = {
    "AnswerFault": "Why an answer cannot be used as it is: empty, cut off at its limit, refused by "
    "the model, filtered by the provider, or text that reaches nobody.",
    "AnswerMark": "A note on an answer: the model was asked again, it was told that its text "
    "reaches nobody (`nudged`), or its last text reached nobody.",
    "AuditKind": "The kind of item that a call reads or changes.",
    "AuditScope": "The scope of the caller's token.",
    "AuditVerb": "What a call does.",
    "BacklogKind": "The kind of work that waits.",
    "ChatKind": "A `direct` chat has one person and one agent; a `group` has any members.",
    "DeliveryStatus": "The state of an SMS. `sent` SMS were accepted by the provider, and "
    "`delivered` ones have reached the phone.",
    "EndedThreadStatus": "How a thread ended: completed, or archived without a result.",
    "EntryKind": "What an entry of a prompt comes from.",
    "ErasureStage": "The stage of a sweep, in this order. Between two sweeps, an erasure is "
    "`resting`.",
    "ErrorCode": "The kind of error, for programs. More may be added.",
    "GoalStatus": "Whether a goal is active, reached or given up.",
    "HistoryFormat": "How prompts show the history: as one list of messages with times "
    "(`timeline`), or as messages with roles.",
    "MadeBy": "What made a memory: consolidation of a chat, the agent with a tool, an operator "
    "(`api`), or a reflection.",
    "MemberKind": "Whether a member is a person (`user`) or an agent.",
    "MemoryKind": "Core memories stay; journal entries fade.",
    "MemoryState": "`live` memories are active; `ended` ones were removed, were replaced or faded.",
    "MessageKind": "The kind of message. A `keyword` such as STOP and a `notice` of Skein trigger "
    "nobody.",
    "PauseKind": "The kind of work that is paused: runs of agents, SMS to people (`texts`), or "
    "summaries and memories (`background`).",
    "PlanStatus": "Whether a plan is still due, has fired for the last time, or was canceled.",
    "ProfileChangeMadeBy": "What changed the profile: consolidation, or the agent's tool.",
    "PromptMark": "A note on how a prompt was built, for example that content was left out.",
    "ReplyMode": "How an agent answers: only with the tool `send_message`, or with its text.",
    "RespondMode": "Which messages the agents of a chat answer: every message, those that "
    "mention them, or none until a person asks.",
    "RunStatus": "The state of a run. A `waiting` run has asked something and waits for a reply.",
    "SettingType": "The type of the values of a setting in JSON.",
    "SettingSource": "The level that set a value; `environment` is the deployment.",
    "ThreadKind": "Whether a thread explores a subject or produces a deliverable.",
    "ThreadStatus": "The state of a thread. An `archived` thread ended without a result.",
    "ToolName": "A tool of agents.",
    "ToolStatus": "How a tool call ended. After `correctable`, the model can try other arguments.",
    "TriggerType": "What started a run: a message, a person's request (`manual`), a plan or a "
    "webhook service.",
    "TurnRole": "The role of a message in the chat-completion API.",
    "UsageBy": "What each row of a usage report stands for.",
    "Visibility": "Content of `open` chats may be shown to everyone in the tenant; content of "
    "`private` chats only to people who were present.",
    "WarningCode": "The kind of warning, for programs. More may be added.",
}


def describe_fields(schemas: Mapping[str, Any]) -> None:
    """Give each enum, and each field without a description in its model, a description.

    Attributes that a schema's own description lists become descriptions of its fields.
    """
    for name, schema in schemas.items():
        if name in ENUMS:
            schema["description"] = ENUMS[name]
        listed = _split_attributes(schema)
        for field, described in schema.get("properties", {}).items():
            text = (
                described.get("description")
                or SCHEMA_FIELDS.get(f"{name}.{field}")
                or listed.get(field)
                or FIELDS.get(field)
            )
            if text is not None:
                described["description"] = text


def _split_attributes(schema: dict[str, Any]) -> dict[str, str]:
    """Remove the list of attributes from a schema's description, and return its texts by name."""
    about, found, attributes = schema.get("description", "").partition("\n\nAttributes:\n")
    if not found:
        return {}
    schema["description"] = about
    texts: dict[str, str] = {}
    name = ""
    for line in attributes.splitlines():
        if line.startswith("     "):
            texts[name] += f" {line.strip()}"
        else:
            name, _, text = line.strip().partition(": ")
            texts[name] = text
    return {field: text.replace("None", "null") for field, text in texts.items()}
