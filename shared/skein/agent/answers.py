"""Review the model's answers: use an answer, ask the model again, or end the run.

An answer that is empty, cut off, refused or filtered is never posted, and a run that ends with it
never gets the status `done`. The model is asked once more. It is also asked once more if it wrote a
text that is not posted, although someone expects an answer. The decision is recorded with the
answer (`Step.fault`, `Step.follow_up`). A worker that takes over therefore neither asks again nor
posts the first answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from skein.agent.reading.expected_answer import answer_expected
from skein.agent.sections.participants import speakers_in
from skein.agent.spoken_text import is_silence, spoken, without_labels
from skein.agent.tools import TOOLS
from skein.agent.tools.profile import update_profile
from skein.agent.tools.send_message import send_message
from skein.interface.citations import CitedText, cited
from skein.interface.reading import Reading
from skein.interface.section import speaks_in_text
from skein.interface.tool import OfferedTool
from skein.memory.tools import save_memory
from skein.models.common.reason import Reason
from skein.models.runs.completion import AnswerFault
from skein.models.runs.provenance import MarkedCitation
from skein.models.runs.recordable import MAX_ANSWER_TEXT
from skein.models.runs.run import AnswerMark
from skein.models.runs.step import FIXED_ANSWER, Step
from skein.prompts import render
from skein.services.chats.post_message import NewMessage
from skein.services.replies.final_message import Ending
from skein.services.runs import policy
from skein.services.runs.claim import Claim
from skein.services.runs.reasons import has_answered

FAILURES: dict[AnswerFault, Reason] = {
    "empty": Reason.EMPTY_ANSWER,
    "cut_off": Reason.ANSWER_CUT_OFF,
    "refused": Reason.ANSWER_REFUSED,
    "filtered": Reason.ANSWER_FILTERED,
}
NOTICES: dict[AnswerFault, str] = {
    "empty": "notice_no_answer",
    "cut_off": "notice_no_answer",
    "refused": "notice_refused_answer",
    "filtered": "notice_refused_answer",
}
NOTES = frozenset({save_memory.name, update_profile.name})
"""Tools with which the agent saves notes for itself. All other saves are requested by a person."""


class Review(NamedTuple):
    """The result of the review of an answer.

    Attributes:
        step: The answer, with its fault and its follow-up.
        marks: The notes about the answer to add to the run's `marks`; see `AnswerMark`.
    """

    step: Step
    marks: tuple[AnswerMark, ...] = ()


def review(
    claim: Claim,
    step: Step,
    earlier: Sequence[Step],
    reading: Reading,
    tools: Sequence[OfferedTool],
) -> Review:
    """Decide whether an answer can be used or the model must be asked again.

    Args:
        claim: The run's claim, before the answer.
        step: The answer, with the fault that the provider reports.
        earlier: The earlier steps of the activation.
        reading: The data from which the prompt was built.
        tools: The tools that the model could call.
    """
    if step.tool_calls:
        return Review(step)
    fault = step.fault or _fault_of(claim, step, earlier, reading)
    if fault is None:
        return Review(step)
    faulty = step.model_copy(update={"fault": fault})
    if fault == "unspoken":
        if "nudged" in claim.run.marks or send_message.name not in {tool.name for tool in tools}:
            return Review(faulty, ("unspoken_text",))
        noted: AnswerMark = "nudged"
    else:
        if any(_retried(one) for one in earlier):
            return Review(faulty)
        noted = "answer_retried"
    if step.n >= policy.MAX_STEPS:
        return Review(faulty, ("unspoken_text",) if fault == "unspoken" else ())
    return Review(faulty.model_copy(update={"follow_up": render(f"again_{fault}")}), (noted,))


def leaves_no_question(claim: Claim, step: Step, reading: Reading) -> bool:
    """Return whether the run may end after a step whose calls only send or save something.

    The run continues if a call has failed, or if someone still expects an answer. In the run's own
    chat, it also continues after a step that only saves, because many models save first and answer
    in the next step. If such a step only saves notes for the agent itself (`NOTES`), the run may
    end.

    In a chat where the model's text is posted, the run may also end if the step's text is the
    silence token, or if the step's calls only save. In the second case, the text is the answer. If
    a step with a text also sends messages, the model is asked again.

    Args:
        claim: The run's claim, with the messages that the step sent.
        step: The step with its results.
        reading: The data from which the prompt was built.
    """
    if step.fault is not None or any(each.status != "done" for each in step.results or ()):
        return False
    only_saves = all(TOOLS[call.name].effect == "save" for call in step.tool_calls)
    if speaks_in_text(reading):
        names = speakers_in(reading)
        if is_silence(without_labels(step.text, names)):
            return True
        if spoken(step.text, names):
            return only_saves and len(step.text) <= MAX_ANSWER_TEXT
    home = claim.chat or reading.chat
    if has_answered(claim.run) or _was_announced(step):
        return True
    if answer_expected(claim.run, home, reading):
        return False
    speaks_next = home is not None and claim.run.own_chat_id == home.id and only_saves
    return not speaks_next or all(call.name in NOTES for call in step.tool_calls)


def _was_announced(step: Step) -> bool:
    """Return whether Skein itself posted a message in the chat about one of the step's calls."""
    calls = zip(step.tool_calls, step.results or (), strict=False)
    announced = ((TOOLS[call.name].announced, result) for call, result in calls)
    return any(begin and result.content.startswith(begin) for begin, result in announced)


