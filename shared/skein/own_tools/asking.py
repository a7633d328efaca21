"""Ask for approval of calls, and find the calls that were approved.

Skein builds the question from the text that the operator wrote for the tool, and from all arguments
of the call. The question refers to the call by its run, step and position. After a yes, Skein
therefore makes exactly the recorded call, and the arguments are stored only once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from skein.errors import AlreadyAsked, Correctable, ExtraWriteFailed, Failed, LostLease
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.interface.tool import refusals_as_tool_errors
from skein.interface.tool_context import ToolContext, place_of
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import CALL, Choice, Option
from skein.models.common.http import McpQuestion, McpReply
from skein.models.common.storage import Query
from skein.models.runs.completion import TokenUsage, ToolCall
from skein.models.runs.requested_call import AgreedCall, CallData, RequestedCall
from skein.models.runs.run import Run
from skein.models.runs.step import FIXED_ANSWER, Step
from skein.models.visibility.audience import NOBODY
from skein.own_tools.items import CallableTool, OwnToolItems
from skein.own_tools.ledger import first_call_of
from skein.own_tools.operator_approvals import OperatorApprovals
from skein.own_tools.rights import Approver, only_person, title_of
from skein.ports import Clock, Table
from skein.services.choices.proposals import RunQuestions, person_to_ask
from skein.services.choices.wording import (
    YES_NO,
    call_shown,
    question_of_service,
    question_to_call,
)
from skein.services.visibility.disclosure import made_for_all

ASKED = (
    "not done yet: the person is asked in {place} whether to do exactly this. Do not say that it "
    "was done; their answer starts a new run"
)
OPERATOR_ASKED = (
    "not done yet: an operator must agree. Do not say that it was done. The decision starts a run"
)
NOBODY_TO_ASK = (
    "refused: somebody must agree to this call first, and there is nobody to ask: this run answers "
    "no message of a person who may know all that it was shown"
)
CHANGED = "refused: the tool or its call was changed or deleted after the question, so ask again"
JOINED = "refused: somebody has joined who was not named in the question, so ask again"
TEAM_ANSWERED = (
    "refused, and nothing was sent: after the person agreed, a person of the team took the chat "
    "over and answered there, and may have done it. Say so, and ask again only if it is still "
    "wanted"
)
SERVICE_ASKED = (
    "not done yet: the service asks the person in {place} first. Do not say that it was done, "
    "and do not ask the same; their answer starts a new run"
)
ANSWER = "answer_"  # prefix of the option ids of a service's question
MAX_AGREED = 20  # calls that one run makes after people approved them
NO_VERSION = 0  # matches no version of a tool, so the call is refused as changed
ANSWERED = -1  # matches no version either: the call is refused because the team has answered
NO_ARGUMENTS = "{}"  # of a call that can no longer be made


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """The service that asks people and operators to approve calls."""

    table: Table
    clock: Clock
    questions: RunQuestions
    operators: OperatorApprovals

    def ask(
        self,
        call: ToolContext,
        step: Step,
        position: int,
        tool: CallableTool,
        arguments: Mapping[str, Any],
        *,
        who: Approver,
        done_at: Sequence[datetime] = (),
    ) -> str:
        """Ask a person or an operator to approve a call. Repeating the request changes nothing.

        Args:
            done_at: The times at which the same call was made before.

        Returns:
            The tool result for the model.

        Raises:
            Correctable: The question would be too long.
            Failed: There is no one to ask.
            LostLease: Another worker has taken the run over.
        """
        run = call.activation.run
        if who == "operator" and run.held is not None:
            by = only_person(run, call.reading)
            self.operators.ask(call, _requested(run, step, position, tool, person=by))
            return OPERATOR_ASKED
        asked = person_to_ask(run)
        if who != "person" or asked is None or run.chat_id is None or run.held is None:
            raise Failed(NOBODY_TO_ASK)
        title, service = title_of(tool.tool), tool.tool.service
        chat = call.reading.chat
        question = partial(
            question_to_call, title, arguments, service, chat, asked, done_at=done_at
        )
        requested = _requested(run, step, position, tool, person=asked)
        return self._post(call, question, YES_NO, requested, told=ASKED)

    def ask_for(
        self,
        call: ToolContext,
        step: Step,
        position: int,
        tool: CallableTool,
        question: McpQuestion,
    ) -> str:
        """Ask the person a question that a service has about a call.

        Repeating the request changes nothing.

        Returns:
            The tool result for the model.

        Raises:
            Correctable: The question cannot be asked in this chat.
            Failed: There is no one to ask.
            LostLease: Another worker has taken the run over.
        """
        run = call.activation.run
        asked = person_to_ask(run)
        options = tuple(
            Option(id=f"{ANSWER}{n}", label=label)
            for n, label in enumerate(question.values or ("Yes", "No"))
        )
        requested = _requested(run, step, position, tool, person=asked)
        text = partial(question_of_service, tool.tool.service, question.text)
        return self._post(call, text, options, requested, told=SERVICE_ASKED, asks=question)

    @staticmethod
    def may_ask(run: Run) -> bool:
        """Return whether a person can be asked about the calls of a run."""
        return person_to_ask(run) is not None and run.chat_id is not None and run.held is not None

    def _post(
        self,
        call: ToolContext,
        question: Callable[[], str],
        options: tuple[Option, ...],
        requested: RequestedCall,
        *,
        told: str,
        asks: McpQuestion | None = None,
    ) -> str:
        """Post a question to the person, and return the tool result for the model.

        If an equal question is already open, no question is posted.

        Args:
            told: The tool result to return if a new question is posted. `{place}` in this text is
                replaced by the place of the question.
        """
        if not self.may_ask(call.activation.run):
            raise Failed(NOBODY_TO_ASK)
        with refusals_as_tool_errors():
            try:
                sent = self.questions.ask(
                    call.activation.claim,
                    question(),
                    purpose=CALL,
                    data=CallData(call=requested, asks=asks),
                    client_id=call.effect,
                    options=options,
                )
            except AlreadyAsked as error:
                return f"not done yet: {error}"
            except ExtraWriteFailed as error:
                raise LostLease(call.activation.run.id) from error
        call.activation.sent.append(sent)
        return told.format(place=place_of(call, sent.chat_id, sent.seq))

    @staticmethod
    def person_of(call: ToolContext, tool: CallableTool, approved: RequestedCall) -> str | None:
        """Check that an approved call may still be made, and return the person it is made for.

        Raises:
            Failed: After the approval, the team has answered in the chat, or the tool was changed,
                or other people would see the result.
        """
        held = call.activation.run.held
        if approved.version == ANSWERED:
            raise Failed(TEAM_ANSWERED)
        if approved.version != tool.tool.version:
            raise Failed(CHANGED)
        chat = call.reading.chat
        if held is None or (chat is not None and not made_for_all(approved.readers, chat)):
            raise Failed(JOINED)
        return approved.person

    # ------------------------------------------------------------------ after a yes

    def agreed_step(self, run: Run, reading: Reading) -> Step | None:
        """Return a step that makes the calls that people approved in the messages to answer.

        No model is called for this step. It is recorded and carried out like any other step. A call
        that another run or activation has already made keeps its outcome. When the step is carried
        out, an approved call is refused if it was erased with the message that asked for it, if its
        tool is gone or was changed, if other people would see the result, or if a person of the
        team has answered in the chat since the approval. The refusal tells the model why the
        approval has no effect.

        Args:
            run: The run, before the first step of an activation.

        Returns:
            The step, or None if there are no approved calls.
        """
        agreed = self._agreed(run, reading)
        if not agreed:
            return None
        known = reading.of(OwnToolItems).by_name
        found = [
            self._as_recorded(run, each, question, known.get(each.tool))
            for each, question in agreed[:MAX_AGREED]
        ]
        n, now = run.steps_taken + 1, self.clock.now()
        return Step(
            tenant=run.tenant,
            run_id=run.id,
            n=n,
            activation=run.activation,
            model=FIXED_ANSWER,
            text="",
            tool_calls=tuple(
                call.model_copy(update={"id": f"call_{n}_{position}"})
                for position, (_, call) in enumerate(found)
            ),
            agreed=tuple(each for each, _ in found),
            usage=TokenUsage(),
            started_at=now,
            ended_at=now,
        )

    def _agreed(self, run: Run, reading: Reading) -> list[tuple[AgreedCall, str | None]]:
        """Return the calls that were approved in the messages that a run answers.

        Each call comes with the text of the question that showed its arguments. The text is None if
        an operator approved the call, or if the question came from the service.
        """
        service, resumed = run.trigger.service, run.resumed
        if service is not None and service.decided is not None and resumed is None:
            approved = service.decided.approved and reading.chat is not None
            return [(AgreedCall(**dict(service.decided.call)), None)] if approved else []
        chat, first = reading.chat, run.trigger.from_seq or run.trigger.seq
        if chat is None or chat.id != run.own_chat_id:
            return []
        if resumed is not None:  # calls that were approved before the wait were already made
            first = resumed.seq if resumed.chat_id == chat.id else None
        history = reading.of(History)
        messages = [*self._before(chat, first, history), *history.messages]
        answers = {
            each.seq: each.reply_to
            for each in messages
            if first is not None and each.seq >= first and each.sender.kind == "user"
        }
        wanted = {seq for seq in answers.values() if seq is not None}
        known = {each.seq: each for each in messages if each.seq in wanted}
        keys = [Message.key_of(run.tenant, chat.id, seq) for seq in sorted(wanted - known.keys())]
        found = self.table.get_many(keys[:MAX_AGREED]) if keys else {}
        known |= {each.seq: each for each in Message.read_each(found)}
        team = max((each.seq for each in messages if each.kind == "team"), default=0)
        questions = (known.get(asked) for asked in sorted(wanted))
        choices = (
            question.choice
            for question in questions
            if question is not None
            and question.sender.id == run.agent_id
            and question.choice is not None
            and question.choice.answer is not None
            and question.choice.answer.seq in answers
        )
        return [
            (call, choice.question if call.reply is None else None)
            for choice in choices
            if (call := _agreed_in(choice, team)) is not None
        ]

    def _before(self, chat: Chat, first: int | None, history: History) -> Iterable[Message]:
        """Return the messages from `first` on that are older than those that the prompt shows.

        Only a run that was held back while the chat went on needs this query. It reads one page (at
        most 1 MB).
        """
        if first is None or not history.begins_after(first):
            return ()
        of_seq = partial(Message.key_of, chat.tenant, chat.id)
        last = of_seq(history.messages[0].seq - 1)
        query = Query(chat.key.pk, first=of_seq(first).sk, last=last.sk)
        return Message.each_of(self.table.query(query).items)

    def _as_recorded(
        self, run: Run, agreed: AgreedCall, question: str | None, tool: CallableTool | None
    ) -> tuple[AgreedCall, ToolCall]:
        """Return an approved call, with the model's call as it was recorded.

        If that call or its tool is gone, a call that will be refused is returned.
        """
        call = self._recorded(run, agreed)
        if tool is None or call is None:
            call = ToolCall(id="", name=agreed.tool, arguments=NO_ARGUMENTS)
            return agreed.model_copy(update={"version": NO_VERSION}), call
        return _as_shown(agreed, question, tool, call), call

    def _recorded(self, run: Run, requested: RequestedCall) -> ToolCall | None:
        """Return the model's call that was approved, or None if it was erased."""
        step = Step.read(self.table, Step.key_of(run.tenant, requested.run_id, requested.step))
        calls = step.tool_calls if step is not None else ()
        if requested.position >= len(calls):
            return None
        call = calls[requested.position]
        return call if call.name == requested.tool else None


