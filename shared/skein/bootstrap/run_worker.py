"""Composition of the run worker: runs, prompts and tools."""

from skein.agent.executor import ToolExecutor
from skein.agent.tools.context import ToolServices
from skein.agent.turn import Turns
from skein.agent.turn_steps import ModelSteps
from skein.bootstrap.ports import Ports
from skein.bootstrap.prompting import Prompting
from skein.services.chats.own_chats import OwnChats
from skein.services.chats.post_message import Chats
from skein.services.common.text_search import EmbeddingCache
from skein.services.directory.agents import Agents
from skein.services.directory.display_names import Renaming
from skein.services.directory.lines import Lines
from skein.services.directory.users import Profiles, Users
from skein.services.live.answer_streams import AnswerStreams
from skein.services.memory.memories import Memories
from skein.services.memory.search import MemorySearch
from skein.services.outbox.dispatch import Dispatch
from skein.services.planning.goals import Goals
from skein.services.planning.plans import Plans
from skein.services.planning.quiet_times import QuietTimes
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.quotas.token_budget import TokenBudgets
from skein.services.quotas.usage import UsageCounters
from skein.services.replies.ask_and_wait import Questions
from skein.services.replies.final_message import FinalMessages
from skein.services.replies.user_notices import Apologies, FailureNotices, Notices
from skein.services.runs.activations import Activations
from skein.services.runs.completion import RunCompletion
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.lease import RunLeases
from skein.services.runs.queries import OwnRuns
from skein.services.workspace.document_search import DocumentSearch
from skein.services.workspace.documents import Documents
from skein.services.workspace.skills import Skills
from skein.services.workspace.threads import Threads


class RunWorker:
    """The services of the run worker.

    Attributes:
        turns: The service that takes each job.
        prompting: The services that read for a prompt and build the prompt.
        chats: The service through which every message is posted.
        completion: The service that ends runs.
        leases: The service that claims runs and postpones claimed ones.
        activations: The service that records and rebuilds the activations of claimed runs.
        token_budgets: The limits on model tokens.
        apologies: The service that tells a person, once, that the answer is late.
        tool_services: The services that agents' tools may use.
    """

    def __init__(self, ports: Ports) -> None:
        table, clock, ids, metrics = ports.table, ports.clock, ports.ids, ports.metrics
        settings = ports.settings
        dispatch = Dispatch(queues=ports.queues, metrics=metrics)
        self.prompting = Prompting(ports)

        self.chats = Chats(table=table, clock=clock, ids=ids, dispatch=dispatch, settings=settings)
        self.completion = RunCompletion(
            table=table, clock=clock, ids=ids, dispatch=dispatch, metrics=metrics, settings=settings
        )
        failure_notices = FailureNotices(chats=self.chats, clock=clock)
        self.leases = RunLeases(
            table=table,
            clock=clock,
            dispatch=dispatch,
            metrics=metrics,
            completion=self.completion,
            before_failure=failure_notices.failed,
            settings=settings,
        )
        self.activations = Activations(table=table, clock=clock, metrics=metrics)

        rate_limiter = RateLimiter(table=table, clock=clock, metrics=metrics, settings=settings)
        self.token_budgets = TokenBudgets(table=table, clock=clock, metrics=metrics)
        self.apologies = Apologies(
            chats=self.chats, clock=clock, metrics=metrics, settings=settings
        )

        renaming = Renaming(table=table, dispatch=dispatch)
        usage = UsageCounters(table=table, clock=clock, metrics=metrics)
        meanings = EmbeddingCache(lambda: ports.text_embeddings)
        self.tool_services = ToolServices(
            clock=clock,
            agents=Agents(table=table, clock=clock, ids=ids, renaming=renaming, dispatch=dispatch),
            users=Users(table=table, clock=clock, ids=ids, renaming=renaming),
            profiles=Profiles(table=table, clock=clock),
            lines=Lines(table=table, clock=clock),
            usage=usage,
            chats=self.chats,
            own_chats=OwnChats(table=table),
            questions=Questions(
                table=table,
                clock=clock,
                chats=self.chats,
                completion=self.completion,
                dispatch=dispatch,
                metrics=metrics,
            ),
            completion=self.completion,
            own_runs=OwnRuns(table=table, clock=clock),
            goals=Goals(table=table, clock=clock, ids=ids),
            plans=Plans(table=table, clock=clock),
            quiet_times=QuietTimes(table=table, settings=settings),
            memories=Memories(table=table, clock=clock, ids=ids),
            memory_search=MemorySearch(table=table, clock=clock, meanings=meanings),
            recall=lambda: self.prompting.recall_reader.recall,
            documents=Documents(table=table, clock=clock, ids=ids),
            document_search=DocumentSearch(table=table, meanings=meanings),
            skills=Skills(table=table, clock=clock),
            threads=Threads(table=table, clock=clock, ids=ids, settings=settings),
        )
        self.turns = Turns(
            table=table,
            leases=self.leases,
            activations=self.activations,
            completion=self.completion,
            concurrency_limit=ConcurrencyLimit(table=table, clock=clock),
            context_loader=self.prompting.context_loader,
            prompt_builder=self.prompting.prompt_builder,
            tool_executor=ToolExecutor(self.tool_services),
            model_steps=ModelSteps(
                model=ports.model, clock=clock, metrics=metrics, settings=settings
            ),
            final_messages=FinalMessages(chats=self.chats, completion=self.completion),
            apologies=self.apologies,
            usage=usage,
            token_budgets=self.token_budgets,
            failure_notices=failure_notices,
            notices=Notices(chats=self.chats, rate_limiter=rate_limiter, clock=clock),
            streams=AnswerStreams(
                table=table,
                clock=clock,
                sockets=lambda: ports.sockets,
                background=ports.background,
                parallel_map=ports.parallel_map,
                metrics=metrics,
            ),
            clock=clock,
            settings=settings,
        )
