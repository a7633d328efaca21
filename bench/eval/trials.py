"""`make eval SCRIPTED=trials`: play each situation as a trial of a right script and a wrong one.

A sketch replaces the stage: it only records who writes what, and what is expected of the agent.
From these, it makes a case of a script. The trial's baseline follows the right script. A situation
that uses something that worlds do not have is played on a local stack instead, with both scripts.
Then a run becomes the case: the newest one that does what is expected next with the right script,
and doesn't with the wrong one.
"""

import json
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import IO, Any, NamedTuple

from pydantic import ValidationError

from bench.eval.recording import Exchange
from bench.eval.scripted import END, ScriptedModel, scripted_model
from bench.eval.situation import Heard, HeardCalls, Script, Situation, ToolCall
from bench.eval.stage import REASON, Message, Stage, stage
from skein.agent.spoken_text import NO_REPLY
from skein.models.runs import completion
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage
from skein.trials.models import case
from skein.trials.models.expectation import (
    Expectation,
    PartOfCall,
    Played,
    PlayedCall,
    missing_of,
)
from skein.trials.models.trial import TrialHead, TrialSide, Unit
from skein.trials.run_cases import SEND
from skein.trials.worlds import CHAT
from tests.support.api_client import Answer as Response
from tests.support.api_client import operator
from tests.support.builders import TENANT, World
from tests.support.scripted_openai import Answer

ANSWERED = 120  # seconds until the answer to a message is there
NOISE = 0.05  # of the plays of a right script go wrong anyway
ALIKE = 28  # cases of each situation with two right scripts, over 1,000 in all
CALLER, MARK = "Caller", "Be brief."
MOST = 100_000_000  # tokens of a trial
NOTHING = "no run does what is expected in the right script alone"
COPIED = ("documents", "goals", "memories", "plans", "threads")
Verdicts = Counter[str]


class NotInWorldError(Exception):
    """A situation uses what a world does not have; the message names it."""


class JudgedElsewhereError(Exception):
    """From this point on, a situation judges more than a play shows."""


