"""Pictures of SMS are fetched, checked and stored, and answers wait for them a little."""

from datetime import timedelta
from typing import Any

import pytest

from skein.adapters.media_reader import LibraryMediaReader
from skein.errors import MediaRefused, Unavailable
from skein.media.deleting import MediaDeletion
from skein.media.receiving import MAX_TRIES
from skein.models.chats.chat import Media, chat_partition
from skein.models.chats.media import MediaFile
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Update
from skein.models.config.overrides import Retention, TenantOverridesChange
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import MediaJob
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.runs.reasons import reason_now
from tests.support.builders import LINE, PHONE, TENANT, World, person
from tests.support.pictures import HTML, document, picture

ZOE = person("usr_zoe", "Zoë")
URL = "https://api.twilio.com/ME{}"


def world_of(*contents: bytes, **chat: Any) -> World:
    """Zoë texts Coach; Twilio holds files."""
    world = World()
    world.agent()
    world.line()
    world.known(ZOE)
    world.sms.media_files = {URL.format(n): content for n, content in enumerate(contents)}
    return world


def text(world: World, files: int = 1, body: str = "Look", sid: str = "SM1", **more: Any) -> str:
    """Text Coach with files, and return the chat."""
    media = tuple(Media(url=URL.format(n), content_type="image/jpeg") for n in range(files))
    sms = InboundSms(
        account_sid="AC1",
        message_sid=sid,
        sender=PHONE,
        recipient=LINE,
        body=body,
        media=media,
        **more,
    )
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    return posted.message.chat_id


def files_in(world: World, chat_id: str) -> list[MediaFile]:
    page = world.table.query(Query.under(chat_partition(TENANT, chat_id), MediaFile.PREFIX))
    return [MediaFile.from_item(item) for item in page.items]


def media_jobs(world: World) -> list[MediaJob]:
    return [job for job in world.queues.ready("media") if isinstance(job, MediaJob)]


def test_picture_of_an_sms_is_pending_until_it_is_fetched() -> None:
    world = world_of(picture(), document("Rest"))
    chat_id = text(world, files=2)
    [message] = world.messages(chat_id)
    files = files_in(world, chat_id)
    assert [media.id for media in message.media] == [file.id for file in files]
    assert not any(media.url for media in message.media)
    assert {(file.state, file.seq, file.sender.id) for file in files} == {
        ("pending", 1, message.sender.id)
    }
    world.drain()
    first, second = files_in(world, chat_id)
    assert (first.state, first.width, first.height, first.source) == ("ready", 64, 48, None)
    assert (second.content_type, second.excerpt, second.characters) == (
        "application/pdf",
        "Rest",
        4,
    )
    stored = {first.file_name, second.file_name, second.text_name}
    assert set(world.files.contents) == stored
    assert first.size == len(world.files.contents[first.file_name])


@pytest.mark.parametrize(("kind", "small"), [("JPEG", False), ("WEBP", True)])
def test_picture_that_an_mms_does_not_carry_has_a_smaller_copy(kind: str, *, small: bool) -> None:
    world = world_of(picture(kind))
    chat_id = text(world)
    world.drain()
    [file] = files_in(world, chat_id)
    assert (file.small_name in world.files.contents) == bool(file.small_size) == small


@pytest.mark.parametrize(
    ("content", "reason"),
    [(HTML, "type_refused"), (None, "gone"), (b"\xff" * 5_000_001, "too_large")],
)
def test_file_that_is_not_accepted_has_failed(content: bytes | None, reason: str) -> None:
    world = world_of(*[content] if content is not None else [])
    chat_id = text(world)
    world.drain()
    [file] = files_in(world, chat_id)
    assert (file.state, file.reason, file.source) == ("failed", reason, None)
    assert world.files.contents == {}
    assert len(world.messages(chat_id)) == 2  # it was answered all the same


def test_answer_waits_for_the_picture_and_begins_at_once_after_it() -> None:
    world = world_of(picture())
    chat_id = text(world)
    [run] = world.runs(chat_id)
    [job] = media_jobs(world)
    world.clock.advance(5)
    world.take(run.job)
    [run] = world.runs(chat_id)
    assert run.status == "queued"
    coach = read_snapshot(world.table, TENANT, chat_id).agents[0]
    assert reason_now(run, coach, world.clock.now()) == Reason.MEDIA_PENDING
    world.queues.ready("turns")
    world.handle(job)
    assert [each.run_id for each in world.queues.ready("turns")] == [run.id]  # type: ignore[attr-defined]
    world.take(run.job)
    assert [run.status for run in world.runs(chat_id)] == ["done"]


