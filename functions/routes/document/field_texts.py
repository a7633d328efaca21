"""Descriptions for the OpenAPI document: of enums, and of fields that a docstring lists.

All other fields have their descriptions in the models. An enum of the code is a list of values,
which cannot have a description.
"""

from collections.abc import Mapping
from typing import Any

ENUMS = {
    "AnswerFault": "Why an answer cannot be used as it is: empty, cut off at its limit, refused by "
    "the model, filtered by the provider, or text that reaches nobody.",
    "AnswerMark": "A note on an answer: the model was asked again, it was told that its text "
    "reaches nobody (`nudged`), or its last text reached nobody.",
    "Approval": "Who agrees to each call of a tool.",
    "AuditKind": "The kind of item that a call reads or changes.",
    "AuditScope": "The scope that a call needs.",
    "AuditVerb": "What a call does.",
    "BacklogKind": "The kind of work that waits.",
    "ChatKind": "A `direct` chat has one person and one agent; a `group` has any members.",
    "ChoicePurpose": "Who asks: an agent (`question`), or Skein, whether words may be posted "
    "(`consent`), whether a tool is called (`tool`), whether the person joins a chat "
    "(`invitation`), whether a number is still theirs (`number`), whether messages are forgotten "
    "(`forgetting`), what another person asks (`errand`), or whether others may be told what the "
    "person says to agents alone (`sharing`).",
    "ChoiceStatus": "Whether a question is open, answered or expired.",
    "ColorScheme": "Whether a widget is light, dark, or as the visitor's system is.",
    "CountedMessages": "How messages are counted and priced: by channel, or as `mms` if an SMS has "
    "a file.",
    "Decision": "What an operator decided on a call.",
    "DeskReason": "What put a chat on the desk: an `agent`, a rule of the operator (`words`, "
    "`failed_answers`, `tool`), or an `operator`.",
    "DeskStatus": "Whether a chat waits for a person of the team, or one holds it.",
    "DraftKind": "What an agent drafts for the holder of a chat.",
    "DueWork": "What becomes of plans and calls of services in a chat that a person of the team "
    "holds: they `wait` for its return, or are dropped.",
    "DeliveryStatus": "The state of an SMS. `sent` SMS were accepted by the provider, and "
    "`delivered` ones have reached the phone.",
    "EndpointKind": "Where events go: to a `url`, or to the deployment's `bus` of EventBridge.",
    "EntryKind": "What an entry of a prompt comes from.",
    "EventType": "What an event tells of.",
    "ImageDetail": "How closely a model looks at pictures; `auto` leaves it to the provider.",
    "ErrandState": "What came of an errand. A refusal, silence and all that went wrong read alike: "
    "`open` until the deadline, and then `no_answer`.",
    "ErasureStage": "The stage of a sweep, in this order. Between two sweeps, an erasure is "
    "`resting`.",
    "CaseState": "Whether a case can be played, or the prompt of its run is `gone`: erased, "
    "forgotten or expired.",
    "ConsentSource": "Who gave a consent to texts: an `operator` with a proof, the person by the "
    "keyword `start`, or the `person` in the app.",
    "ErrorCode": "The kind of error, for programs. More may be added.",
    "FromPrivate": "Whether private content may reach a service after a yes (`ask`), or never.",
    "Gate": "What a change of an agent without a trial leads to: nothing (`off`), a warning, or a "
    "refusal (`block`).",
    "GoalStatus": "Whether a goal is active, reached or given up.",
    "HistoryFormat": "How prompts show the history: as one list of messages with times "
    "(`timeline`), or as messages with roles.",
    "HttpMethod": "The method of a request.",
    "ItemKind": "The kind of an item that is explained.",
    "DeskEnd": "Why a chat left the desk: it was handed back, an hour passed in silence, or the "
    "chat was discarded.",
    "LimitReason": "The limit that was met.",
    "PersonKind": "A `member` uses SMS, an app or the console; a `visitor` writes in the web chat.",
    "Presence": "Whether a member joined a chat or left it.",
    "KeyRole": "A right of an API key.",
    "MadeBy": "What made a memory: consolidation of a chat, the agent with a tool, an operator "
    "(`api`), or a reflection.",
    "MediaState": "Whether a file is still being checked (`pending`), can be shown (`ready`) or "
    "neither (`failed`).",
    "MemberKind": "Whether a member is a person (`user`) or an agent.",
    "MemberRole": "Who owns a chat. Only owners remove others, discard the chat, and change its "
    "title and settings.",
    "MemberState": "Whether a person or an agent is a member, or a person is invited.",
    "MemoryKind": "Core memories stay; journal entries fade.",
    "MemoryState": "`live` memories are active; `ended` ones were removed, were replaced or faded.",
    "MessageKind": "The kind of message. A `keyword` such as STOP and a `notice` of Skein trigger "
    "nobody; nor do a `choice`, a question to one person, and a message of the `team`.",
    "NamedTexts": "Texts of others that have the full name of an erased user: `keep` them, "
    "`replace` the name, or `remove` them.",
    "NameSource": "Whether a name is `given` by the issuer or an operator, or was `chosen`.",
    "OfferState": "How a tool of a server relates to what an operator approved: `new`, `approved`, "
    "`changed` or `gone`. Calls are refused until an operator approves a change.",
    "Outsiders": "Whether private prompts show words of people outside of the chat: `none`, or "
    "`quoted` with their source.",
    "OutreachStatus": "Whether an outreach is `active`, `paused` or `canceled`.",
    "OwnToolEffect": "Whether a call only reads, or has effects (`write`).",
    "PauseKind": "The kind of work that is paused: runs of agents, SMS to people (`texts`), or "
    "summaries and memories (`background`).",
    "PersonState": "What has become of a person of an outreach: `waiting` for their turn; "
    "`writing`, as the text is made or on its way; `sent`, `delivered` or `answered`; `silent`, as "
    "the agent wrote nothing; `failed`; `refused`; `expired` after `not_after`; or `canceled`.",
    "PlayMark": "How a play of a case went. `judged`: only a sentence that a model judges does not "
    "hold.",
    "PlanOutcome": "Whether a plan is to be due again, or is canceled.",
    "PlanStatus": "Whether a plan is still due, has fired for the last time, or was canceled.",
    "Platform": "A push service: that of Apple (`apns`) or of Google (`fcm`).",
    "PostFailure": "Why words to which a person agreed were not posted in a chat.",
    "PostStatus": "Whether words to which a person agreed are posted in a chat.",
    "ProfileChangeMadeBy": "What changed the profile: consolidation, or the agent's tool.",
    "PromptMark": "A note on how a prompt was built, for example that content was left out.",
    "ReachingChannel": "A channel by which messages reach people outside of the app.",
    "ReplyMode": "How an agent answers: only with the tool `send_message`, or with its text.",
    "RespondMode": "Which messages the agents of a chat answer: every message, those that "
    "mention them, or none until a person asks.",
    "RunStatus": "The state of a run. A `waiting` run has asked something and waits for a reply.",
    "ScriptChat": "The chat of a script: a direct chat, or a private or an open group.",
    "SenderKind": "Who posts: a person (`user`), an agent, or a person of the `team`.",
    "SettingType": "The type of the values of a setting in JSON.",
    "SettingSource": "The level that set a value; `environment` is the deployment.",
    "SourceAudience": "Who may be told of a source: `everyone`, visitors, too (`public`), or only "
    "people with one of its `roles`.",
    "SourceState": "Whether a source is being read, is `ready`, keeps its last text (`held`), or "
    "has none (`failed`).",
    "ThreadKind": "Whether a thread explores a subject or produces a deliverable.",
    "ThreadStatus": "The state of a thread. An `archived` thread ended without a result.",
    "ToolName": "A tool of agents.",
    "ToolPrivacy": "What a service promises: nothing (`shared`), or that data comes back only to "
    "the readers that the context names (`keeps_by_person`).",
    "ToolStatus": "How a tool call ended. After `correctable`, the model can try other arguments. "
    "`asked` waits for a yes; `unknown` may or may not have had its effect.",
    "TrialSide": "The version of the agent that is compared with, or the one that is tried.",
    "TrialState": "Whether a trial is running, has `ended` with all verdicts, or was `stopped`.",
    "TriggerType": "What started a run: a message, a person's request (`manual`), a plan or a "
    "webhook service.",
    "TurnRole": "The role of a message in the chat-completion API.",
    "UsageBy": "What each row of a usage report stands for.",
    "Verdict": "What the plays of a case say: both versions pass (`held`), only the candidate "
    "(`improved`), neither (`broken`), surely only the baseline (`regressed`), or not surely "
    "(`flaky`). `gone` and `not_comparable` cases are not played.",
    "Visibility": "Content of `open` chats may be shown to everyone in the tenant; content of "
    "`private` chats only to people who were present.",
    "VisitStatus": "Whether a visitor has not written yet, has written, is being erased, or is "
    "erased.",
    "Weekday": "A day of the week.",
    "WhoMayAdd": "Who may add an agent to chats: anyone, or operators only.",
    "WarningCode": "The kind of warning, for programs. More may be added.",
    "WidgetSide": "The side of a page on which the button of a widget is.",
}


def describe_fields(schemas: Mapping[str, Any]) -> None:
    """Add the description of each enum, and of each field that its schema's docstring lists."""
    for name, schema in schemas.items():
        if name in ENUMS:
            schema["description"] = ENUMS[name]
        listed = _split_attributes(schema)
        for field, described in schema.get("properties", {}).items():
            if field in listed:
                described.setdefault("description", listed[field])


def _split_attributes(schema: dict[str, Any]) -> dict[str, str]:
    """Remove the list of attributes from a schema's description; return their texts by name."""
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