class Sketch(Stage):
    """A stage that only records what a situation does. Only what operators prepare is carried out.

    Attributes:
        turns: The messages of the script.
        expect: What the situation expects.
    """

    def __init__(self, world: World) -> None:
        self.exchanges = ()
        self.ids: dict[str, str] = {}
        self.characters: dict[str, str] = {}
        self.turns: list[dict[str, Any]] = []
        self.expect: list[Expectation] = []
        self._operator_of_world = operator(world)
        self._people: dict[str, dict[str, Any]] = {}
        self._place: dict[str, str] = {}
        self._after = 0

    @property
    def script(self) -> case.Script:
        """The script.

        Raises:
            NotInWorldError: No script can have these people and messages.
        """
        if self._after > ANSWERED:
            raise NotInWorldError("something that becomes due after the last message")
        people = list(self._people.values())
        given = {"people": people, "turns": self.turns, **self._place}
        try:
            return case.Script.model_validate(given)
        except ValidationError as error:
            why = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise NotInWorldError(f"a script in which {why}") from None

    # ------------------------------------------------------------------ who and where

    def agent(self, name: str, character: str, **fields: object) -> str:
        if self.characters:
            raise NotInWorldError("another agent")
        return super().agent(name, character, **fields)

    def agent_on_line(self, name: str, character: str, **fields: object) -> None:
        self.agent(name, character, **fields)
        self._open({"chat": "direct", "channel": "sms"})

    def person(self, name: str, *, known_as: str | None = None, **fields: object) -> str:
        if set(fields) - {"roles"}:
            raise NotInWorldError(f"the {min(fields)} of a person")
        self.ids[name] = f"usr_world_{len(self._people)}"
        self._people[name] = {"name": known_as or name, **fields}
        return self.ids[name]

    def chat(self, title: str, *members: str, **fields: object) -> str:
        visibility = str(fields.get("visibility", "open"))
        self._open({"chat": "direct" if fields.get("kind") == "direct" else visibility})
        self.ids[title] = CHAT
        return CHAT

    def _open(self, place: dict[str, str]) -> None:
        if self._place:
            raise NotInWorldError("another chat")
        self._place = place

    def admin(self, method: str, path: str, body: object = None) -> Any:
        """Let an operator prepare the agent in the tenant, from which worlds copy."""
        kind = path.split("/")[4:5]
        prepares = path == "/v1/agents" or kind == [] or kind[0] in COPIED
        if method == "GET" and self.turns:
            raise JudgedElsewhereError
        if self.turns or not path.startswith(("/v1/agents", "/v1/skills")) or not prepares:
            raise NotInWorldError(f"{method} {path.split('/')[2].partition('?')[0]}")
        return _body(self._operator_of_world.call(method, path, body))

    def service(self, tool: str, **fields: object) -> list[Any]:
        raise NotInWorldError("a service")

    def link(self, person: str, phone: str) -> None:
        raise NotInWorldError("a number that is linked to a person")

    # ------------------------------------------------------------------ what happens

    def say(self, person: str, chat: str, text: str, *, wait: bool = True) -> None:
        self._note(str(self._people[person]["name"]), text, wait=wait)

    def sms(self, phone: str, text: str, *, wait: bool = True, picture: str = "") -> None:
        if picture:
            raise NotInWorldError("a picture")
        if phone not in self.ids and self._people:
            raise NotInWorldError("another chat")
        if phone not in self.ids:
            self.person(phone, known_as=CALLER)
        self._note(CALLER, text, wait=wait)

    def _note(self, sender: str, text: str, *, wait: bool) -> None:
        if self.expect:  # a case judges a whole play, so it is over before the next message
            raise JudgedElsewhereError
        after = self._after if self.turns else 0
        self.turns.append({"from": sender, "text": text, "after_seconds": after})
        self._after = ANSWERED if wait else 0

    def turn(self, seconds: float) -> None:
        self._after += int(seconds)

    def drain(self) -> None:
        self._after = max(self._after, ANSWERED)

    def step_in(self, chat: str, text: str, *, briefing: str) -> None:
        raise NotInWorldError("a colleague at the desk")

    def choose(self, person: str, chat: str, label: str) -> bool:
        raise NotInWorldError("an answer by a button")

    # ------------------------------------------------------------------ what came of it

    def answers(self, chat: str, *, reader: str, agent: str | None = None) -> list[str]:
        return Heard(self.expect)

    def received(self, phone: str) -> list[str]:
        return Heard(self.expect)

    def messages(self, chat: str, *, reader: str) -> list[Message]:
        raise JudgedElsewhereError

    def played(self, agent: str) -> Played:
        return HeardCalls(expect=self.expect)

    def looks_up(self, agent: str, fact: str, tools: Any, *, since: int) -> bool:
        raise NotInWorldError("recall")


@dataclass
class SidedModel:
    """The model of a trial. Each play follows the script of its side, from the beginning.

    Attributes:
        noise: How often a play follows the wrong script instead.
    """

    scripts: dict[TrialSide, Script]
    wrong: Script
    noise: float = 0
    world: World = field(init=False)
    sketch: Sketch = field(init=False)

    def __post_init__(self) -> None:
        self._left: dict[Unit, Iterator[Any]] = {}
        self._draws = random.Random(1)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        head = TrialHead.must_read(self.world.table.all_items(), TrialHead.key_of(TENANT))
        [taken] = head.taken  # one play at a time
        if taken.unit not in self._left:
            strays = self._draws.random() < self.noise
            script = self.wrong if strays else self.scripts[taken.unit.side]
            [turns] = script.turns.values() or [()]
            self._left[taken.unit] = iter(turns)
        turn = next(self._left[taken.unit], None)
        if callable(turn):
            turn = turn(self.sketch)
        if turn is None:
            ends = END in {each.name for each in request.tools}
            turn = ToolCall(END, {}) if ends else NO_REPLY
        text = turn if isinstance(turn, str) else ""
        calls = () if text else [turn] if isinstance(turn, ToolCall) else turn
        return ModelAnswer(
            model="scripted",
            text=text,
            tool_calls=tuple(
                completion.ToolCall(id=f"call_{n}", name=name, arguments=json.dumps(arguments))
                for n, (name, arguments) in enumerate(calls)
            ),
            usage=TokenUsage(),
        )

    def stream(self, request: ModelRequest, heard: Any) -> ModelAnswer:
        return self.complete(request)