def test_answer_waits_for_a_picture_that_does_not_come_for_twenty_seconds() -> None:
    world = world_of(picture())
    chat_id = text(world)
    media_jobs(world)  # lost
    [run] = world.runs(chat_id)
    for seconds, status in ((19, "queued"), (1, "done")):
        world.clock.advance(seconds)
        world.take(run.job)
        assert [each.status for each in world.runs(chat_id)] == [status]


def test_lost_job_is_found_by_the_tick() -> None:
    world = world_of(picture())
    chat_id = text(world)
    media_jobs(world)
    world.clock.advance(61)
    world.tick()
    world.drain()
    assert [file.state for file in files_in(world, chat_id)] == ["ready"]


def test_twilio_out_of_reach_is_asked_again_for_a_day() -> None:
    world = world_of(picture())
    chat_id = text(world)
    [job] = media_jobs(world)
    world.sms.plan_find(Unavailable("down"), Unavailable("down"))
    with pytest.raises(Unavailable):
        world.handle(job)
    assert [file.state for file in files_in(world, chat_id)] == ["pending"]
    world.clock.advance(86_400)
    world.handle(job)
    assert [file.reason for file in files_in(world, chat_id)] == ["gone"]


def test_file_that_ends_each_worker_is_given_up() -> None:
    world = world_of(picture())
    chat_id = text(world)
    [job] = media_jobs(world)
    [file] = files_in(world, chat_id)
    world.table.write(Update(file.key, set={"due_tries": MAX_TRIES}))
    world.handle(job)
    assert [file.reason for file in files_in(world, chat_id)] == ["unreadable"]


def test_picture_whose_smaller_copy_takes_too_long_is_received_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise MediaRefused("unreadable")

    monkeypatch.setattr(LibraryMediaReader, "shrunk", refuse)
    world = world_of(picture("WEBP"))  # which an MMS does not carry
    chat_id = text(world)
    world.drain()
    assert [(file.state, file.small_size) for file in files_in(world, chat_id)] == [("ready", 0)]


def test_redelivered_sms_brings_its_picture_once() -> None:
    world = world_of(picture())
    for _ in range(2):
        chat_id = text(world)
    world.drain()
    assert len(files_in(world, chat_id)) == 1


def test_pictures_over_the_limit_of_a_day_are_named_and_not_fetched() -> None:
    world = world_of(*[picture()] * 3)
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(user_uploads_per_day=2))
    chat_id = text(world, files=2)
    text(world, files=1, sid="SM2")
    assert len(files_in(world, chat_id)) == 2
    assert [media.id for media in world.messages(chat_id)[1].media] == [None]


@pytest.mark.parametrize(
    ("retention", "days"),
    [(None, 30), (Retention(media_days=7), 7), (Retention(message_days=3, media_days=7), 3)],
)
def test_file_is_deleted_with_its_item_when_its_time_is_over(
    retention: Retention | None, days: int
) -> None:
    world = world_of(picture())
    chat_id = text(world)
    world.drain()
    kept = retention.model_dump(exclude_none=True) if retention is not None else {}
    world.app.tenant_settings.change(TENANT, TenantOverridesChange.model_validate(kept))
    text(world, sid="SM2")
    world.drain()
    first, second = files_in(world, chat_id)
    assert second.kept_until == second.created_at + timedelta(days=days)
    world.clock.set(max(file.kept_until for file in (first, second)))
    world.tick()
    world.run_ready()
    assert files_in(world, chat_id) == []
    assert world.files.contents == {}


def test_file_whose_item_was_deleted_meanwhile_leaves_nothing() -> None:
    world = world_of(picture())
    chat_id = text(world)
    [job] = media_jobs(world)
    [file] = files_in(world, chat_id)
    world.files.contents = dict.fromkeys(file.file_names, b"left by a worker that died")
    world.app.get(MediaDeletion).delete(file)
    world.files.contents = {file.file_name: b"written after the deletion"}
    world.handle(job)
    assert world.files.contents == {}
