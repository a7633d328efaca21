"""Requests and resources of the HTTP API: choices, their answers, and what they led to."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from skein.models.api.base import MAX_SEQ, CreatedAt, IdOfAgent, IdOfChat, Page, Request, Resource
from skein.models.chats.chat import MAX_TEXT, Via
from skein.models.chats.choice import Choice, ChoiceStatus, Option
from skein.models.chats.consent import Consent, PostFailure, PostStatus
from skein.models.common.base import Instant
from skein.models.common.json_types import NUMBER

Options = Annotated[
    tuple[Option, ...], Field(description="The fixed answers; empty for an answer in words.")
]
ChoicePurpose = Literal[
    "question", "consent", "tool", "invitation", "number", "forgetting", "errand"
]
"""The purposes of questions, whose effects `skein/interface/extensions.py` lists."""
Purpose = Annotated[ChoicePurpose, Field(description="Who asks, and why.")]
Question = Annotated[
    str,
    Field(
        description="The question, without its options: plain text that each client shows as it is."
    ),
]
ExpiresAt = Annotated[Instant, Field(description="When the question can be answered no more.")]


class NewAnswer(Request):
    """An answer to a choice: an option, or words for a question without options."""

    seq: Annotated[
        int, Field(ge=1, le=MAX_SEQ, description="The `seq` of the question in this chat."), NUMBER
    ]
    option: Annotated[
        str | None, Field(min_length=1, max_length=40, description="The id of the chosen option.")
    ] = None
    text: Annotated[
        str | None, Field(min_length=1, max_length=MAX_TEXT, description="The answer in words.")
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.option is None) == (self.text is None):
            raise ValueError("give either option or text, not both")
        return self


class ChoiceAnswerResource(Resource):
    """The answer to a choice."""

    option: Annotated[
        str | None, Field(description="The id of the option; null for an answer in words.")
    ]
    seq: Annotated[int, Field(description="The `seq` of the message that answered.")]
    at: Annotated[Instant, Field(description="When the person answered.")]


class ChoiceResource(Resource):
    """A question to one person; code, and no model, matches the person's answer with it."""

    question: Question
    options: Options
    addressee: Annotated[str, Field(description="The id of the person who may answer.")]
    purpose: Purpose
    expires_at: ExpiresAt
    status: Annotated[ChoiceStatus, Field(description="Whether the question can be answered.")]
    answer: Annotated[ChoiceAnswerResource | None, Field(description="Null without an answer.")]
    repeats: Annotated[
        int | None,
        Field(
            description="For a repetition, the `seq` of the question; an answer to either counts."
        ),
        NUMBER,
    ]

    @classmethod
    def shown(cls, choice: Choice, now: datetime) -> Self:
        """Build the resource of a choice, with its status at a time."""
        made = {
            "status": choice.status(now),
            "answer": ChoiceAnswerResource.of(choice.answer) if choice.answer else None,
        }
        shared = {name: getattr(choice, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)


class ViaResource(Resource):
    """The agent whose words a person agreed to post."""

    agent_id: IdOfAgent
    agent_name: Annotated[str, Field(description="The name of the agent.")]
    choice_seq: Annotated[
        int | None,
        Field(description="The `seq` of the choice, if it is in this chat; null elsewhere."),
    ]

    @classmethod
    def shown(cls, via: Via, chat_id: str) -> Self:
        """Build the resource for readers of `chat_id`; a choice in another chat is left out."""
        here = via.chat_id == chat_id
        return cls(
            agent_id=via.agent_id,
            agent_name=via.agent_name,
            choice_seq=via.choice_seq if here else None,
        )


class ConsentPostResource(Resource):
    """One chat of a consent, and whether the words were posted in it."""

    chat_id: IdOfChat
    title: Annotated[str, Field(description="The title as the question showed it.")]
    status: Annotated[PostStatus, Field(description="Whether the words were posted.")]
    seq: Annotated[
        int | None, Field(description="The `seq` of the message with the words; null without one.")
    ]
    failure: Annotated[
        PostFailure | None, Field(description="Why the words were not posted; null if they were.")
    ]


class ConsentResource(Resource):
    """A person's agreement to words that an agent proposed, and what became of the words."""

    chat_id: IdOfChat
    choice_seq: Annotated[int, Field(description="The `seq` of the question in its chat.")]
    agent_id: IdOfAgent
    agent_name: Annotated[str, Field(description="The name of the agent at the time.")]
    text: Annotated[
        str, Field(description="Exactly the words that are posted; empty once they are deleted.")
    ]
    posts: Annotated[
        tuple[ConsentPostResource, ...], Field(description="The chats that the question named.")
    ]
    created_at: CreatedAt

    @classmethod
    def of(cls, consent: Consent) -> Self:
        posts = tuple(map(ConsentPostResource.of, consent.posts))
        shared = {name: getattr(consent, name) for name in cls.model_fields if name != "posts"}
        return cls(posts=posts, **shared)


class ConsentPage(Page[ConsentResource]):
    """The caller's consents, newest first."""
