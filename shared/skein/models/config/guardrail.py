"""A guardrail, which checks what goes into a model and what comes out of it."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.models.common.base import Value

PYTHON = "python:"  # the id of a guardrail that is a Python package begins so


class Guardrail(Value):
    """A guardrail of Amazon Bedrock, or of a package with the entry point `skein.guardrails`."""

    id: Annotated[
        str,
        StringConstraints(pattern=r"^(?:[a-z0-9]{1,64}|arn:[^\s]{1,2000}|python:[\w.-]{1,100})$"),
        Field(description="Its id or ARN; `python:` and a name for an entry point."),
    ]
    version: Annotated[
        str,
        StringConstraints(pattern=r"^(?:[1-9][0-9]{0,7}|DRAFT)$"),
        Field(description="Its version; an entry point ignores it."),
    ] = "DRAFT"
    text: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=320),
        Field(description="What a person reads in place of an answer that was blocked."),
    ] = "Sorry, I can't help with that."
