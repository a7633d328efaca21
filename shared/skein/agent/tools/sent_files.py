"""The files and documents that a call of `send_message` names, if the agent may show them."""

from collections.abc import Sequence

from skein.errors import Failed, NotFound
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.interface.tool_context import ToolContext
from skein.media.copies import NUMBERED, PREFIX, DocumentText, Original
from skein.services.common.quoting import quoted
from skein.workspace.documents import Documents
from skein.workspace.tools.common import document_reach, file_of_chat
from skein.workspace.tools.documents import list_documents, read_document

NO_FILE = "nothing was sent: this chat has no file {}"


def may_send_files(reading: Reading) -> bool:
    """Tell whether there may be files that an agent can send."""
    names = {list_documents.name, read_document.name}
    documents = not names.isdisjoint(reading.agent.enabled_tools)
    return documents or any(message.media for message in reading.of(History).messages)


def originals_named(call: ToolContext, names: Sequence[str]) -> list[Original]:
    """Return the files of the active chat, and the documents, that a call names.

    What is returned counts as shown to the activation, so that the post is refused where its words
    would be.

    Raises:
        Failed: There is no such file or document.
        Forbidden: The readers of the prompt may not see the file.
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
