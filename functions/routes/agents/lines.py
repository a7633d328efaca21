"""Routes of phone lines, for operators."""

from operator import attrgetter

from routes.app import PhoneNumber
from routes.crud import Crud, in_tenant
from skein.models.api.directory import LineChange, LinePage, LineResource, NewLine
from skein.models.directory.line import Line
from skein.services.directory.lines import Lines

router = Crud(
    "lines",
    "line",
    "/v1/lines/<phone>",
    PhoneNumber,
    parent=in_tenant,
    service=Lines,
    shown=LineResource,
    made="phone",
    writes="owner",
)

router.creates(
    NewLine,
    "Connect a phone number to an agent",
    409,
    item=Line,
    id_of=attrgetter("phone"),
    about="The number must be assigned to the tenant by the deployment's owner, and belong to the "
    "account at the SMS provider. A number that is a person's phone is refused.",
)
router.lists(LinePage, "List lines by number", about="Each line names its agent.")
router.gets("Get a line", about="The phone number is in E.164 form.")
router.changes(
    LineChange, "Update a line", about="Existing chats of the line stay with their agent."
)
router.deletes(
    "Delete a line", about="Its chats stay. The tenant keeps the number for at least 30 days."
)
