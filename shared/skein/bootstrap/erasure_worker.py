"""Composition of the erasure worker."""

from skein.bootstrap.live import build_live_connections
from skein.bootstrap.ports import Ports
from skein.services.outbox.dispatch import Dispatch
from skein.services.privacy.erasure_agent_data import KeptEraser
from skein.services.privacy.erasure_look_ups import LookUpEraser
from skein.services.privacy.erasure_memberships import MembershipErasure
from skein.services.privacy.erasure_messages import ChatEraser, DeletedMessageEraser
from skein.services.privacy.erasure_register import ErasureRegister
from skein.services.privacy.erasure_run_search import RunSearch
from skein.services.privacy.erasure_runs import RunEraser
from skein.services.privacy.erasure_worker import Eraser
from skein.services.recall.block_commit import BlockCommits
from skein.services.recall.pruning import BlockPruning
from skein.services.runs.completion import RunCompletion
from skein.services.workspace.documents import Documents


def build_eraser(ports: Ports) -> Eraser:
    """Build the service that carries out erasures in sweeps."""
    table, clock, ids, settings = ports.table, ports.clock, ports.ids, ports.settings
    dispatch = Dispatch(queues=ports.queues, metrics=ports.metrics)
    completion = RunCompletion(
        table=table,
        clock=clock,
        ids=ids,
        dispatch=dispatch,
        metrics=ports.metrics,
        settings=settings,
    )
    runs = RunEraser(table=table, completion=completion)
    search = RunSearch(table=table, runs=runs)
    commits = BlockCommits(table=table, clock=clock)
    blocks = BlockPruning(table=table, clock=clock, commits=commits)
    return Eraser(
        table=table,
        clock=clock,
        dispatch=dispatch,
        register=ErasureRegister(table=ports.erasure_register),
        memberships=MembershipErasure(table=table, clock=clock, completion=completion),
        chats=ChatEraser(table=table, runs=runs, blocks=blocks),
        messages=DeletedMessageEraser(table=table, runs=runs, search=search, blocks=blocks),
        kept=KeptEraser(
            table=table,
            clock=clock,
            documents=Documents(table=table, clock=clock, ids=ids),
            settings=settings,
        ),
        runs=search,
        look_ups=LookUpEraser(table=table),
        connections=build_live_connections(ports),
    )