def _agreed_in(choice: Choice, team_seq: int) -> AgreedCall | None:
    """Return the call that an answered choice approves, or None if the answer was no.

    Args:
        team_seq: The number of the team's newest message in the chat. A call that was approved
            before this message is returned with `ANSWERED` in place of the tool's version. A call
            with this version is refused later.
    """
    answer = choice.answer
    if answer is None or answer.option is None or not choice.agrees_to_call:
        return None
    data, reply = CallData.from_item(choice.data), None
    if data.asks is not None:
        n = int(answer.option.removeprefix(ANSWER))
        values: Sequence[str | bool] = data.asks.values or (True, False)
        reply = McpReply(question=data.asks, value=values[n])
    changes: dict[str, Any] = {"person": choice.addressee, "reply": reply}
    changes |= {"version": ANSWERED} if answer.seq < team_seq else {}
    return AgreedCall(**dict(data.call) | changes)


def _as_shown(
    agreed: AgreedCall, question: str | None, tool: CallableTool, call: ToolCall
) -> AgreedCall:
    """Return `agreed`, or a copy that will be refused if the question did not show this call."""
    if question is None:
        return agreed
    try:
        shown = call_shown(title_of(tool.tool), tool.parse(call.arguments))
    except (Correctable, ValueError):
        shown = ""
    if shown and question.startswith(f"{shown} Yes "):
        return agreed
    return agreed.model_copy(update={"version": NO_VERSION})


def _requested(
    run: Run, step: Step, position: int, tool: CallableTool, *, person: str | None
) -> RequestedCall:
    """Return the request to approve a call, with the run's current readers."""
    ref = first_call_of(step, position)
    return RequestedCall(
        run_id=ref.run_id,
        step=ref.step,
        position=ref.position,
        tool=tool.name,
        version=tool.tool.version,
        readers=run.held.readers if run.held is not None else NOBODY,
        person=person,
    )
