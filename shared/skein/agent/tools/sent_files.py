"""Find the files and documents that a call of `send_message` names."""

from collections.abc import Sequence

from skein.errors import Failed, NotFound
from skein.interface.tool_context import ToolContext
from skein.media.copies import NUMBERED, PREFIX, DocumentText, Original
from skein.services.common.quoting import quoted
from skein.workspace.documents import Documents
from skein.workspace.tools.common import document_reach, file_of_chat

NO_FILE = "nothing was sent: this chat has no file {}"


def originals_named(call: ToolContext, names: Sequence[str]) -> list[Original]:
    """Return the files and documents that a call names; files must be in the active chat.

    The agent counts as having read all named files and documents. If the call then posts in a chat
    whose readers may not see one of these files or documents, the post is refused.

    Raises:
        Failed: A file or document does not exist.
        Forbidden: The readers of the prompt may not see a file.
    """
    return [_original(call, name) for name in names]


def _original(call: ToolContext, name: str) -> Original:
    try:
        if name.startswith(PREFIX) or NUMBERED.fullmatch(name):
            return file_of_chat(call, name)
        document = call.service(Documents).get(document_reach(call), name)
    except NotFound:
        raise Failed(NO_FILE.format(quoted(name))) from None
    call.activation.add_items([document])
    return DocumentText(document.text, document.authors)
