"""The one judge of stories: what must be true when a story is over, whatever happened in it."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from skein.errands.models.errand import OrderData
from skein.models.chats.choice import CALL, YES, Choice
from skein.models.chats.consent import ConsentData
from skein.models.common.reason import Reason
from skein.models.runs.requested_call import AgreedCall, CallData
from skein.models.runs.run import ENDED, Run
from skein.models.runs.step import Step
from skein.services.common.quoting import in_quotes
from skein.services.runs.policy import ATTEMPTS
from skein.trials.models.trial import Trial
from skein.trials.tried import played_cases
from tests.attacks.cast import COACH, PEOPLE, PHONES, named, titled
from tests.attacks.knowledge import Leak
from tests.attacks.outsiders import seen_by
from tests.attacks.services import BOOK, NOTIFY, Call, shows
from tests.stories.deeds import BY_PHONE
from tests.stories.erased import left_of
from tests.stories.grammar import faults_in
from tests.stories.tasks import task_of
from tests.stories.town import Asked, Shown, Town
from tests.support.agents import steps_of
from tests.support.api_client import WHY
from tests.support.builders import NOON, TENANT
from tests.support.limits import counted, days_of, most_calls

TASK = re.compile(r"task \d+")
ENTRY = re.compile(r"  \[msg:(?P<seq>\d+) [\d:]+\] (?P<who>You\b)?.*?(?P<seen> \[SEEN\])?[^\]]*$")
TEXTS_A_DAY = 5  # that the invitations of one person cause
ONCE = frozenset({BOOK, NOTIFY})
BY_INTENT = frozenset(
    {
        Reason.OPTED_OUT,
        Reason.STOPPED_BY_OPERATOR,
        Reason.CHAT_DISCARDED,
        Reason.PERSON_ERASED,
        Reason.AGENT_LEFT,
    }
)
"""Why a run ended of which somebody wanted exactly that, also for the call that it was to make."""


class Verdict(Leak):
    """A story ended as it may not end."""


def judge(town: Town) -> None:
    """Let a story come to its end, and check all that must be true then.

    Raises:
        Leak: Something is not.
    """
    town.settle()
    for check in CHECKS:
        for wrong in check(town):
            raise Verdict(f"{check.__name__.replace('_', ' ')}: {wrong}")


# ---------------------------------------------------------------------- the end


def all_queues_drain(town: Town) -> Iterator[str]:
    """No job waits, and no run or text is at work."""
    if town.waiting:
        yield f"jobs wait: {town.waiting}"
    for run in town.all_runs():
        if run.status not in ENDED:
            yield f"{run.id} is {run.status} ({run.reason})"
    for chat_id in town.knowledge.chat_ids():
        for text in town.deliveries(chat_id):
            if text.status in {"queued", "sending"}:
                yield f"the text {text.id} is {text.status}"


# ---------------------------------------------------------------------- effects


def acts(town: Town) -> Iterator[tuple[str, Call]]:
    """The calls that have an effect, each with its task."""
    for call in town.services.calls:
        if call.tool in ONCE:
            yield next(iter(TASK.findall(str(call.arguments))), "no task"), call


def no_effect_is_done_twice(town: Town) -> Iterator[str]:
    """What a person asked an agent for once has one effect."""
    agents = {run.id: run.agent_id for run in town.all_runs()}
    done = Counter((task, agents.get(call.run_id)) for task, call in acts(town))
    for (task, _), times in done.items():
        if times > 1:
            yield f"{task} was done {times} times"


def no_effect_is_without_its_yes(town: Town) -> Iterator[str]:
    """What needs approval was shown in a question that was answered with yes."""
    for call in town.without_yes:
        yield f"{call.tool} {call.arguments} was sent without a yes"


def no_outsider_causes_an_effect(town: Town) -> Iterator[str]:
    """Each effect is that of a run of the chat in which a person of it asked for it.

    Texts of a person who discarded their chat go to a new one.
    """
    accepted = {f"task {asked.number}": asked.step for asked in town.asked_in}
    refused = {f"task {n}": step for n, step in town.tasks.items() if step.chat not in BY_PHONE}
    homes = {run.id: run.own_chat_id for run in town.all_runs()}
    for task, call in acts(town):
        if task in accepted and homes.get(call.run_id) != accepted[task].chat:
            yield f"{task} of {titled(accepted[task].chat)} was done by {call.run_id}"
        elif task in refused and task not in accepted:
            yield f"{named(refused[task].who)} could not ask for {task}, and it was done"


def questions(town: Town) -> Iterator[tuple[str, Choice]]:
    """All questions that are still there, each with its chat."""
    for chat_id in town.knowledge.chat_ids():
        for message in town.messages(chat_id):
            if message.choice is not None:
                yield chat_id, message.choice


def each_question_shows_what_it_does(town: Town) -> Iterator[str]:
    """A question shows all words that a yes to it sends, also if nobody answers it."""
    for chat_id, asked in questions(town):
        if not _shows_all(town, asked):
            yield f"{asked.question!r} in {titled(chat_id)} hides what a yes does"


def _shows_all(town: Town, asked: Choice) -> bool:
    if asked.purpose == CALL:
        call = CallData.from_item(asked.data).call
        step = Step.read(town.table, Step.key_of(TENANT, call.run_id, call.step))
        if step is None or len(step.tool_calls) <= call.position:  # it was erased
            return True
        return shows(asked.question, json.loads(step.tool_calls[call.position].arguments))
    if "orders" in asked.data:
        return OrderData.from_item(asked.data).orders.text in asked.question
    if "proposal" in asked.data:
        return in_quotes(ConsentData.from_item(asked.data).proposal.text) in asked.question
    return True


def no_effect_is_forgotten(town: Town) -> Iterator[str]:
    """What was agreed to is done, or the agent was told why not, unless somebody ended its run."""
    done = {task for task, _ in acts(town)}
    told = {call for each in town.shown for call in each.told}
    for chat_id, asked in questions(town):
        answer = asked.answer
        if asked.purpose != CALL or answer is None or answer.option != YES:
            continue
        key, runs = CallData.from_item(asked.data).call.key, runs_about(town, chat_id, answer.seq)
        if key in told or any(run.reason in BY_INTENT for run in runs):
            continue
        exhausted = any(run.reason == Reason.ATTEMPTS_EXHAUSTED for run in runs)
        if exhausted and town.deaths >= ATTEMPTS.max_tries:
            continue  # a worker died in each of its attempts, and the person is told to ask again
        spent = [run for run in runs if run.reason == Reason.TOKEN_BUDGET]
        if any(key == call.key for run in spent for call in _carried_out(town, run)):
            continue  # its result is recorded, and no model was asked afterwards
        for task in set(TASK.findall(asked.question)) - done:
            yield f"{task} was agreed to and never done"


def _carried_out(town: Town, run: Run) -> Iterator[AgreedCall]:
    """The approved calls of a run that have a result: done, failed or refused."""
    for step in steps_of(town, run):
        yield from step.agreed[: len(step.results or ())]


def runs_about(town: Town, chat_id: str, seq: int) -> list[Run]:
    """The runs that answer a message."""
    return [run for run in town.runs(chat_id) if seq in run.trigger.seqs]


def told_outcomes(shown: Shown) -> Iterator[tuple[str, str]]:
    """Each task of which a prompt has the result of a call, with the result."""
    messages = shown.request.messages
    calls = {call.id: call.arguments for each in messages for call in each.tool_calls}
    for message in messages:
        if message.role == "tool":
            for task in TASK.findall(calls.get(message.tool_call_id or "", "")):
                yield task, message.content


def prompts_are_true_about_what_was_done(town: Town) -> Iterator[str]:
    """No prompt says that nothing was done about what a service had been called for.

    The result of an earlier call that failed may stand beside that of the call that was made then.
    """
    for shown in town.shown:
        done = {task for task, call in acts(town) if call.key in shown.sent}
        told = list(told_outcomes(shown))
        true = {task for task, said in told if "Nothing was done" not in said}
        for task, said in told:
            if task in done - true:
                yield f"{task} reached the service, and the agent is told: {said}"


# ---------------------------------------------------------------------- answers


def each_message_is_answered(town: Town) -> Iterator[str]:
    """Each task that was asked for has an answer after it, or a reason why not of its own."""
    for asked in town.asked_in:
        if not _has_answer(town, asked):
            yield f"nobody answered task {asked.number} in {titled(asked.step.chat)}"


def _has_answer(town: Town, asked: Asked) -> bool:
    chat = town.stored_chat(asked.step.chat)
    later = [m for m in town.messages(chat.id) if m.seq >= asked.seq]
    if chat.discarded_at is not None or not later or later[0].kind == "erased":
        return True
    if later[0].reason is not None or any(m.sender.kind != "user" for m in later[1:]):
        return True
    return any(run.reason is not None for run in runs_about(town, chat.id, asked.seq))


# ---------------------------------------------------------------------- what is shown


def nothing_private_is_seen(town: Town) -> Iterator[str]:
    """No outsider sees the secret, wherever they look."""
    for who in town.knowledge.outsiders():
        for what, text in seen_by(town, who):
            if town.secret in text:
                yield f"{named(who)} can see the secret in {what}"


def no_file_has_words_of_people(town: Town) -> Iterator[str]:
    """The file of an agent has nothing that people said or asked for, and names nobody."""
    for file in town.exported:
        said = [*TASK.findall(file), *(who.id for who in PEOPLE if who.id in file)]
        if said or town.secret in file:
            yield f"it has {said or town.secret}"


def histories(shown: Shown) -> list[str]:
    """The histories in a prompt."""
    parts = shown.request.messages[0].content.split("\n\n")
    return [each for each in parts if each.startswith("CHAT HISTORY")]


def seen_is_what_was_shown(town: Town) -> Iterator[str]:
    """What a prompt marks as SEEN stood in an earlier prompt of the agent for the chat.

    Or it was left out there, because it has words of people whom a plan or a service does not know.
    """
    before: defaultdict[tuple[str, str | None], set[int]] = defaultdict(set)
    for shown in town.shown:
        known = before[shown.agent, shown.chat]
        known |= shown.left_out
        for part in histories(shown):
            entries = [found for line in part.splitlines() if (found := ENTRY.match(line))]
            for entry in entries:
                if entry["seen"] and entry["who"] != "You" and int(entry["seq"]) not in known:
                    yield f"msg:{entry['seq']} in {titled(shown.chat or '')} was never shown"
            known.update(int(entry["seq"]) for entry in entries)


def prompts_parse_by_their_grammar(town: Town) -> Iterator[str]:
    """Each section of a prompt that has a grammar parses by it."""
    for shown in town.shown:
        for fault in faults_in(shown.request):
            yield f"{fault} ({titled(shown.chat or '')})"


def stopped_people_get_no_texts(town: Town) -> Iterator[str]:
    """After STOP, a person gets one text at most, which confirms it."""
    for who, number in town.stopped.items():
        texts = [sms.body for sms, _ in town.sms.taken[number:] if sms.phone == PHONES[who]]
        if len(texts) > 1:
            yield f"{named(who)} got {texts} after STOP"


def one_person_causes_few_texts(town: Town) -> Iterator[str]:
    """Invitations cause five texts a day at most, and nobody more segments than their limit."""
    invited = [sms for sms, _ in town.sms.taken if " invites you to " in sms.body]
    days, most = days_of(town, NOON), town.settings.user_segments_per_day
    if len(invited) > TEXTS_A_DAY * days:
        yield f"{len(invited)} texts invite people in {days:.1f} days"
    for who in PEOPLE:
        segments = counted(town, NOON, who.id, "units#sms")
        if segments > most * days:
            yield f"{named(who.id)} caused {segments} segments in {days:.1f} days"


def nobody_pays_for_what_others_cause(town: Town) -> Iterator[str]:
    """A person who has done nothing in a story pays for no tokens."""
    did = repr(town.steps)
    for who in PEOPLE:
        tokens = counted(town, NOON, who.id, "input_tokens", "output_tokens")
        if tokens and who.id not in did:
            yield f"{named(who.id)} did nothing, and pays for {tokens} tokens"


def services_that_fail_are_left_alone(town: Town) -> Iterator[str]:
    """Each call of a service that fails holds a worker, so its breaker lets few of them through."""
    for tool, times in town.failed_calls.items():
        if times > most_calls(town.clock.now() - NOON):
            yield f"{tool} was called {times} times while it failed"


def erased_is_gone(town: Town) -> Iterator[str]:
    """Nothing names a person who was erased, from the end of it until they come back."""
    yield from town.left
    for who in town.erased:
        yield from left_of(town.mortal, who)


def each_trial_ends(town: Town) -> Iterator[str]:
    """A trial ends, whatever stops its workers."""
    for trial in trials(town):
        if trial.state == "running":
            yield f"{trial.id} is running"


def no_trial_tells_of_the_erased(town: Town) -> Iterator[str]:
    """No play of a case says what an erased person asked for, and no private case expects it."""
    theirs = {task_of(n) for n, asked in town.tasks.items() if asked.who in town.erased}
    for trial in trials(town):
        for ref in played_cases(town.table, trial):
            asked = {"case_id": ref.id, "reason": WHY}
            path = f"/v1/agents/{trial.agent_id}"
            shown = str(town.admin.get(f"{path}/trials/{trial.id}/results", **asked).body)
            if ref.private:
                shown += str(town.admin.get(f"{path}/cases/{ref.id}", reason=WHY).body)
            for task in theirs.intersection(TASK.findall(shown)):
                yield f"{trial.id} tells of {task}"


def trials(town: Town) -> list[Trial]:
    """The trials of a story."""
    keys = (Trial.key_of(TENANT, COACH.id, each) for each in town.trials)
    return [Trial.must_read({key: town.table.get(key) or {}}, key) for key in keys]


CHECKS: tuple[Callable[[Town], Iterator[str]], ...] = (
    all_queues_drain,
    no_effect_is_done_twice,
    no_effect_is_without_its_yes,
    no_outsider_causes_an_effect,
    no_effect_is_forgotten,
    each_question_shows_what_it_does,
    prompts_are_true_about_what_was_done,
    each_message_is_answered,
    nothing_private_is_seen,
    no_file_has_words_of_people,
    seen_is_what_was_shown,
    prompts_parse_by_their_grammar,
    stopped_people_get_no_texts,
    one_person_causes_few_texts,
    nobody_pays_for_what_others_cause,
    services_that_fail_are_left_alone,
    erased_is_gone,
    each_trial_ends,
    no_trial_tells_of_the_erased,
)
