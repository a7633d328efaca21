"""An agent that writes, appends to, edits and deletes documents, with a death at every single call.

The model never gives the same answer twice, so what is written twice, or left out, shows.
"""

import re

from skein.workspace.models.document import Document, DocumentReach, Folder, PinnedDocuments
from tests.faults.deployment import Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.team_story import START, Do, Team, send
from tests.support.builders import TENANT

OWN = Folder(tenant=TENANT, agent_id="agt_a")
OF_CHAT = Folder(tenant=TENANT, chat_id="chat_1")


def write(name: str, text: str, **others: object) -> Do:
    return "write_document", {"name": name, "text": text, **others}


class Writing(Team):
    """Somebody asks for something; the agent writes it down here and there."""

    def __init__(self) -> None:
        super().__init__(
            {
                "start": [
                    [
                        write("log", "<made", pinned=True),
                        ("append_document", {"name": "log", "text": "> <first"}),
                        write("agenda", "<agenda", in_chat=True),
                        write("draft", "<draft", pinned=True),
                    ],
                    [
                        ("append_document", {"name": "log", "text": "> <second"}),
                        ("edit_document", {"name": "log", "find": "made", "replace": "begun"}),
                        ("append_document", {"name": "agenda", "text": "> <point"}),
                        ("delete_document", {"name": "draft"}),
                        send("Done"),
                    ],
                    [],
                ]
            },
            {"chat_1": [START, "Done"]},
        )

    def play(self) -> None:
        Phone(self).say(START)
        self.live()

    def words(self, folder: Folder, name: str) -> list[str]:
        """What was written, in order, without the numbers of the answers."""
        document = self.app.documents.get(DocumentReach(folders=(folder,)), name)
        return re.findall(r"<(\w+) #\d+", document.text)

    def check(self, *, lost_answers: int = 0) -> None:
        super().check(lost_answers=lost_answers)
        assert self.words(OWN, "log") == ["begun", "first", "second"]
        assert self.words(OF_CHAT, "agenda") == ["agenda", "point"]
        [log] = self.app.documents.list(OWN).items
        assert (log.name, log.version) == ("log", 4)
        pins = PinnedDocuments.from_optional(self.table.get(OWN.pins_key))
        assert pins.documents == (log.id,)
        assert self.stored_chat().documents == (Document.id_of("agenda"),)


def test_document_changes_death_are_made_once(share: FaultShare) -> None:
    sweep = Sweep(Writing, Writing.play, check=lambda world: world.check(lost_answers=world.deaths))
    sweep.one_death(share)
