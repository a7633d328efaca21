"""Which pictures a model is sent, and what the history says of all others and of documents."""

from base64 import b64encode
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.image_models import ImageDetail, tokens_of_image
from skein.models.runs.completion import ModelMessage
from skein.models.runs.step import PICTURES
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person
from tests.support.media import JPEG, send_file

HUSAM, COACH = person(), bot()


def _world(model: str = "gpt-4.1", **settings: Any) -> World:
    world = World(Settings(default_model=model, **settings))
    world.agent(time_zone="Europe/Berlin")
    world.chat(HUSAM, COACH)
    return world


def _asked(world: World) -> list[ModelMessage]:
    """Return the newest prompt without its first system message."""
    world.drain()
    return list(world.model.requests[-1].messages[1:])


def _notes(world: World) -> list[str]:
    return [each.content for each in _asked(world) if each.role == "user" and not each.images]


def test_a_picture_is_sent_by_reference_with_the_number_of_its_message() -> None:
    world = _world()
    send_file(world, HUSAM, text="What is this?")
    changing, pictures, current = _asked(world)
    assert (changing.role, current.content) == (
        "system",
        "[Husam (human)] What is this? [picture 1.1, shown above]",
    )
    assert pictures.role == "user"
    assert pictures.content.startswith("PICTURES (1.1): ")
    assert [(image.label, image.media_id) for image in pictures.images] == [("1.1", "med_1")]
    assert world.model.requests[-1].image_bytes == {"med_1": JPEG}
    record = world.app.run_views.get(TENANT, world.runs()[-1].id).prompt
    assert record is not None
    assert record.images == pictures.images
    assert b64encode(JPEG) not in record.model_dump_json().encode()
    [section] = [each for each in record.sections if each.name == PICTURES]
    assert section.tokens > 765  # four tiles and the words


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"max_images": 2}, ["2.1", "3.1"]),
        ({"image_tokens": 800}, ["3.1"]),
        ({"image_tokens": 200, "image_detail": "low"}, ["2.1", "3.1"]),
        ({"max_images": 0}, []),
        ({"models_with_images": ("other*",)}, []),
        ({"model": "my/gemma-3-270m"}, []),
        ({"model": "my/gemma-3-270m", "models_with_images": ("gemma-3-270m",)}, ["2.1", "3.1"]),
    ],
)
def test_the_newest_pictures_within_the_limits_are_sent(
    settings: dict[str, Any], sent: list[str]
) -> None:
    world = _world(**settings)
    for number in (1, 2, 3):
        send_file(world, HUSAM, media_id=f"med_{number}", description=f"Shoe {number}")
    asked = _asked(world)
    shown = [image.label for each in asked for image in each.images]
    assert shown[-2:] == sent
    assert world.model.requests[-1].image_bytes.keys() == {f"med_{label[0]}" for label in shown}
    notes = [each.content for each in asked if each.role == "user" and not each.images]
    for number in (1, 2, 3):
        label = f"{number}.1"
        place = "above" if number == 3 else "below"  # the pictures precede the message to answer
        words = f"shown {place}" if label in shown else f'not shown: "Shoe {number}"'
        assert notes[number - 1].endswith(f"[picture {label}, {words}]")


def test_a_picture_that_was_deleted_meanwhile_is_named_as_gone() -> None:
    world = _world()
    file = send_file(world, HUSAM)
    world.files.contents.clear()
    [pictures] = [each for each in _asked(world) if each.content.startswith("PICTURES")]
    assert pictures.images == ()
    assert pictures.content.endswith("1.1 was deleted.")
    assert world.model.requests[-1].image_bytes == {}
    assert file.id not in pictures.content


def test_an_answer_does_not_wait_for_a_picture_that_cannot_be_loaded() -> None:
    world = _world()
    send_file(world, HUSAM, text="Look!")
    world.files.failing = Unavailable("the files are out of reach")
    assert any(each.content.endswith("1.1 could not be loaded.") for each in _asked(world))
    assert world.runs()[-1].status == "done"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"state": "pending"}, "[picture 1.1, not loaded yet]"),
        ({"state": "failed", "reason": "too_large"}, "[picture 1.1, not loaded: too large]"),
    ],
)
def test_a_picture_that_is_not_ready_is_named_as_such(fields: dict[str, Any], note: str) -> None:
    world = _world()
    send_file(world, HUSAM, **fields)
    assert _notes(world)[0].endswith(note)


def test_document_is_shown_in_history_with_its_beginning() -> None:
    world = _world(max_context_tokens=400)
    pdf: dict[str, Any] = {"content_type": "application/pdf", "characters": 90_000}
    send_file(world, HUSAM, media_id="med_1", excerpt="An older plan", **pdf)
    send_file(world, HUSAM, media_id="med_2", excerpt='Run "easy"\n' * 200, **pdf)
    older, newer = _notes(world)
    assert older.endswith("[file 1.1: application/pdf, 90,000 characters]")
    assert '[file 2.1: application/pdf, 90,000 characters; begins "Run \\"easy\\"\\nRun' in newer
    assert "\n" not in newer


def test_timeline_prompt_puts_pictures_before_the_final_instruction() -> None:
    world = World(Settings(default_model="gpt-4.1"))
    world.agent(history_format="timeline")
    world.chat(HUSAM, COACH)
    send_file(world, HUSAM, text="Look")
    pictures, nudge = _asked(world)
    assert [image.label for image in pictures.images] == ["1.1"]
    assert (nudge.role, nudge.content) == ("user", "Act on the trigger now.")
    head = world.model.requests[-1].messages[0].content
    assert '"Look" [picture 1.1, shown below]' in head
    assert PICTURES not in head


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [  # the examples of the providers' documentation
        ("gpt-4o", 1_024, 1_024, "high", 765),
        ("gpt-4o", 2_048, 4_096, "auto", 1_105),
        ("gpt-4o", 4_096, 8_192, "low", 85),
        ("gpt-4o-mini", 512, 512, "high", 8_500),
        ("openai/gpt-4.1-mini", 1_800, 2_400, "high", 2_489),
        ("gpt-5-mini-2025-08-07", 1_024, 1_024, "high", 1_659),
        ("gpt-5", 512, 512, "high", 210),
        ("o3", 512, 512, "high", 225),
        ("claude-sonnet-4-5", 1_000, 750, "high", 1_000),
        ("bedrock/us.anthropic.claude-opus-4", 3_000, 2_000, "high", 1_600),
        ("somebody/else", 10, 10, "low", 2_500),
        ("gpt-4o", 0, 0, "high", 2_500),
    ],
)
def test_tokens_of_a_picture_follow_the_providers_formula(
    model: str, width: int, height: int, detail: ImageDetail, tokens: int
) -> None:
    assert tokens_of_image(model, width, height, detail) == tokens


def test_prompt_of_chat_without_files_has_no_pictures() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    assert [each.content for each in _asked(world)][-1] == "[Husam (human)] Hello"
    assert world.model.requests[-1].image_bytes == {}
    record = world.app.run_views.get(TENANT, world.runs()[-1].id).prompt
    assert record is not None
    assert PICTURES not in {each.name for each in record.sections}
