"""The eval passes a model that is right in each situation, and fails one that is wrong in each."""

from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

import bench.eval.stage
from bench.api import CallRefusedError
from bench.eval import __main__ as command
from bench.eval.__main__ import main, play
from bench.eval.outcomes import Outcome, keep, kept, line_of, sums
from bench.eval.page import page
from bench.eval.recording import AGENT_SUMMARY, ANSWER, Exchange
from bench.eval.repeats import repeated_facts, repeats_of
from bench.eval.scripted import scripted_model
from bench.eval.situation import Missing, Situation
from bench.eval.situations import SITUATIONS
from bench.eval.stage import Stage
from bench.eval.trials import tried_as_run
from skein.trials.models.expectation import Played, PlayedCall

SAMPLE = SITUATIONS[::48]


def by_name(situation: Situation) -> str:
    return situation.name


def played(situation: Situation, script: str, *, single: bool = False) -> Outcome:
    with scripted_model(single=single) as model:
        base_url = model.base_url
        outcome = play(
            situation, base_url=base_url, api_key=None, model=None, script=(model, script)
        )
        if script == "right":
            assert model.left == 0, "the script has answers that nobody asked for"
    return outcome


def test_single_profile_calls_one_tool_at_a_time() -> None:
    [situation] = [each for each in SITUATIONS if each.name == "keeps a promise in a group"]
    outcome = played(situation, "right", single=True)
    calls = [len(each.answer.splitlines()) for each in outcome.exchanges if each.kind == ANSWER]
    assert outcome.passed
    assert set(calls) == {1}
    assert len(calls) > len(situation.right.turns["Scout"])


def check_scripts(situation: Situation) -> None:
    right, wrong = played(situation, "right"), played(situation, "wrong")
    assert right.problem is None
    assert right.missing == ""
    assert right.passed
    assert right.tokens > 0
    assert wrong.problem is None
    assert not wrong.passed
    assert wrong.missing


@pytest.mark.parametrize("situation", SAMPLE, ids=by_name)
def test_eval_sample_passes_correct_model_and_fails_wrong_one(situation: Situation) -> None:
    check_scripts(situation)


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=by_name)
def test_eval_passes_correct_model_and_fails_wrong_one(situation: Situation) -> None:
    check_scripts(situation)


def test_trial_blames_the_wrong_script_of_the_last_run_of_a_situation() -> None:
    [situation] = [each for each in SITUATIONS if each.name == "knows what another agent wrote"]
    with scripted_model() as model:
        assert tried_as_run(situation, model) == "regressed"


def test_situations_are_95_or_more_with_names_of_their_own() -> None:
    names = [situation.name for situation in SITUATIONS]
    assert len(names) == len(set(names)) >= 95


def test_eval_without_a_model_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main([]) == 1
    assert "OPENAI_API_KEY" in capsys.readouterr().err


def outcome(situation: Situation, *checks: Missing) -> Outcome:
    said = Exchange("===== user\nHow <much>?", "send_message({})")
    summary = Exchange("===== user\nSum up", "{}", AGENT_SUMMARY)
    made = Outcome(situation.name, situation.ability, checks, tokens=1_234)
    return replace(made, exchanges=(said, summary), steps=(1, 2))


MET, MISSED = None, "names Ben"


def test_lines_name_missed_goals_and_sums_count_abilities() -> None:
    first, second = outcome(SITUATIONS[0], MET), outcome(SITUATIONS[1], MET, MISSED)
    assert line_of(first, 10).startswith("pass")
    assert line_of(first, 10).endswith("1,234   3 calls/ 2 runs   1 summaries")
    assert line_of(second, 10).startswith("FAIL")
    assert line_of(second, 10).endswith("names Ben")
    assert [*sums([first, second])] == [
        "  1 of 2   knows who asked",
        "  1 of 2   in all",
        "1.50 calls of the model a run, in 4 runs without a reading tool",
        "2 agent summaries",
        "0 facts shown twice, in 2 prompts of runs",
        "0 times a yes was asked for before a post in another chat",
    ]
    assert [*sums([first, second, first])][:2] == [
        f"  2 of 2   {first.name}",
        f"  0 of 1   {second.name}",
    ]


ASKED = "===== tool\nnot posted: the person is asked in msg:{} whether to post exactly this text."


def test_sums_count_questions_for_a_yes_once_though_later_prompts_repeat_them() -> None:
    prompts = [ASKED.format(4), f"{ASKED.format(4)}\n{ASKED.format(6)}", "===== user\nHello"]
    exchanges = tuple(Exchange(prompt, "") for prompt in prompts)
    asking = replace(outcome(SITUATIONS[0], MET), exchanges=exchanges)
    assert asking.asked_to_post == 2
    assert [*sums([asking, asking])][-1].startswith("4 times a yes")


