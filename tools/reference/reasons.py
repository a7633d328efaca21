"""Content of docs/reasons.md: how to find out why an agent is silent, and each reason's advice."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from skein.models.common.reason import Reason
from skein.services.delivery.policy import RETRY
from tools.reference.markdown import table

HEAD = """# Troubleshooting and reasons

This page helps operators find out why an agent said something, why a message has no answer, and
why an agent doesn't remember a chat. Its second half lists every reason that Skein records, with
what to do about it. For an alarm, see the [runbook](alarms.md).

All calls on this page require a token with the scope `admin`. The
[tutorial](tutorial.md#11-why-did-the-coach-not-answer) shows them with their output.

## In the console

Start with the [Why](console.md#why) page of the console. It lists the runs of an agent on a day
and explains each answer and each silence: what happened to the message for each agent and each
SMS, what the model was shown, and what it did. On the Chats page, a link beside each message leads
to its explanation. The rest of this page shows how to find the same by API.

## Why is there no answer?

Every message without an answer has a reason. You can look it up by phone number, by agent and day,
or in the log.

### From a phone number

1. `GET /v1/users?phone=%2B15005550100` returns the person with this number. If the list is empty,
   no SMS from this number was stored: continue [in the log](#from-the-log).
2. `GET /v1/users/{user_id}/chats` lists the person's direct chats with their `last_seq`, newest
   first.
3. `GET /v1/chats/{chat_id}/messages/{seq}/reasons` lists, for each agent of the chat, the runs \
that
   the message led to and their reasons, or the reason why it started no run. `deliveries` lists \
the
   SMS that carry the answers.
4. `GET /v1/runs/{run_id}` returns the same `reason`, the earlier ones in `reasons` with their \
times,
   and details in `error`. This call shows what people wrote, because it includes the prompt. The
   first three calls don't.

### From an agent and a day

`GET /v1/agents/{agent_id}/runs?day=2026-11-21` lists each run with its `reason`. A message that
started no run isn't in this list.

### From the log

Search by Twilio's id of an SMS (`sid`), or by the request id of a call or webhook
(`apigw-requestid`). The function `insights` is defined in [alarms](alarms.md#first-look):

```sh
insights 'filter sid = "SM9e17bcf6920eae0b53238cc93311afb1" | fields @timestamp, message, reason,\
 http_status, chat_id, seq, user_id, line, run_ids | sort @timestamp'
```

```sh
insights 'filter ispresent(reason) and (correlation_id = "G1hJ..." or request_id = "G1hJ...") | \
fields @timestamp, function_name, message, reason, http_status, run_id, delivery_id | sort \
@timestamp'
```

If a request was not stored, its reason is only in the log and in the metric `RequestsRejected`. A
request with a wrong signature has no `sid` in the log, because its fields may be forged.

## Why did the agent say that?

Each run stores everything that the model was shown and everything that it answered.

1. `GET /v1/agents/{agent_id}/runs?day=2026-11-21` lists the agent's runs of a day, newest first.
2. `GET /v1/runs/{run_id}` returns the run: the prompt of its newest activation, section by \
section,
   and each step with the model's words, its tool calls, their results, the tokens, and the times.

If a fact is missing from the prompt, it was cut, or the people in that chat may not be shown it.\
 If
the fact is in the prompt and the answer is still wrong, the model made the mistake. To preview the
prompt that a run would get now, call `GET /v1/agents/{agent_id}/context?chat_id=`.

## Why does an agent not remember a chat?

`GET /v1/chats/{chat_id}/consolidations` lists the chunks of the chat that each agent has
consolidated, newest first. A chunk that failed has a `failure`:

| failure | what to do |
|---|---|
| `Unavailable`, `Throttled`, `KeyRefused`, `ModelRejected` or another error of the model; the \
log has its status | Fix the key or the quota, or give the agent another model (`PATCH \
/v1/agents/{agent_id}`). From the third failure on, each attempt halves the chunk. \
`SKEIN_CONSOLIDATION_CHUNK_TOKENS` makes all chunks smaller |
| The answer could not be parsed | Give the agent a model that returns valid JSON |
| The answer has too many entries, or was cut off | Even the smallest chunk was too large: give \
the agent another model |

After a failure, the next attempt follows within the hour. After the third failure in a row,
attempts are daily. To try at once, call `POST /v1/chats/{chat_id}/consolidate`.

If the list is empty, one of these is the cause:

- `consolidate` is off for the chat, the agent, the line, the tenant, or the deployment.
- The chat hasn't been quiet for long enough: 30 minutes for a direct chat, six hours for a group.
- No one has written since the agent joined.

## Reasons

A reason says why a message has no answer, or why an answer did not reach the person it was sent \
to.
Runs, messages, deliveries, plans, and log lines carry reasons. `reason: null` means that there \
is an
answer, or that the SMS has arrived. More reasons may be added, so clients must accept values that
they don't know.

The column "place" says where to find a reason:

| place | meaning |
|---|---|
| `message` | Recorded with the message: `GET /v1/chats/{chat_id}/messages/{seq}/reasons` |
| `run` | Recorded with the run: `GET /v1/runs/{run_id}` |
| `plan` | Recorded with the plan: `GET /v1/agents/{agent_id}/plans/{plan_id}` |
| `delivery` | Recorded with the delivery: `deliveries` in the reasons of a message |
| `derived` | Not recorded. The calls for messages and runs compute it from the stored state |
| `log` | In the field `reason` of a log line |
| `metric` | In the dimension `reason` of `RequestsRejected`; `own_line`: `TextsFromOwnLines` |

Each recorded reason also has a log line with the field `reason`.

`make reference` writes the tables below.
"""
WAITS = " and ".join(str(wait // timedelta(minutes=1)) for wait in RETRY.waits)


@dataclass(frozen=True)
class Entry:
    """One reason: where operators find it, and what they can do.

    Attributes:
        reason: The reason. The page shows its `meaning`.
        places: Where operators find the reason. The words are those of the page's table of places.
        advice: What an operator can do, in Markdown; "Nothing." if all is well.
    """

    reason: Reason
    places: tuple[str, ...]
    advice: str


@dataclass(frozen=True)
class Group:
    """Reasons of one kind, under a heading of the page."""

    heading: str
    entries: tuple[Entry, ...]
    note: str = ""


GROUPS = (
    Group(
        "Requests that were not stored",
        (
            Entry(
                Reason.WRONG_SIGNATURE,
                ("log", "metric"),
                "If there are many, the token or the service's secret was changed on one side only "
                "([Keys](operations.md#keys)), or `SKEIN_PUBLIC_BASE_URL` is not the URL that "
                "Twilio calls.",
            ),
            Entry(
                Reason.MALFORMED_REQUEST,
                ("log", "metric"),
                "Look at the request in Twilio's debugger, or in the service's own log.",
            ),
            Entry(
                Reason.INVALID_NUMBER,
                ("log", "metric"),
                "Nothing. Short codes and sender names cannot be answered.",
            ),
            Entry(
                Reason.UNKNOWN_LINE,
                ("log", "metric"),
                "Create the line (`POST /v1/lines`), or remove the webhook from that "
                "number at Twilio.",
            ),
            Entry(Reason.NO_WORDS, ("log", "metric"), "Nothing."),
            Entry(
                Reason.OWN_LINE,
                ("log", "metric"),
                "Find the line that forwards its SMS, or the sender who forges them.",
            ),
            Entry(
                Reason.REPEATED,
                ("log",),
                "Nothing. Look at the first message with the same `client_id`.",
            ),
            Entry(
                Reason.SERVER_ERROR,
                ("log",),
                "Look at the exception in the log line, and at `ServerErrorsAlarm`.",
            ),
        ),
    ),
    Group(
        "Messages that started no run",
        (
            Entry(Reason.KEYWORD, ("message",), "Nothing."),
            Entry(Reason.NOTICE, ("message",), "Nothing."),
            Entry(Reason.CHOICE, ("message",), "Nothing. The answer triggers the agent."),
            Entry(Reason.WRONG_CODE, ("message",), "Nothing. A notice told the person."),
            Entry(Reason.CODE_ALONE, ("message",), "Nothing. A notice told the person."),
            Entry(Reason.TYPED_ANSWER, ("message",), "Nothing. The question was repeated."),
            Entry(
                Reason.CHOICE_OVER,
                ("message", "delivery"),
                "Nothing. A notice told the person, or the question was not sent.",
            ),
            Entry(
                Reason.SMS_ANSWERS_CLOSED,
                ("message",),
                "Nothing. The app still accepts answers. Someone may be forging the number.",
            ),
            Entry(
                Reason.RATE_LIMITED,
                ("message", "log"),
                "Wait, or raise `user_messages_per_minute` or `tenant_messages_per_minute` "
                "([over the limit](limits.md#over-the-limit)).",
            ),
            Entry(
                Reason.CHAIN_DEPTH,
                ("message",),
                "Nothing, if agents talked to each other. `SKEIN_MAX_CHAIN_DEPTH` is the limit "
                "([runs.md](runs.md#limits-against-loops)).",
            ),
            Entry(
                Reason.RESPOND_MANUAL,
                ("message",),
                "Start a run with `POST /v1/chats/{chat_id}/runs`, or change `respond` of the "
                "chat.",
            ),
            Entry(
                Reason.NOT_MENTIONED,
                ("message",),
                "Write `@` and the agent's name, or change `respond` of the chat.",
            ),
            Entry(
                Reason.DESK,
                ("message", "run", "log"),
                "Hand the chat back: `DELETE /v1/chats/{chat_id}/desk`. Messages that have no "
                "answer yet then start a run.",
            ),
            Entry(Reason.AGENT_PAUSED, ("message",), "Post a message as a person."),
            Entry(Reason.OWN_MESSAGE, ("derived",), "Nothing."),
            Entry(Reason.JOINED_LATER, ("derived",), "Nothing."),
            Entry(
                Reason.NOT_RECORDED,
                ("derived",),
                "Search the logs for the `correlation_id`.",
            ),
        ),
    ),
    Group(
        "Runs that have not ended",
        (
            Entry(
                Reason.QUEUED,
                ("derived",),
                "Wait two minutes. Then check `DueAgeAlarm`, `JobsNotSent` and the tick. For a "
                "delivery, check the same of `DeliveriesQueue`.",
            ),
            Entry(
                Reason.DEBOUNCE,
                ("derived", "log"),
                "Wait a few seconds ([runs.md](runs.md#a-burst-of-texts)).",
            ),
            Entry(
                Reason.MEDIA_PENDING,
                ("derived", "log"),
                "Wait 20 seconds. Then look at the state of the files in the message.",
            ),
            Entry(
                Reason.BEHIND_OTHER_RUN,
                ("derived", "log"),
                "Look at the agent's running run: `GET /v1/agents/{agent_id}/runs`.",
            ),
            Entry(
                Reason.WORKING,
                ("derived", "log"),
                "Wait until the lease ends, at most two minutes.",
            ),
            Entry(
                Reason.WORKER_LOST,
                ("derived",),
                "Wait two minutes. Then check the tick and the log of `RunWorker`.",
            ),
            Entry(
                Reason.WAITING_FOR_REPLY,
                ("derived", "log"),
                "Nothing. A message in the chat where the run waits resumes it, and so does the "
                "time-out.",
            ),
            Entry(
                Reason.PAUSED,
                ("run", "delivery"),
                "End the pause once the cause is fixed ([Pause](operations.md#pause)).",
            ),
            Entry(
                Reason.CONCURRENCY_LIMIT,
                ("run",),
                "Wait, or raise `user_concurrent_runs`, `tenant_concurrent_runs` or "
                "`max_concurrent_runs` of the agent. A person with few tokens left can have fewer "
                "runs at work.",
            ),
            Entry(
                Reason.MODEL_UNAVAILABLE,
                ("run",),
                "Check the provider and its quota. Skein tries the run again "
                "([when a dependency is down](operations.md#the-model)).",
            ),
            Entry(
                Reason.MODEL_KEY_REFUSED,
                ("run",),
                "Correct the API key. Skein tries the run again.",
            ),
            Entry(
                Reason.MODEL_UNKNOWN,
                ("run",),
                "Correct `model` of the agent, `SKEIN_DEFAULT_MODEL` or the provider's address. "
                "Skein tries the run again.",
            ),
            Entry(
                Reason.ATTEMPT_FAILED,
                ("run",),
                "Look at the log line `run attempt failed`. The next attempt follows.",
            ),
            Entry(Reason.HANDED_OVER, ("run",), "Nothing."),
            Entry(
                Reason.READERS_CHANGED,
                ("run",),
                "Nothing while the run works. If the run was canceled, write again "
                "([runs.md](runs.md#when-someone-joins-during-a-run)).",
            ),
        ),
    ),
    Group(
        "Runs that are done without an answer in their chat",
        (
            Entry(
                Reason.CHOSE_SILENCE,
                ("run",),
                "If an answer was due, look at the prompt and the steps of the run.",
            ),
            Entry(
                Reason.TOOLS_MODE_TEXT,
                ("run",),
                "Enable `send_message`, or set `reply_mode` of the agent to `text`.",
            ),
            Entry(
                Reason.UNSPOKEN_TEXT,
                ("run",),
                "Look at the steps of the run: the nudge did not help, or the agent lacks "
                "`send_message`. Set `reply_mode` of the agent to `text`, or choose another "
                "model.",
            ),
            Entry(
                Reason.ENDED_BY_AGENT,
                ("run",),
                "If an answer was due, look at the prompt and the steps of the run.",
            ),
            Entry(
                Reason.STEPS_USED_UP,
                ("run",),
                "Look at the steps of the run for a tool call that the model repeats.",
            ),
            Entry(
                Reason.ANSWERED_ELSEWHERE,
                ("run",),
                "Look at the steps of the run for the other chat.",
            ),
            Entry(
                Reason.NO_CHAT,
                ("run",),
                "Give the plan or the webhook a chat, or have the agent call `send_message`.",
            ),
        ),
    ),
    Group(
        "Runs that failed or were canceled",
        (
            Entry(
                Reason.ATTEMPTS_EXHAUSTED,
                ("run",),
                "`error` has the last failure, and the log lines `run attempt failed` have the "
                "others.",
            ),
            Entry(
                Reason.DEFERRED_TOO_LONG,
                ("run",),
                "`reasons` and `error` say why the run was deferred. Fix the cause, then write "
                "again.",
            ),
            Entry(
                Reason.MODEL_REJECTED,
                ("run",),
                "`error` has the provider's message: the request may be too long, or not allowed.",
            ),
            Entry(
                Reason.EMPTY_ANSWER,
                ("run",),
                "Look at the steps of the run: each has its `fault`. If it happens often, choose "
                "another model.",
            ),
            Entry(
                Reason.ANSWER_CUT_OFF,
                ("run",),
                "Raise `reserved_response_tokens`, or `SKEIN_REASONING_TOKENS` if the usage "
                "shows many `reasoning_tokens`.",
            ),
            Entry(
                Reason.ANSWER_REFUSED,
                ("run",),
                "Look at the steps of the run: each has its `fault`. Check the system prompt, or "
                "choose another model.",
            ),
            Entry(
                Reason.ANSWER_FILTERED,
                ("run",),
                "Look at the steps of the run: each has its `fault`. Check the provider's filter "
                "settings.",
            ),
            Entry(
                Reason.GUARDRAIL_BLOCKED,
                ("run",),
                "The person got the guardrail's `text`. If it should have passed, change the "
                "guardrail.",
            ),
            Entry(Reason.ANSWER_REJECTED, ("run",), "`error` says why."),
            Entry(Reason.MERGED, ("run",), "Look at the run in `merged_into`."),
            Entry(
                Reason.TOKEN_BUDGET,
                ("run", "message"),
                "Wait, or raise `user_tokens_per_day` or `tenant_tokens_per_day` "
                "([over the limit](limits.md#over-the-limit)).",
            ),
            Entry(Reason.AGENT_LEFT, ("run", "log"), "Add the agent to the chat again."),
            Entry(
                Reason.AGENT_DELETED,
                ("run", "log"),
                "Give the line or the webhook service another agent.",
            ),
            Entry(Reason.CHAT_DISCARDED, ("run",), "Nothing."),
            Entry(
                Reason.MESSAGE_GONE,
                ("run",),
                "Nothing. The message was erased, or its retention is over.",
            ),
            Entry(
                Reason.DISCLOSURE_REFUSED,
                ("run",),
                "Nothing. The agent can answer in the chat where it learned the content.",
            ),
            Entry(Reason.STOPPED_BY_ASKER, ("run",), "Nothing."),
            Entry(Reason.STOPPED_BY_OPERATOR, ("run",), "Nothing. The call is in the audit log."),
            Entry(
                Reason.STOPPED_BY_AGENT,
                ("run",),
                "`error` names the run that stopped this one.",
            ),
            Entry(Reason.MESSAGE_DELETED, ("run",), "Nothing."),
            Entry(Reason.PERSON_ERASED, ("run",), "Nothing."),
        ),
    ),
    Group(
        "Plans that were deferred or canceled",
        (
            Entry(
                Reason.PERSON_INACTIVE,
                ("plan", "log"),
                "Nothing. The person can ask for the plan again ([limits.md](limits.md#plans)).",
            ),
            Entry(
                Reason.QUIET_HOURS,
                ("plan", "log"),
                "Nothing. `next_at` and `deferred_from` of the plan have both times. "
                "[Quiet hours](runs.md#quiet-hours) are settings of the person and the tenant.",
            ),
        ),
        "A plan is also canceled with `agent_deleted`, `agent_left`, `chat_discarded`, or\n"
        "`person_left`, if that is true of its chat. The log lines `plan canceled` and\n"
        "`plan deferred` have the reason as well.",
    ),
    Group(
        "First contacts that were refused",
        (
            Entry(
                Reason.NO_CONSENT,
                ("log",),
                "Record the [consent](channels.md#first-contact) with its proof, if the person has "
                "given one.",
            ),
            Entry(
                Reason.NO_LINE,
                ("log",),
                "Give the agent a line on a channel to which the person has consented.",
            ),
            Entry(
                Reason.NUMBER_UNPROVEN,
                ("log",),
                "Prove the number by a code, or wait for a text from the person.",
            ),
        ),
        "A first contact is also refused with `opted_out` and `number_not_answered`, and is sent\n"
        "later with `quiet_hours` and `rate_limited`. The log line `person not written to` has\n"
        "the reason.",
    ),
    Group(
        "Jobs that lead to no work",
        (
            Entry(Reason.RUN_ENDED, ("log",), "Nothing. The job came twice or late."),
            Entry(
                Reason.RUN_MISSING,
                ("derived", "log"),
                "Nothing. The run's retention is over, or the run was erased.",
            ),
            Entry(Reason.DELIVERY_SETTLED, ("log",), "Nothing. The job came twice or late."),
            Entry(
                Reason.DELIVERY_MISSING,
                ("derived", "log"),
                "Nothing. The delivery's retention is over, or the delivery was erased.",
            ),
            Entry(
                Reason.TAKEN_OVER,
                ("log",),
                "Nothing. The log lines of the other worker have the rest.",
            ),
            Entry(
                Reason.JOB_FAILED,
                ("log",),
                "Look at the exception. The queue sends the job again; after its last try, the job "
                "is in the [dead letters](alarms.md#dead-letters).",
            ),
        ),
    ),
    Group(
        "Answers that have not reached a phone",
        (
            Entry(Reason.GROUP_CHAT, ("derived",), "Nothing."),
            Entry(Reason.IN_APP, ("message",), "Nothing. The answer is in the app."),
            Entry(
                Reason.OPTED_OUT,
                ("message", "run", "delivery"),
                "Only the person can change that: they text START to the line.",
            ),
            Entry(Reason.PERSON_LEFT, ("message", "delivery", "log"), "Nothing."),
            Entry(
                Reason.NUMBER_LOST,
                ("delivery",),
                "Nothing. The number now belongs to another person, or to no one.",
            ),
            Entry(
                Reason.NUMBER_NOT_ANSWERED,
                ("message", "delivery"),
                "If the person is a customer, add the country to the line's `answered_countries`.",
            ),
            Entry(
                Reason.WINDOW_CLOSED,
                ("delivery",),
                "Add an approved template to the tenant's `message_templates` "
                "([WhatsApp](channels.md#whatsapp)).",
            ),
            Entry(
                Reason.SEGMENT_LIMIT,
                ("delivery",),
                "Raise the [limit](limits.md#sms) if the use is expected.",
            ),
            Entry(
                Reason.LINE_BUSY,
                ("delivery", "log"),
                "Nothing. For a shorter queue, use a toll-free number or more lines.",
            ),
            Entry(Reason.NOTHING_TO_SEND, ("delivery",), "Look at the agent's message."),
            Entry(
                Reason.BEHIND_OTHER_DELIVERY,
                ("derived", "log"),
                "Look at the delivery before this one.",
            ),
            Entry(Reason.FILE_PENDING, ("log",), "Nothing. Finally, the text is sent without it."),
            Entry(Reason.NOT_DUE, ("log",), "Nothing. The tick continues the delivery."),
            Entry(
                Reason.OUTCOME_UNKNOWN,
                ("delivery",),
                "Wait a minute. If the delivery then failed, the SMS may still have arrived: "
                "look at Twilio's log.",
            ),
            Entry(
                Reason.PROVIDER_UNAVAILABLE,
                ("delivery",),
                f"Look at Twilio's status page. Skein tries {RETRY.max_tries} times, the last "
                f"times after {WAITS} minutes.",
            ),
            Entry(
                Reason.PROVIDER_REFUSED,
                ("delivery",),
                "`error_codes` has Twilio's codes. Skein does not retry after a permanent error.",
            ),
            Entry(
                Reason.NOT_CONFIRMED,
                ("delivery",),
                "Nothing. Some carriers don't report deliveries.",
            ),
        ),
    ),
)


def page(groups: Iterable[Group] = GROUPS) -> str:
    """Return docs/reasons.md in Markdown.

    Raises:
        ValueError: A reason is missing, or has two entries.
    """
    groups = tuple(groups)
    listed = [entry.reason for group in groups for entry in group.entries]
    for reason in Reason:
        if listed.count(reason) != 1:
            raise ValueError(
                f"the reason {reason} has {listed.count(reason)} entries in tools/reference/"
                "reasons.py, and must have one"
            )
    return HEAD + "".join(_part(group) for group in groups)


def _part(group: Group) -> str:
    """Return a heading of the page with its table of reasons."""
    note = f"{group.note}\n\n" if group.note else ""
    rows = (
        (f"`{entry.reason}`", entry.reason.meaning, ", ".join(entry.places), entry.advice)
        for entry in group.entries
    )
    listed = table("reason", "meaning", "place", "what to do", rows=rows)
    return f"\n### {group.heading}\n\n{note}{listed}"