def tried(
    situation: Situation, *, cases: int = 1, candidate: Script | None = None, noise: float = 0
) -> tuple[Verdicts, bool]:
    """Play a situation as cases of a trial.

    Args:
        candidate: The script of the candidate; by default, the situation's wrong script.

    Returns:
        The verdicts, and whether the situation has checks that can't be expectations of a case.

    Raises:
        NotInWorldError: The situation can't be a case.
    """
    if situation.right.memories or situation.wrong.memories:
        raise NotInWorldError("memories of a conversation")
    scripts: dict[TrialSide, Script] = {
        "baseline": situation.right,
        "candidate": situation.wrong if candidate is None else candidate,
    }
    model = SidedModel(scripts, situation.wrong, noise)
    world = World(overrides={"model": model})
    sketch = model.sketch = Sketch(world)
    model.world = world
    elsewhere = True
    with suppress(JudgedElsewhereError):
        elsewhere = any(each is not None for each in [*situation.play(sketch)])
    sketch.expect += situation.expect
    script, [(name, character)] = sketch.script, sketch.characters.items()
    if not sketch.expect:
        raise NotInWorldError(NOTHING)
    path = f"/v1/agents/{sketch.ids[name]}"
    new = {
        "name": situation.name,
        "script": script.model_dump(mode="json", exclude_none=True),
        "expect": [each.model_dump(mode="json", exclude_none=True) for each in sketch.expect],
    }
    client = operator(world)
    for _ in range(cases):
        _body(client.post(f"{path}/cases", new))
    change = {"changes": {"system_prompt": f"{character} {MARK}"}}
    begun = _body(client.post(f"{path}/trials", {"candidate": change, "max_tokens": MOST}))
    world.drain(rounds=10_000)
    trial = _body(client.get(f"{path}/trials/{begun['id']}"))
    return Counter(str(each["verdict"]) for each in trial["cases"]), elsewhere


class Moment(NamedTuple):
    """What a situation expects between two of its steps, and the runs up to there.

    Attributes:
        expect: The expectations, by the name of the agent (None: of all) and the id of the chat
            (None: wherever the agent is).
        runs: The ids of each agent's runs so far.
    """

    expect: Mapping[tuple[str | None, str | None], Sequence[Expectation]]
    runs: Mapping[str, Sequence[str]]

    def expected(self, agent: str, chat_id: str) -> list[Expectation]:
        """Return what is expected of an agent's run in a chat."""
        found: list[Expectation] = []
        for (of_agent, place), expect in self.expect.items():
            if of_agent in {None, agent}:
                found += expect if place in {None, chat_id} else _elsewhere(str(place), expect)
        return found


def _elsewhere(chat_id: str, expect: Iterable[Expectation]) -> Iterator[Expectation]:
    """Yield expectations of the texts in another chat than that of the run: it posts them there."""
    there = PartOfCall(tool=SEND, arguments={"chat_id": chat_id})
    yield from (each for each in expect if not each.silent)
    if any(each.says for each in expect):
        yield Expectation(calls=there)
    if any(each.silent for each in expect):
        yield Expectation(calls_not=there)


