"""Reasons: why a message has no answer, or why an answer did not reach its person.

`Reason` is the only list of reasons. Runs, messages and deliveries record reasons, and the API
shows them. Log lines and the metric `RequestsRejected` have them in the field `reason`.
`docs/reasons.md` lists each reason with what an operator can do (`make reference`).
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from skein.models.common.base import Instant, Value

MAX_REASONS = 8  # that one run keeps


class StatedReason(StrEnum):
    """A reason with its meaning: `NAME = "value", "Meaning."`.

    Attributes:
        meaning: One or two sentences, for documents and clients.
    """

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        """Create a member from its value and its meaning."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class Reason(StatedReason):
    """Why there is no answer, or no SMS with the answer."""

    # A request that was not stored.
    WRONG_SIGNATURE = "wrong_signature", "The signature is missing, wrong or too old."
    MALFORMED_REQUEST = (
        "malformed_request",
        "The request cannot be parsed, or a field is missing, malformed or too long.",
    )
    INVALID_NUMBER = (
        "invalid_number",
        "A phone number of the SMS is not a full number, so no answer could be sent.",
    )
    UNKNOWN_LINE = "unknown_line", "The SMS went to a number that is not a line."
    NO_WORDS = "no_words", "The SMS has neither text nor media."
    OWN_LINE = "own_line", "The sender of the SMS is a line of the same tenant."
    REPEATED = "repeated", "The message was posted before; only its first copy is answered."
    SERVER_ERROR = "server_error", "Skein could not serve the request and answered 5xx."

    # A message that started no run of an agent.
    KEYWORD = "keyword", "The message is a keyword such as STOP, which no agent answers."
    NOTICE = "notice", "The message is a notice, which no agent answers."
    CHOICE = "choice", "The message is a question to one person, which no agent answers."
    WRONG_CODE = "wrong_code", "The SMS is a number that belongs to no open question."
    CODE_ALONE = "code_alone", "The SMS is the number of an answer in words, without the words."
    TYPED_ANSWER = (
        "typed_answer",
        "The message is a typed yes or no, and the question was repeated to be sure.",
    )
    CHOICE_OVER = "choice_over", "The question was answered before, or has expired."
    SMS_ANSWERS_CLOSED = (
        "sms_answers_closed",
        "After five wrong numbers, answers to questions are not accepted by SMS for a day.",
    )
    RATE_LIMITED = "rate_limited", "The person or the tenant has exceeded a rate limit."
    CHAIN_DEPTH = (
        "chain_depth",
        "Too many agents' messages lie between this message and a person.",
    )
    RESPOND_MANUAL = "respond_manual", "The chat's agents respond only when a person asks them to."
    NOT_MENTIONED = (
        "not_mentioned",
        "The chat's agents respond only to mentions, and this agent is not mentioned.",
    )
    DESK = "desk", "A person of the team holds the chat, so its agents are silent."
    AGENT_PAUSED = (
        "agent_paused",
        "Agents have triggered this agent too often here; a person's message ends the pause.",
    )
    OWN_MESSAGE = "own_message", "The agent posted the message itself."
    JOINED_LATER = "joined_later", "The agent joined the chat after the message."
    NOT_RECORDED = (
        "not_recorded",
        "No reason is recorded; a newer version stored the item.",
    )

    # A run that has not ended.
    QUEUED = "queued", "The job is on its way to a worker; the tick sends it again if it was lost."
    DEBOUNCE = "debounce", "The run waits a few seconds for further SMS of the person."
    MEDIA_PENDING = (
        "media_pending",
        "The run waits up to 20 seconds for a picture or file of the message.",
    )
    BEHIND_OTHER_RUN = (
        "behind_other_run",
        "Another run of the agent in this chat comes first.",
    )
    WORKING = "working", "A worker has a lease that has not ended."
    WORKER_LOST = "worker_lost", "The worker's lease has ended; the tick sends the job again."
    WAITING_FOR_REPLY = "waiting_for_reply", "The run asked something and waits for a reply."
    PAUSED = "paused", "Operators have paused this work, which continues after the pause."
    CONCURRENCY_LIMIT = (
        "concurrency_limit",
        "The run waits until its person, tenant or agent has a free permit.",
    )
    MODEL_UNAVAILABLE = "model_unavailable", "The model cannot be reached, so the run is deferred."
    MODEL_KEY_REFUSED = (
        "model_key_refused",
        "The model provider refuses the API key, so the run is deferred.",
    )
    MODEL_UNKNOWN = (
        "model_unknown",
        "The model provider does not know the model or the call, so the run is deferred.",
    )
    ATTEMPT_FAILED = "attempt_failed", "An attempt crashed; the run is tried again."
    HANDED_OVER = (
        "handed_over",
        "The invocation ran out of time; a new invocation continues the run.",
    )
    READERS_CHANGED = (
        "readers_changed",
        "Someone joined the chat, so the activation was dropped; the fourth time ends the run.",
    )

    # A run that is done without an answer in its chat.
    CHOSE_SILENCE = "chose_silence", "The model answered `[silence]`."
    TOOLS_MODE_TEXT = (
        "tools_mode_text",
        "The model answered in text, but its reply mode posts only what `send_message` sends.",
    )
    UNSPOKEN_TEXT = (
        "unspoken_text",
        "The model wrote text that is not posted, although someone expected an answer.",
    )
    ENDED_BY_AGENT = "ended_by_agent", "The agent ended the run and had sent nothing."
    STEPS_USED_UP = "steps_used_up", "The run took all its steps without an answer."
    ANSWERED_ELSEWHERE = "answered_elsewhere", "The run sent messages to other chats only."
    NO_CHAT = "no_chat", "The run belongs to no chat, so its final text is not posted."

    # A run that failed or was canceled.
    ATTEMPTS_EXHAUSTED = "attempts_exhausted", "The run failed after its last attempt."
    DEFERRED_TOO_LONG = "deferred_too_long", "The run was deferred for too long and failed."
    MODEL_REJECTED = "model_rejected", "The model provider refuses the request."
    EMPTY_ANSWER = "empty_answer", "The model's answer had no text, even when it was asked again."
    ANSWER_CUT_OFF = (
        "answer_cut_off",
        "The model's answer was cut off at its limit, even when it was asked again.",
    )
    ANSWER_REFUSED = (
        "answer_refused",
        "The model refused to answer, even when it was asked again.",
    )
    ANSWER_FILTERED = (
        "answer_filtered",
        "The provider's filter refused the request, or withheld the answer twice.",
    )
    GUARDRAIL_BLOCKED = "guardrail_blocked", "The guardrail blocked the request or the answer."
    ANSWER_REJECTED = "answer_rejected", "The chat did not accept the answer."
    MERGED = "merged", "Another run answers the messages of this one."
    TOKEN_BUDGET = "token_budget", "The model tokens of the day are used up."
    AGENT_LEFT = "agent_left", "The agent is no longer a member of the chat."
    AGENT_DELETED = "agent_deleted", "The agent was deleted."
    CHAT_DISCARDED = "chat_discarded", "The chat was discarded."
    MESSAGE_GONE = "message_gone", "The message to answer no longer exists."
    DISCLOSURE_REFUSED = (
        "disclosure_refused",
        "The chat of the answer has readers who may not be shown the run's content.",
    )
    STOPPED_BY_ASKER = "stopped_by_asker", "The person who asked for the run stopped it."
    STOPPED_BY_OPERATOR = "stopped_by_operator", "An operator stopped the run."
    STOPPED_BY_AGENT = "stopped_by_agent", "Another run of the agent stopped this run."
    MESSAGE_DELETED = "message_deleted", "The message was deleted before it was answered or sent."
    PERSON_ERASED = "person_erased", "The run was shown words of a person who is being erased."

    # A plan that was deferred or canceled. It can also be canceled because its agent, person or
    # chat is gone.
    PERSON_INACTIVE = (
        "person_inactive",
        "The person of a recurring plan has not been active for too long.",
    )
    QUIET_HOURS = (
        "quiet_hours",
        "The plan was due in its person's quiet hours, so it is deferred to their end.",
    )

    # A first contact that was refused or postponed.
    NO_CONSENT = "no_consent", "The person has not consented to texts that an agent sends first."
    NO_LINE = "no_line", "The agent has no line on the channel of the person's consent."
    NUMBER_UNPROVEN = (
        "number_unproven",
        "The person's number was silent for so long that it may have a new owner.",
    )

    # A job that leads to no work.
    RUN_ENDED = "run_ended", "The run has ended, so the job has nothing to do."
    RUN_MISSING = "run_missing", "The run no longer exists."
    DELIVERY_SETTLED = "delivery_settled", "The delivery has ended, so the job has nothing to do."
    DELIVERY_MISSING = "delivery_missing", "The delivery or its part does not exist."
    TAKEN_OVER = "taken_over", "Another worker took the work over, so this worker stopped."
    JOB_FAILED = "job_failed", "Handling the job raised an error; the queue sends it again."

    # An answer that did not reach a phone, or not yet.
    GROUP_CHAT = "group_chat", "SMS goes to direct chats only."
    IN_APP = "in_app", "The person's last message here came from the app, or there is none."
    OPTED_OUT = "opted_out", "The person has opted out of the channel."
    PERSON_LEFT = "person_left", "The person is not, or no longer, a member of the chat."
    NUMBER_LOST = "number_lost", "The phone number no longer belongs to the person."
    NUMBER_NOT_ANSWERED = (
        "number_not_answered",
        "The line does not answer numbers of this country or kind.",
    )
    WINDOW_CLOSED = (
        "window_closed",
        "The person's last message is too old for the channel, and no template fits.",
    )
    SEGMENT_LIMIT = (
        "segment_limit",
        "The SMS segments of the day are used up, for the person or the line.",
    )
    LINE_BUSY = "line_busy", "The line sends other SMS first; the delivery waits for its turn."
    NOTHING_TO_SEND = "nothing_to_send", "The message has no characters that a phone can show."
    BEHIND_OTHER_DELIVERY = (
        "behind_other_delivery",
        "The previous delivery to this phone comes first, for at most 30 seconds.",
    )
    FILE_PENDING = "file_pending", "A picture or file of the message is not ready yet."
    NOT_DUE = "not_due", "The next attempt or look-up of the delivery is not due yet."
    OUTCOME_UNKNOWN = (
        "outcome_unknown",
        "Twilio did not say whether it accepted the SMS; Skein looks it up before it tries again.",
    )
    PROVIDER_UNAVAILABLE = "provider_unavailable", "Twilio could not be reached or was too busy."
    PROVIDER_REFUSED = "provider_refused", "Twilio or the carrier refused the SMS."
    NOT_CONFIRMED = "not_confirmed", "Twilio accepted the SMS but has not reported its arrival."


