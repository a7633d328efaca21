"""Routes that read and post messages, mark them as read and ask agents to respond."""

from aws_lambda_powertools.event_handler import Response

from routes.app import After, Before, ChatId, Limit, PageCursor, RunId, Seq
from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import app, service
from skein.errors import Unprocessable
from skein.media.uploads import MediaUploads
from skein.models.api.chats import (
    MessagePage,
    MessageResource,
    NewChatMessage,
    ReadReceipt,
    ReadState,
    RespondNow,
)
from skein.models.api.runs import RunPage, RunResource
from skein.models.runs.run import Run
from skein.privacy.message_deletion import MessageDeletion
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.post_message import NewMessage, PostedMessage
from skein.services.chats.posted_media import files_of
from skein.services.chats.views import ChatViews
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from skein.services.choices.typed_answers import TypedAnswers
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.runs.ending_waits import EndingWaits
from skein.services.runs.manual_trigger import ManualTrigger
from skein.web_chat.messages import VisitMessages

router = ApiRouter("messages", Unaudited(CONVERSATION))


@router.get("/v1/chats/<chat_id>/messages", "List messages, oldest first within a page")
def list_messages(
    chat_id: ChatId,
    after: After = None,
    before: Before = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> MessagePage:
    """With `after`, further pages lead to newer messages; otherwise, to older ones."""
    caller = router.caller
    page = service(ChatViews).messages(
        caller.tenant,
        caller.user_id,
        chat_id,
        after=after,
        before=before,
        limit=limit,
        cursor=cursor,
    )
    files = files_of(app().ports.table, page.items)
    return MessagePage.of(page, app().ports.clock.now(), files)


@router.post(
    "/v1/chats/<chat_id>/messages", "Post a message", 409, repeated="The message already exists."
)
def post_message(chat_id: ChatId, new: NewChatMessage) -> tuple[MessageResource, int]:
    """Repeating a `client_id` returns the existing message (idempotent).

    With `choice`, the message answers a question. The status is 403 if the question is for another
    person, and 409 if it has been answered or has expired, or the agent that asked has left.
    """
    caller = router.caller
    if caller.visit is not None:
        if new.media:
            raise Unprocessable("visitors send no pictures or files")
        if new.choice is not None:
            service(VisitMessages).admit(caller.visit)
    if new.choice is not None:
        posted = service(Answering).answer_in_app(
            GivenAnswer(
                tenant=caller.tenant,
                chat_id=chat_id,
                person_id=caller.user_id,
                client_id=new.client_id,
                **new.choice.model_dump(),
            )
        )
        return _shown(posted)
    post = NewMessage(
        tenant=caller.tenant,
        chat_id=chat_id,
        sender=caller.person.ref,
        text=new.text or "",
        client_id=new.client_id,
        reply_to=new.reply_to,
    )
    if caller.visit is not None:
        return _shown(service(VisitMessages).post(caller.visit, post))
    if not new.media:
        return _shown(service(TypedAnswers).post_in_app(post))
    post, writes = service(MediaUploads).attach(post, new.media)
    return _shown(service(AppMessages).post(post, extra_writes=writes))


def _shown(posted: PostedMessage) -> tuple[MessageResource, int]:
    files = files_of(app().ports.table, [posted.message])
    message = MessageResource.of(posted.message, app().ports.clock.now(), files)
    return message, 201 if posted.created else 200


@router.delete("/v1/chats/<chat_id>/messages/<seq>", "Delete your own message", audit="message")
def delete_message(chat_id: ChatId, seq: Seq) -> Response[None]:
    """The message keeps its `seq`, with the kind `deleted` and an empty text (idempotent)."""
    caller = router.caller
    service(MessageDeletion).delete(caller.tenant, caller.person.ref, chat_id, seq)
    return no_content()


@router.post("/v1/chats/<chat_id>/read", "Mark messages as read", status=200)
def mark_read(chat_id: ChatId, receipt: ReadReceipt) -> ReadState:
    """The read mark never moves back, and never past the last message."""
    caller = router.caller
    own = service(ChatViews).read(caller.tenant, caller.user_id, chat_id, receipt.seq)
    return ReadState(seen_seq=own.membership.seen_seq, unread=own.unread)


@router.post(
    "/v1/chats/<chat_id>/runs",
    "Request a response from agents",
    409,
    status=202,
    keyed=True,
    tag="runs",
)
def respond_now(chat_id: ChatId, wish: RespondNow) -> RunPage:
    """All agents respond in the order of their ids, each after the previous run has ended.

    In this response, `error`, the reasons and `trigger.traced_to` are empty: only operators see
    them.
    """
    caller = router.caller
    service(RateLimiter).admit(caller.tenant, caller.user_id)
    trigger = service(ManualTrigger)
    run = router.once(
        Run,
        lambda: trigger.now(caller.tenant, chat_id, caller.person.ref, agent_id=wish.agent_id),
        lambda run_id: trigger.started(caller.tenant, run_id),
    )
    return RunPage(items=(RunResource.for_members(run),), next_cursor=None)


@router.delete(
    "/v1/chats/<chat_id>/runs/<run_id>", "Stop your own waiting run", 409, tag="runs", audit="run"
)
def stop_waiting_run(chat_id: ChatId, run_id: RunId) -> Response[None]:
    """Only the person whose message the run answers can stop it. Messages it has sent stay."""
    caller = router.caller
    service(EndingWaits).stop(caller.tenant, chat_id, caller.user_id, run_id)
    return no_content()