class Watched(Stage):
    """A local stack that plays a situation, and records what is expected between its steps.

    Attributes:
        moments: What was expected, in order.
        runs: The runs by id, once the situation is over.
    """

    def __init__(self, url: str, exchanges: Sequence[Exchange] = ()) -> None:
        super().__init__(url, exchanges)
        self.moments: list[Moment] = []
        self.runs: dict[str, Mapping[str, Any]] = {}
        self._expect: dict[tuple[str | None, str | None], list[Expectation]] = defaultdict(list)

    def answers(self, chat: str, *, reader: str, agent: str | None = None) -> list[str]:
        texts = super().answers(chat, reader=reader, agent=agent)
        return Heard(self._expect[agent, self.ids[chat]], texts, come=True)

    def received(self, phone: str) -> list[str]:
        return Heard(self._expect[None, None], super().received(phone), come=True)

    def played(self, agent: str) -> Played:
        calls = super().played(agent).calls
        return HeardCalls(calls=calls, expect=self._expect[agent, None], come=True)

    def _patiently(self, wait: Callable[[], object]) -> None:
        self._note()
        super()._patiently(wait)

    def watch(self, situation: Situation) -> None:
        """Play a situation, and read its runs."""
        try:
            deque(situation.play(self), maxlen=0)
        finally:
            self._expect[None, None] += situation.expect
            self._note()
            ids = {
                each for moment in self.moments for runs in moment.runs.values() for each in runs
            }
            self.runs = {each: self.run(each) for each in ids}

    def _note(self) -> None:
        runs = {agent: self.run_ids(agent) for agent in self.characters}
        self.moments.append(Moment(self._expect, runs))
        self._expect = defaultdict(list)


class Decisive(NamedTuple):
    """A run that does what is expected of it with the right script, and not with the wrong one."""

    run: Mapping[str, Any]
    expect: Sequence[Expectation]
    right: Sequence[Answer]
    wrong: Sequence[Answer]


def _decisive(right: Watched, wrong: Watched) -> Decisive | None:
    """Return the newest run that decides.

    With the wrong script, it is the agent's run of the same number; it says nothing if there is
    none.
    """
    renamed = {each: right.ids[name] for name, each in wrong.ids.items()}
    for at, moment in reversed([*enumerate(right.moments)]):
        of_wrong = wrong.moments[min(at, len(wrong.moments) - 1)].runs
        for agent, runs in moment.runs.items():
            for n, run in reversed([*enumerate(right.runs[each] for each in runs)]):
                if run["ended_at"] is None or run["prompt"] is None:
                    continue
                expect, said = moment.expected(agent, run["chat_id"]), _answers(run)
                same = of_wrong.get(agent, ())[n : n + 1]
                other = [answer for each in same for answer in _answers(wrong.runs[each], renamed)]
                met = [not any(missing_of(expect, _said(each))) for each in (said, other)]
                if met == [True, False]:
                    return Decisive(run, expect, said, other)
    return None