PROMPT = """===== system
JOURNAL:
  - [2026-02-18] Dana: "Dana has a dog called Rex."
  - [2026-02-18] Dana: "Dana drinks green tea."

TODAY: Wednesday 2026-02-18

===== user
[Dana (human)] Do I have a dog called Rex?

===== system
RECALLED (older messages; if they differ, the newest counts):
  -- 2026-02-17 --
  [msg:1] Dana: "My dog is called Rex."
  [msg:2] You: "Nice!"

NOW: 07:23 UTC"""


def test_repeated_facts_are_lines_with_the_words_of_another_section() -> None:
    assert repeated_facts(PROMPT) == 1
    assert repeated_facts(PROMPT.replace("My dog is called Rex", "Rex likes sticks")) == 0
    assert repeated_facts(PROMPT.replace("Do I have a dog called Rex?", "I drink green tea.")) == 2
    assert repeats_of([Exchange(PROMPT, ""), Exchange(PROMPT, "", AGENT_SUMMARY)]) == [1]


def test_page_shows_prompts_and_answers_as_text() -> None:
    shown = page("gpt-<4>", [outcome(SITUATIONS[0], MISSED)])
    assert "Eval of gpt-&lt;4&gt;" in shown
    assert "How &lt;much&gt;?" in shown
    assert "send_message({})" in shown
    assert "Not met: names Ben" in shown


def test_stopped_eval_continues_and_prints_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plays: list[str] = []

    def played_once(situation: Situation, **_: object) -> Outcome:
        if len(plays) == 1:
            plays.append("stopped")
            raise KeyboardInterrupt
        plays.append(situation.name)
        return outcome(situation, MET)

    monkeypatch.setattr(command, "play", played_once)
    chosen = ["--scripted", "right", "--only", "honours a reset"]
    assert main(chosen, folder=tmp_path) == command.STOPPED
    assert capsys.readouterr().out.startswith("pass  knows nothing from before a reset")
    with (tmp_path / "right.jsonl").open("a") as file:
        file.write('{"name": "broken off')
    assert [each.name for each in kept(tmp_path / "right.jsonl")] == plays[:1]
    assert main([*chosen, "--resume"], folder=tmp_path) == 0
    assert plays.count(plays[0]) == 1
    assert len(kept(tmp_path / "right.jsonl")) == 3
    assert "3 of 3   in all" in capsys.readouterr().out
    assert (tmp_path / "right.html").exists()


def test_eval_of_several_names_keeps_the_outcomes_of_other_situations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "play", lambda situation, **_: outcome(situation, MET))
    first, second, third = (each.name for each in SITUATIONS[:3])

    def names() -> list[str]:
        return [each.name for each in kept(tmp_path / "right.jsonl")]

    assert main(["--scripted", "right", "--only", f"{first}, {second}"], folder=tmp_path) == 0
    assert names() == [first, second]
    assert main(["--scripted", "right", "--only", f"{second},{third}"], folder=tmp_path) == 0
    assert names() == [first, second, third]
    assert escape(first, quote=True) in (tmp_path / "right.html").read_text()
    assert not any("," in each.name or "," in each.ability for each in SITUATIONS)


def test_kept_outcome_is_read_as_it_was_written(tmp_path: Path) -> None:
    keep(outcome(SITUATIONS[0], MET, MISSED), tmp_path / "x.jsonl")
    assert kept(tmp_path / "x.jsonl") == [outcome(SITUATIONS[0], MET, MISSED)]


def test_look_up_counts_only_if_the_prompt_did_not_hold_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looks_up(prompt: str, *called: str) -> bool:
        stage = Stage.__new__(Stage)
        stage.exchanges = [Exchange("code 4711", ""), Exchange(prompt, "")]
        played = Played(calls=tuple(PlayedCall(each, {}) for each in called))
        monkeypatch.setattr(Stage, "played", lambda _self, _agent: played)
        return stage.looks_up("Scout", "4711", ["recall"], since=1)

    assert looks_up("The code is 4711.")
    assert looks_up("No code.", "recall")
    assert not looks_up("No code.", "send_message")


def test_stage_waits_again_for_a_slow_model(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def busy_twice(_self: Stage, _method: str, path: str, _body: object = None) -> object:
        asked.append(path)
        if len(asked) < 3:
            raise CallRefusedError("a worker is at work", 503)
        return {}

    monkeypatch.setattr(bench.eval.stage, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(Stage, "_call", busy_twice)
    Stage.__new__(Stage).drain()
    assert asked == ["/local/drain"] * 3
