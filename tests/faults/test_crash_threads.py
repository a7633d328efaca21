"""Threads begun, taken up, carried on and completed, with a death at every single call."""

from skein.agent.tools import TOOLS
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import Authors
from skein.settings import Settings
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.models.thread import Thread, ThreadRunLink
from tests.faults.deployment import Deployment, Phone, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT, bot, live, person
from tests.support.fakes import Calls, ScriptedModel, calls

PAIRS = 12
OWNER = Owner(tenant=TENANT, agent_id="agt_a", authors=Authors.in_digests([person().id]))
FOLDER = Folder(tenant=TENANT, agent_id="agt_a")


class AtWork(Deployment):
    """An agent that begins a thread, takes it up, works at it, and completes another one.

    What it says next follows from what it was told, so a question that is asked again gets the same
    answer.
    """

    def __init__(self) -> None:
        super().__init__(Settings(), ScriptedModel.saying(default=self._next))
        self.agent(reply_mode="tools", history_format="timeline", enabled_tools=tuple(TOOLS))
        self.chat(person(), bot(), respond="every")
        reach = DocumentReach(folders=(FOLDER,))
        self.app.documents.write(reach, "plan.md", "# Q4", new_in=FOLDER)
        self.old = self.app.threads.create(OWNER, {"concern": "The Q3 report"})
        self.app.threads.switch(OWNER.reach, self.old.id)

    def _next(self, request: ModelRequest) -> Calls:
        told = [message.content for message in request.messages if message.role == "tool"]
        new = {"concern": "The Q4 report", "documents": ["plan.md"]}
        if not told:
            return calls(("create_thread", new))
        thread_id = told[0].split("id: ")[1].split(";")[0]
        old = {"thread_id": self.old.id, "outcome": "completed", "evidence": "It is sent"}
        story = [
            calls(("switch_thread", {"thread_id": thread_id})),
            calls(
                ("update_thread", {"progress": "Half"}),
                ("update_thread", {"add_skills": ["planning"]}),
            ),
            calls(("end_thread", old)),
        ]
        after = {1: story[0], 2: story[1], 4: story[2]}
        return after.get(len(told), calls("end_run"))

    def play(self) -> None:
        Phone(self).say("Go on")
        self.live()

    def check(self) -> None:
        [thread] = live(self.app.threads, OWNER.reach)
        assert (thread.concern, thread.documents) == ("The Q4 report", ("plan.md",))
        assert (thread.progress, thread.bound_skills) == ("Half", ("planning",))
        assert thread.version == 3  # begun, noted and bound, each once
        assert self.app.threads.active_id(OWNER.reach) == thread.id
        ended = self.app.threads.get(OWNER.reach, self.old.id)
        assert (ended.status, ended.evidence) == ("completed", "It is sent")
        [run] = self.runs()
        assert (run.status, run.active_thread_id) == ("done", thread.id)
        for each in (thread, ended):
            assert self._run_link(each, run)
        assert run.tools == (
            "create_thread",
            "switch_thread",
            "update_thread",
            "end_thread",
            "end_run",
        )

    def _run_link(self, thread: Thread, run: Run) -> bool:
        key = ThreadRunLink.key_of(TENANT, "agt_a", None, thread.id, run.id, 1)
        return self.table.get(key) is not None


SWEEP = Sweep(AtWork, AtWork.play, AtWork.check)


def test_thread_changes_death_are_made_once(share: FaultShare) -> None:
    SWEEP.one_death(share)


def test_thread_changes_second_death_are_made_once(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="threads", of=every_death)