def _answers(run: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> list[Answer]:
    """Return the model's answers in the newest activation of a run.

    Args:
        renamed: Ids in the answers, with those that replace them.
    """

    def arguments(text: str) -> str:
        for old, new in (renamed or {}).items():
            text = text.replace(old, new)
        return text

    last = max((step["activation"] for step in run["steps"]), default=0)
    return [
        Answer(
            step["text"],
            tool_calls=[(c["name"], arguments(c["arguments"])) for c in step["tool_calls"]],
        )
        for step in run["steps"]
        if step["activation"] == last
    ]


def tried_as_run(situation: Situation, scripted: ScriptedModel) -> str:
    """Play a situation with its right and its wrong script, on a local stack.

    A run becomes the case of a trial.

    Raises:
        NotInWorldError: No run decides.
    """
    with stage(Watched, base_url=scripted.base_url, api_key=None, settings={}) as wrong:
        scripted.learn(situation.wrong, wrong)
        with suppress(ValueError, LookupError):  # what it looks at is not there
            wrong.watch(situation)
    with stage(Watched, base_url=scripted.base_url, api_key=None, settings={}) as played:
        scripted.learn(situation.right, played)
        played.watch(situation)
        decisive = _decisive(played, wrong)
        if decisive is None:
            raise NotInWorldError(NOTHING)
        run = decisive.run
        scripted.replay({False: decisive.right, True: decisive.wrong}, MARK)
        agent = played.admin("GET", f"/v1/agents/{run['agent_id']}")
        path = f"/v1/agents/{run['agent_id']}"
        expect = [each.model_dump(mode="json", exclude_none=True) for each in decisive.expect]
        case = {"name": situation.name, "run_id": run["id"], "expect": expect}
        played.admin("POST", f"{path}/cases?reason={REASON}", case)
        change = {"changes": {"system_prompt": f"{agent['system_prompt']} {MARK}"}}
        new = {"candidate": change, "max_tokens": MOST}
        begun = played.admin("POST", f"{path}/trials?reason={REASON}", new)
        played.drain()
        [tried] = played.admin("GET", f"{path}/trials/{begun['id']}")["cases"]
        return str(tried["verdict"])


def _said(answers: Sequence[Answer]) -> Played:
    """Return the calls in the answers of a model, and the texts that it posts."""
    calls = [
        PlayedCall(name, json.loads(str(arguments)))
        for each in answers
        for name, arguments in each.tool_calls
    ]
    texts = [each.arguments["text"] for each in calls if each.tool == SEND]
    texts += [each.text for each in answers if each.text not in {None, "", NO_REPLY}]
    return Played(texts=tuple(texts), calls=tuple(calls))


def _body(answer: Response) -> Any:
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise RuntimeError(str(answer.body))
    return answer.body


def main(chosen: Sequence[Situation], log: IO[str]) -> int:
    """Print a verdict for each situation, and the sums.

    Returns:
        The exit status: 1 if a wrong script does not get the verdict `regressed`, or if more than
            one right script gets it.
    """
    verdicts, no_case = Verdicts(), Verdicts()
    scripts: list[Situation] = []
    with scripted_model() as scripted:
        for situation in chosen:
            try:
                with redirect_stdout(log):
                    kind, verdict = _blamed(situation, scripted)
            except NotInWorldError as why:
                no_case[str(why)] += 1
                print(f"no case ({why}): {situation.name}", flush=True)
                continue
            scripts += [situation] if kind == "script" else []
            verdicts[f"{verdict}, as a {kind}"] += 1
            print(f"{verdict}, as a {kind}: {situation.name}", flush=True)
    alike = Verdicts()
    for situation in scripts:
        with redirect_stdout(log):
            alike += tried(situation, cases=ALIKE, candidate=situation.right, noise=NOISE)[0]
    _tell("No case, because of", no_case)
    _tell("Right scripts against wrong ones", verdicts)
    _tell(f"Right scripts against right ones, of which {NOISE:.0%} go wrong", alike)
    missed = [each for each in verdicts if not each.startswith("regressed")]
    return int(bool(missed) or alike["regressed"] > 1)


def _blamed(situation: Situation, scripted: ScriptedModel) -> tuple[str, str]:
    """Return whether the case is one of a `script` or of a `run`, and the verdict of the trial.

    Raises:
        NotInWorldError: The situation can be neither a case of a script nor a case of a run.
    """
    try:
        [verdict], elsewhere = tried(situation)
        if verdict == "regressed" or not elsewhere:
            return "script", verdict
        why = "checks of the stage"
    except NotInWorldError as error:
        why = str(error)
    try:
        return "run", tried_as_run(situation, scripted)
    except NotInWorldError as error:
        raise NotInWorldError(f"a script: {why}; a run: {error}") from None


def _tell(title: str, counts: Verdicts) -> None:
    print(f"\n{title}: {counts.total()}")
    for what, count in counts.most_common():
        print(f"  {count} {what}")
