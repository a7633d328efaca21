"""Routes of canned answers, which the team uses at the desk (function `admin_api`)."""

from operator import attrgetter
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.crud import Crud, in_tenant
from skein.desk.api import (
    CannedAnswerChange,
    CannedAnswerPage,
    CannedAnswerResource,
    NewCannedAnswer,
)
from skein.desk.canned_answers import CannedAnswers
from skein.desk.models.canned_answer import CannedAnswer, ShortName

AnswerName = Annotated[ShortName, Path(description="The name of a canned answer.")]

router = Crud(
    "desk",
    "desk",
    "/v1/canned-answers/<answer_name>",
    AnswerName,
    name="canned_answer",
    parent=in_tenant,
    service=CannedAnswers,
    shown=CannedAnswerResource,
    made="name",
)

router.creates(
    NewCannedAnswer,
    "Create a canned answer",
    409,
    item=CannedAnswer,
    id_of=attrgetter("name"),
    about="All members of the team can use it. A tenant has at most 200.",
)
router.lists(
    CannedAnswerPage,
    "List canned answers by name",
    about="The list contains the full texts.",
)
router.gets("Get a canned answer", about="The text is returned as stored, with its placeholders.")
router.changes(
    CannedAnswerChange,
    "Update a canned answer",
    about="Changes the text. To change the name, create a new one and delete the old one.",
)
router.deletes("Delete a canned answer", about="Messages that were sent with it are kept.")
