"""Message templates of the provider, for channels that restrict free text or have quick replies.

The operator creates them at the provider, which approves them and gives each an id. A template has
numbered variables: variable 1 is the text. If there are n quick replies, variables 2 to n + 1 are
their titles, and the next n variables are their ids. See
https://www.twilio.com/docs/content/using-variables-with-content-api.
"""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from skein.models.common.json_types import NUMBER, JsonBool

MAX_TEMPLATES = 50
MAX_BODY = 1_024  # characters of a template including its text
VARIABLE = "{{1}}"


ContentSid = Annotated[str, StringConstraints(pattern=r"^HX[0-9a-fA-F]{32}$")]


TemplateOfText = Annotated[
    ContentSid | None,
    Field(
        description="The `content_sid` of one of `message_templates`, for a channel on which no "
        "text may be sent then; null: the first one that fits."
    ),
]


class MessageTemplate(BaseModel):
    """A template of the SMS provider, for messages that may not be sent as free text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content_sid: Annotated[
        ContentSid,
        Field(description="The provider's id of the template (`ContentSid`)."),
    ]
    text: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_BODY),
        Field(
            description="The body, as the provider has it; `{{1}}` stands for the message. Without "
            "`{{1}}`, a reply of MORE gets the message."
        ),
    ]
    buttons: Annotated[
        int, Field(description="Number of quick replies; 0 for none.", ge=0, le=3), NUMBER
    ] = 0
    approved: Annotated[
        JsonBool,
        Field(description="Whether it is approved for use outside the window of 24 hours."),
    ] = False

    @property
    def free_characters(self) -> int:
        """The maximum length of a message in this template; 0 if the template has no variable."""
        return MAX_BODY - len(self.text) + len(VARIABLE) if VARIABLE in self.text else 0

    def body(self, message: str) -> str:
        return self.text.replace(VARIABLE, message)


def in_one_line(text: str) -> str:
    """Return a text in the form of a variable: without line breaks, tabs and repeated spaces."""
    return re.sub(r"\s+", " ", text).strip()
