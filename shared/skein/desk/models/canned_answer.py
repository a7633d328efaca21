"""Canned answers: texts that a tenant keeps for its team at the desk."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.base import Instant, Stored, Tenant, key_part
from skein.models.common.storage import Key, SortKeyPrefix

MAX_ANSWERS = 200  # per tenant
MAX_ANSWER = 4_000

ShortName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]


class CannedAnswerFields(BaseModel):
    """The text of a canned answer."""

    text: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ANSWER),
        Field(
            description="The text. The console replaces `{name}` with the names of the people in "
            "the chat."
        ),
    ]


class CannedAnswer(CannedAnswerFields, Stored):
    """A text of a tenant that the team chooses by its name.

    Attributes:
        version: The optimistic lock: every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("ANSWER#")

    tenant: Tenant
    name: ShortName
    version: int = 1
    updated_at: Instant

    @staticmethod
    def key_of(tenant: str, name: str) -> "Key[CannedAnswer]":
        return Key(answers_partition(tenant), f"{CannedAnswer.PREFIX}{key_part(name)}")

    @property
    def key(self) -> "Key[CannedAnswer]":
        return self.key_of(self.tenant, self.name)


def answers_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#ANSWERS"