def ending_of(
    claim: Claim, step: Step, reading: Reading, known: Sequence[MarkedCitation] = ()
) -> Ending:
    """Return how a run ends: the message to post in the prompt's chat, or why to post none.

    Args:
        claim: The run's claim, with the answer.
        step: The last answer. It has no follow-up, and its calls only sent or saved something.
        reading: The data from which the prompt was built.
        known: The passages that the model was shown.
    """
    if step.fault == "unspoken":
        return Ending(None, Reason.UNSPOKEN_TEXT)
    if step.fault is not None:
        return _failure(claim, step.fault, reading)
    names, posts = speakers_in(reading), speaks_in_text(reading) or step.model == FIXED_ANSWER
    text = spoken(step.text, names)
    if step.tool_calls and not posts:
        return Ending(None, Reason.ENDED_BY_AGENT)
    if not text or reading.chat is None or not posts:
        return Ending(None, _silence(step, text, names, reading))
    plan = claim.run.trigger.plan
    text, sources = posted(text, reading, known)
    return Ending(
        NewMessage(
            tenant=claim.run.tenant,
            chat_id=reading.chat.id,
            sender=claim.agent,
            text=text,
            sources=sources,
            client_id=f"{claim.run.id}:{step.n}",
            **claim.run.posting,
            template=plan.template if plan is not None else None,
        )
    )


def posted(text: str, reading: Reading, known: Sequence[MarkedCitation]) -> CitedText:
    """Return an answer as it is posted: the marks of citations are removed.

    If the setting `cite_by_sms` is on, a message to a phone ends with the first cited link.

    Args:
        known: The passages that the model was shown.
    """
    if not reading.cites or not (made := cited(text, known)).text:
        return CitedText(text, ())
    links = [each.url for each in made.sources if each.url is not None]
    wanted = reading.config.effective.cite_by_sms and reading.channel.kind is not None
    if not (wanted and links) or links[0] in made.text:
        return made
    return made._replace(text=f"{made.text}\n{links[0]}")


def ending_without_steps(claim: Claim, reading: Reading) -> Ending:
    """Return the ending of a run that has used all its steps.

    If a person still waits for an answer, the person gets a notice.
    """
    waits = answer_expected(claim.run, claim.chat, reading) and not has_answered(claim.run)
    notice = NOTICES["empty"] if waits else None
    return Ending(None, Reason.STEPS_USED_UP, failed=waits, notice=notice)


def _fault_of(
    claim: Claim, step: Step, earlier: Sequence[Step], reading: Reading
) -> AnswerFault | None:
    """Return the fault of an answer without tool calls; None if the run may end with it."""
    names = speakers_in(reading)
    if is_silence(without_labels(step.text, names)):
        return None
    text, in_text = spoken(step.text, names), speaks_in_text(reading)
    if text and (in_text or reading.chat is None):
        return None
    if has_answered(claim.run):
        return None
    expected = answer_expected(claim.run, claim.chat or reading.chat, reading)
    if text:
        return "unspoken" if expected else None
    if _nudged(earlier):
        return "unspoken"
    # After tool calls, the agent may end without an answer if no one waits for an answer.
    acted = any(one.tool_calls for one in earlier)
    return "empty" if in_text or expected or not acted else None


def _silence(step: Step, text: str, names: frozenset[str], reading: Reading) -> Reason:
    """Return why the run posts nothing, although its answer has no fault."""
    if is_silence(without_labels(step.text, names)):
        return Reason.CHOSE_SILENCE
    if not text:
        return Reason.ENDED_BY_AGENT
    return Reason.NO_CHAT if reading.chat is None else Reason.TOOLS_MODE_TEXT


def _failure(claim: Claim, fault: AnswerFault, reading: Reading) -> Ending:
    """Return how a run ends without a usable answer; a person who waits gets a notice."""
    waits = answer_expected(claim.run, claim.chat, reading)
    notice = NOTICES[fault] if waits else None
    return Ending(None, FAILURES[fault], failed=True, notice=notice)


def _retried(step: Step) -> bool:
    return step.follow_up is not None and step.fault != "unspoken"


def _nudged(earlier: Sequence[Step]) -> bool:
    return any(step.follow_up is not None and step.fault == "unspoken" for step in earlier)
