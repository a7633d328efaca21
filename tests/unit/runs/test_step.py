"""Steps as they are stored: attributes that release 0.3.0 does not know are beside the others."""

from skein.models.runs.completion import TokenUsage
from skein.models.runs.step import ModelFailure, PromptRecord, PromptSection, Step
from tests.support.builders import NOON, TENANT

PLAIN = TokenUsage(input_tokens=5, output_tokens=2)


def step(usage: TokenUsage, failure: ModelFailure | None = None) -> Step:
    return Step(
        tenant=TENANT,
        run_id="run_1",
        n=1,
        model="m",
        text="Hello",
        usage=usage,
        instead_of=failure,
        started_at=NOON,
        ended_at=NOON,
    )


def test_new_attributes_are_stored_at_the_top_and_read_back() -> None:
    written = PLAIN.model_copy(update={"cache_written_tokens": 3})
    made = step(written, ModelFailure(model="first", error="slow down"))
    item = made.to_item()
    assert item["cache_written_tokens"] == 3
    assert "cache_written_tokens" not in item["usage"]
    read = Step.from_item(item)
    assert read == made
    assert read.usage.cache_written_tokens == 3


def test_step_without_them_is_stored_as_before() -> None:
    assert not {"cache_written_tokens", "instead_of"} & step(PLAIN).to_item().keys()


def test_stable_part_of_a_timeline_ends_inside_its_message() -> None:
    texts = ("IDENTITY: Coach", "CHAT HISTORY: ...", "NOW: noon")
    sections = tuple(PromptSection(name=text[:3], tokens=1, text=text) for text in texts)
    record = PromptRecord(sections=sections, total_tokens=3, stable=1, nudge="Answer.")
    end, [first, *_] = record.stable_end(), record.messages()
    assert (end.messages, first.content[: end.characters]) == (0, texts[0])