def known_reason(value: object) -> object:
    """Replace a stored reason that this version does not know with `NOT_RECORDED`."""
    if value is None:
        return None
    try:
        return Reason(str(value))
    except ValueError:
        return Reason.NOT_RECORDED


StoredReason = Annotated[Reason, BeforeValidator(known_reason)]
"""A reason as an item stores it, perhaps written by a newer version of Skein."""


class RecordedReason(Value):
    """A reason, and when it was recorded last."""

    reason: Annotated[StoredReason, Field(description="Why there is no answer, or not yet.")]
    at: Annotated[Instant, Field(description="When the reason was recorded last.")]


def reason_attributes(
    reason: Reason, at: datetime, known: Iterable[RecordedReason] = ()
) -> dict[str, Any]:
    """Return the attributes that record a reason on a run, to be added to another write."""
    reasons = with_reason(known, reason, at)
    entries = [entry.model_dump(mode="json") for entry in reasons]
    return {"reason": reason.value, "reasons": entries}


def with_reason(
    known: Iterable[RecordedReason], reason: Reason, at: datetime
) -> tuple[RecordedReason, ...]:
    """Add a reason to the recorded reasons.

    Each reason is kept once. At most eight reasons are kept, newest last.
    """
    others = [entry for entry in known if entry.reason != reason]
    return (*others, RecordedReason(reason=reason, at=at))[-MAX_REASONS:]


def meaning_of(reason: Reason | None) -> str | None:
    return None if reason is None else reason.meaning
