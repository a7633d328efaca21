"""Descriptions of pictures and files: made once, kept with the message, and used with its text."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.chats.media import MAX_DESCRIPTION_TRIES, MediaFile
from skein.models.common.storage import Delete, Update
from skein.models.config.overrides import TenantOverridesChange
from skein.models.outbox.due import due_time
from skein.models.outbox.jobs import ConsolidationJob, SummaryJob
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person
from tests.support.media import send_file
from tests.support.recalling import indexed, recalled

HUSAM, COACH = person(), bot()


def _world(**settings: Any) -> World:
    world = World(Settings(**settings))
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    return world


def _describe(world: World, file: MediaFile) -> MediaFile:
    """Play the job of a file, and return the file as it is stored then."""
    deadline = world.clock.now() + timedelta(seconds=900)
    world.app.descriptions.describe(file.job, deadline=deadline)
    return _stored(world, file)


def _stored(world: World, file: MediaFile) -> MediaFile:
    item = world.table.get(file.key)
    assert item is not None
    return MediaFile.from_item(item)


def test_description_is_stored_with_the_file_and_the_message_and_paid_by_the_sender() -> None:
    world = _world()
    file = send_file(world, HUSAM, text="My shoe")
    epoch = world.stored_chat().epoch
    world.model.descriptions.append('{"shows": "A worn\\nblue shoe."}')
    stored = _describe(world, file)
    assert stored.description == "A worn blue shoe."
    assert stored.described_by == world.app.ports.settings.light_model
    [message] = world.messages()
    assert message.full_text == "My shoe\n[picture: A worn blue shoe.]"
    assert world.stored_chat().epoch == epoch + 1  # cached messages are read again
    [question] = world.model.description_requests
    assert list(question.image_bytes) == [image.media_id for image in question.messages[0].images]
    assert world.app.usage.of_day(TENANT).answers == 1
    _describe(world, file)
    assert len(world.model.description_requests) == 1


@pytest.mark.parametrize(
    "settings",
    [{"models_with_images": ()}, {"light_model": "gemma-3-270m", "default_model": "gemma-3-1b"}],
)
def test_without_a_model_that_takes_pictures_nothing_is_asked(settings: dict[str, Any]) -> None:
    world = _world(**settings)
    assert _describe(world, send_file(world, HUSAM)).description is None
    assert world.model.description_requests == []


def test_tenant_can_turn_descriptions_off() -> None:
    world = _world()
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(models_with_images=()))
    assert _describe(world, send_file(world, HUSAM)).description is None


def test_picture_is_asked_about_three_times_at_most() -> None:
    world = _world()
    file = send_file(world, HUSAM)
    world.model.descriptions.extend([Unavailable("503")] * 9)
    for _ in range(5):
        stored = _describe(world, file)
        world.clock.advance(3_600)
    assert len(world.model.description_requests) == MAX_DESCRIPTION_TRIES
    item = world.table.get(stored.key)
    assert item is not None
    assert due_time(item) == stored.kept_until


def test_document_is_described_by_its_beginning_without_a_model() -> None:
    world = _world()
    file = send_file(
        world, HUSAM, content_type="application/pdf", excerpt="A plan\nfor May. " + "run " * 99
    )
    stored = _describe(world, file)
    assert stored.description is not None
    assert stored.description.startswith("A plan for May. run run")
    assert stored.description.endswith(" ...")
    assert world.messages()[0].full_text.startswith("[file: A plan for May.")
    assert world.model.description_requests == []


def _deleted(world: World) -> None:
    world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)


def _without_file(world: World) -> None:
    world.table.write(Delete(MediaFile.key_of(TENANT, "chat_1", "med_1")))


@pytest.mark.parametrize("meanwhile", [_deleted, _without_file])
def test_nothing_is_stored_of_a_message_that_is_deleted_meanwhile(
    meanwhile: Callable[[World], None],
) -> None:
    world = _world()
    file = send_file(world, HUSAM, text="My shoe")

    def answer(_: object) -> str:
        meanwhile(world)
        return '{"shows": "A secret."}'

    world.model.descriptions.append(answer)
    deadline = world.clock.now() + timedelta(seconds=900)
    world.app.descriptions.describe(file.job, deadline=deadline)
    assert "A secret." not in repr(world.table.all_items())


def test_picture_that_is_gone_from_the_bucket_is_not_asked_about() -> None:
    world = _world()
    file = send_file(world, HUSAM)
    world.files.contents.clear()
    assert _describe(world, file).description is None
    assert world.model.description_requests == []


def test_picture_description_is_included_wherever_its_message_is() -> None:
    world = _world()
    world.chat_elsewhere(HUSAM, COACH)  # an agent with one chat needs no summaries
    file = send_file(world, HUSAM, text="How do they look?")
    world.post("Worn", HUSAM)
    world.model.descriptions.append('{"shows": "A zebra sneaker."}')
    _describe(world, file)
    summary = SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id=COACH.id)
    world.work(world.app.summary_tasks.of(summary), summary)
    world.clock.advance(7 * 3_600)
    consolidation = ConsolidationJob(tenant=TENANT, chat_id="chat_1")
    world.work(world.app.consolidation, consolidation)
    for asked in (world.model.summary_requests[-1], world.model.memory_requests[-1]):
        assert "zebra sneaker" in asked.messages[-1].content
    indexed(world, "chat_1")
    found = recalled(world, "Which sneaker has the zebra?")
    assert found.entries[0].text == "How do they look?\n[picture: A zebra sneaker.]"


def test_two_pictures_of_a_message_are_described_side_by_side() -> None:
    world = _world()
    file = send_file(world, HUSAM)
    other = file.model_copy(update={"id": "med_2"})
    world.table.write(
        Update(
            world.messages()[0].key,
            set={"files": [each.named().model_dump(exclude_none=True) for each in (file, other)]},
        )
    )

    def answer(_: object) -> str:
        world.app.description.store(other, "The sole.", None)
        return '{"shows": "The top."}'

    world.table.write(Update(other.key, set=other.to_item()))
    world.model.descriptions.append(answer)
    _describe(world, file)
    assert [media.description for media in world.messages()[0].media] == ["The top.", "The sole."]
