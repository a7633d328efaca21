"""Local stack: all of Skein on one machine, wired from `template.yaml`.

    with Stack(Config(port=0, data_dir=tmp_path, openai_base_url=model.base_url)) as stack:
        requests.get(f"{stack.url}/healthz")

A process can run only one stack at a time, because handlers find their app in `skein.bootstrap`.
"""

import fcntl
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from local.config import LOOPBACK, Config
from local.day.actors import TENANT as DAY_TENANT
from local.day.recorded_day import SMS_FILE, RecordedDay
from local.demo import LINE, TENANT, make_demo
from local.environment import (
    AUDIENCE,
    SECRETS,
    LocalSecrets,
    StackEnvironment,
    lambda_environment,
)
from local.errors import DataInUseError, PortInUseError
from local.events import Request, Response
from local.files import write_whole
from local.folders import URL_FILE, running_url
from local.functions import MAX_CONCURRENCY, Functions, Invoker
from local.interrupted_runs import hand_over_at_stop, hand_over_runs
from local.log_file import PRIVATE
from local.message_log import MessageLog, show_sms_received, show_sms_sent
from local.mobile_push import LocalPush
from local.model.check import ModelCheck
from local.model.reporting import ModelApi, ReportingModel
from local.model.server import SETTINGS as MODEL_SETTINGS
from local.model.server import LocalModel
from local.permissions import (
    Permissions,
    PermittedFiles,
    PermittedPush,
    PermittedQueues,
    PermittedSecrets,
    PermittedSockets,
    PermittedTable,
    PermittedVectors,
)
from local.polling.feed import FeedPoller, feed_sources
from local.polling.inbox import Inbox, PolledQueue
from local.polling.poller import Poller
from local.polling.queue_depths import QueueDepths
from local.python_agent import PythonAgent
from local.python_tools import load_tools, make_tools
from local.sqlite.engine import Adapters, SqliteEngine
from local.stored_files import PREFIX as FILES_PREFIX
from local.stored_files import LocalFiles
from local.template import NUMBERS, REGISTER, Template
from local.timing.clock import TurnableClock
from local.timing.clock_control import ClockControl
from local.timing.due_events import DueEvents
from local.timing.due_index import DueIndex
from local.timing.schedules import Schedules
from local.timing.waiting import WaitingWork
from local.twilio.media import MediaStore
from local.twilio.no_answer import NoAnswer
from local.twilio.registered import RegisteredSenders
from local.twilio.sandbox import TwilioSandbox
from local.twilio.sms_log import SmsLog
from local.twilio.webhooks import PREFIX as TWILIO_PREFIX
from local.twilio.webhooks import TwilioWebhooks
from local.warm_up import WarmUp
from local.web.access import LocalAccess, refused
from local.web.authorizer import Authorizer
from local.web.chat_page import PATH as CHAT_PAGE
from local.web.chat_page import ChatPage
from local.web.cors import Cors, own_origins
from local.web.developer_api import PREFIX as DEVELOPER_PREFIX
from local.web.developer_api import DeveloperApi
from local.web.gateway import Gateway
from local.web.issuer import LocalIssuer, Person
from local.web.live_server import LiveServer
from local.web.server import Server
from local.web.token_signer import TokenSigner
from skein import bootstrap
from skein.adapters.identity_provider import OpenIdProvider
from skein.adapters.model_providers import AdapterParts, ProviderModels, adapted_models
from skein.adapters.openai.model import LIBRARIES, OpenAIModel
from skein.ports import Clock, LanguageModel, ModelList, Sockets
from skein.services.chats.message_reasons import ReasonViews
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.services.directory.users import Users
from skein.services.replies.noticed_leases import NoticedLeases
from skein.settings import Settings

if TYPE_CHECKING:
    from skein.adapters.aws.clients import Aws

CLOCK_FILE = "clock"
STOP_SECONDS = 3.0
NEXT_PORTS = 10  # how many ports are tried, if the user has chosen none
NO_KEY = "none"
FILES_FOLDER = "media"
KEY_FILE = "signing-key.pem"  # signs the tokens of the local issuer
MAX_PEOPLE = 20  # shown on the sign-in page
LOCAL_SETTINGS = {"SKEIN_MODEL_RETRY_MAX_SECONDS": "60"}  # someone watches, and calls are cheap

logger = logging.getLogger(__name__)


class Stack:
    """The local stack. As a context manager, it starts and stops.

    Args:
        agent: The agent of a Python file, which gets the line; by default, the demo's agent Coach.
        template: A template that is already loaded; by default, the stack loads the template that
            `config` names.
        inbox: Wraps the inbox of the queues, so that a test can change how messages are delivered.
        model: Wraps the language model.
        max_concurrency: The maximum number of batches of a queue that are handled at once.
        step: Called with the name of each step of the start, when the step begins.
    """

    _libraries: Sequence[str] = LIBRARIES  # imported in the background, for the first message

    def __init__(
        self,
        config: Config,
        *,
        agent: PythonAgent | None = None,
        template: Template | None = None,
        inbox: Callable[[Inbox, Clock], Inbox] = lambda inbox, _: inbox,
        model: Callable[[LanguageModel], LanguageModel] = lambda model: model,
        max_concurrency: int = MAX_CONCURRENCY,
        step: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self.agent = agent
        self._step = step
        self._inbox = inbox
        self._wrapped_model = model
        self._max_concurrency = max_concurrency
        self.template = template or Template.load(config.template)
        self.url = ""
        self.model = ""
        self._clock: TurnableClock | None = None
        self._parts = ExitStack()
        self._access: LocalAccess
        self._check: ModelCheck | None = None
        self._answer: Callable[[Request], Response]

    def start(self) -> None:
        """Start the stack and return when its server answers requests.

        On failure, all parts that were already started are stopped.

        Raises:
            LocalError: A part could not be started; the message is one line for the user.
        """
        with ExitStack() as parts:
            self._start(parts)
            self._parts = parts.pop_all()

    def check_model(self) -> None:
        """Check the model's API in the background, and log problems. Call this only once."""
        if self._check is not None:
            self._check.start()

    @property
    def ahead(self) -> timedelta:
        """The offset of the clock from real time."""
        return self._clock.ahead if self._clock else timedelta(0)

    def stop(self) -> None:
        """Stop the stack and keep its data (idempotent)."""
        self._parts.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def respond(self, request: Request) -> Response:
        """Answer an HTTP request, as the server does."""
        if request.path.startswith(DEVELOPER_PREFIX) and not self._access.allows(request):
            return refused()
        return self._answer(request)

    def listen(self) -> Server:
        """Listen on the configured port.

        If the user chose no port and the default is in use, listen on the next free port.
        """
        port = self.config.port
        *first, last = range(port, port + (NEXT_PORTS if self.config.next_port else 1))
        for each in first:
            with suppress(PortInUseError):
                return Server(each, self.respond, host=self.config.host)
        return Server(last, self.respond, host=self.config.host)

    def _functions(
        self, parts: ExitStack, engine: SqliteEngine, environment: StackEnvironment
    ) -> Invoker:
        """Create the invoker that runs the handlers.

        An override registers in `parts` everything that must stop with the stack.
        """
        return Functions(self.template.functions)

    def _model_list(self, model: OpenAIModel) -> ModelList:
        """Return the port that lists the models of the provider."""
        return model

    def _sockets(self, server: LiveServer) -> Sockets:
        """Return the port with which handlers use the connections of the live channel."""
        return server

    def _wired(self, engine: SqliteEngine, poller: Poller, clock: TurnableClock) -> None:
        """Hook for subclasses, called when all parts are wired and none is running."""

    def _start(self, parts: ExitStack) -> None:
        folder = self.config.data_dir
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        _lock(folder / "lock", parts)
        server = self.listen()
        parts.callback(server.stop)
        self._access = LocalAccess(server.port)
        self.url = f"http://{LOOPBACK}:{server.port}"
        write_whole(folder / URL_FILE, self.url.encode())

        parts.enter_context(lambda_environment({}))
        if self.config.uses_local_model:
            self._step("starting the small model")
        model = LocalModel(folder / "model") if self.config.uses_local_model else None
        if model is not None:
            parts.callback(model.stop)
        self._step("opening the data")
        engine = SqliteEngine(folder)
        parts.callback(engine.stop)
        names = engine.start(self.template)
        sms_log = SmsLog(folder / SMS_FILE)
        day = RecordedDay(folder, engine.database, sms_log)
        parts.callback(day.stop)
        if self.config.day:
            self._step("preparing the recorded day, which goes on in the background")
            day.play(TurnableClock(folder / CLOCK_FILE).ahead)
        live_server = LiveServer(self.config.live_port, host=self.config.host)
        parts.callback(live_server.stop)
        environment = StackEnvironment(
            base_url=self.url,
            live_url=live_server.url,
            model_url=model.wait() if model else self.config.openai_base_url,
            names=names,
            chosen={
                **LOCAL_SETTINGS,
                **(MODEL_SETTINGS if model else {}),
                **self.config.settings,
            },
        )
        parts.enter_context(lambda_environment(environment.variables(self.template)))
        self._step("loading the functions")
        use_new_app = self._wire(parts, engine, environment, live_server, sms_log, day)
        functions = load_tools(folder)
        server.start()
        parts.callback(server.stop)
        # Creating the line asks the Twilio sandbox, which is behind the server.
        if self.agent:
            self._step(f"creating the agent {self.agent.name} and its tools")
            self.agent.serve(bootstrap.app(), folder)
        else:
            self._step("creating the agent Coach and the demo's tools")
            make_demo(bootstrap.app())
            make_tools(bootstrap.app(), functions)
        warm_up = WarmUp(bootstrap.app(), self._libraries)
        parts.callback(warm_up.stop)
        warm_up.start()
        day.copy(use_new_app)

    def _wire(
        self,
        parts: ExitStack,
        engine: SqliteEngine,
        environment: StackEnvironment,
        live_server: LiveServer,
        sms_log: SmsLog,
        day: RecordedDay,
    ) -> Callable[[], None]:
        """Wire and start all parts behind the server; return a function that empties the caches."""
        folder, template = self.config.data_dir, self.template
        clock = self._clock = TurnableClock(folder / CLOCK_FILE)
        settings = environment.settings(template)
        self.model = settings.default_model
        adapters, account = engine.adapters(settings, clock), engine.twilio_account()
        push = LocalPush(clock)
        files = LocalFiles(folder / FILES_FOLDER, self.url, clock)
        signer = TokenSigner(
            folder / KEY_FILE,
            issuer=environment.issuer,
            audience=AUDIENCE,
            other=_provider(settings, environment),
            now=lambda: clock.now().timestamp(),
        )
        use_new_app = self._app_maker(
            parts,
            settings,
            clock,
            adapters,
            account["account_sid"],
            live_server,
            push,
            files,
            signer,
        )
        use_new_app()
        parts.callback(bootstrap.use, None)

        functions = self._functions(parts, engine, environment)
        callers, cache_seconds = template.authorizer
        gateway = Gateway(
            template.functions,
            functions=functions,
            authorizer=Authorizer(callers, functions, clock, cache_seconds=cache_seconds),
            clock=clock,
            cors=Cors.of(template, self.config.cors_origins, every=not self.config.cors_origins),
        )
        live_server.start(template.socket_routes, functions)
        sms_files = MediaStore(folder / "texts-files", self.url)
        webhooks = TwilioWebhooks(account, base_url=self.url, send=gateway.answer)
        numbers = AssignedNumbers(
            numbers=adapters.assigned_numbers, table=adapters.table, clock=clock
        )
        registered = RegisteredSenders(adapters.table, numbers)
        sandbox = TwilioSandbox(
            sms_log,
            account=account,
            webhooks=webhooks,
            media=sms_files,
            clock=clock,
            on_sms=show_sms_sent,
            senders=registered.senders,
            templates=registered.template,
        )
        poller = self._poller(engine, environment, functions, clock)
        feed = _feed(engine, template, functions, clock)
        due_index = DueIndex(adapters.table)
        schedules = Schedules(
            template.functions, functions=functions, clock=clock, due_index=due_index
        )
        clock_control = ClockControl(
            clock,
            poller=poller,
            feed=feed,
            schedules=schedules,
            sandbox=sandbox,
            waiting=WaitingWork(
                adapters.table,
                due_index,
                messages=poller.waiting,
                changes=feed.waiting,
                now=clock.now,
            ),
            table=adapters.table,
            all_items=engine.all_items,
            restart=use_new_app,
        )
        developer_api = DeveloperApi(
            signer=signer,
            webhooks=webhooks,
            sms_log=sms_log,
            files=sms_files,
            no_answer=NoAnswer(
                adapters.table,
                ReasonViews(table=adapters.table, clock=clock),
                account["account_sid"],
            ),
            clock=clock,
            clock_control=clock_control,
            due_events=DueEvents(adapters.table, due_index),
            queues=_queue_depths(poller, engine, clock).read,
            config=self._config_response(account, signer),
            on_sms=show_sms_received,
            numbers=numbers,
            push=push,
            day=day.state,
        )
        tenants = (TENANT, DAY_TENANT) if self.config.day else (TENANT,)
        issuer = LocalIssuer(signer, origins=own_origins(self.url), people=lambda: _people(tenants))

        self._answer = _answers(sandbox, issuer, developer_api, gateway, files, ChatPage(self.url))
        self._wired(engine, poller, clock)
        parts.callback(sandbox.stop)
        sandbox.start()
        leases = bootstrap.app().get(NoticedLeases)
        hand_over_runs(adapters.table, leases, lost=True)
        parts.callback(hand_over_at_stop, adapters.table, leases)
        # The poller, which was added last, is stopped first, so that a running drain fails and
        # releases the schedules.
        parts.callback(schedules.stop)
        parts.callback(feed.stop, seconds=STOP_SECONDS)
        parts.callback(poller.stop, seconds=STOP_SECONDS)
        poller.start()
        feed.start()
        schedules.start()
        return use_new_app

    def _app_maker(
        self,
        parts: ExitStack,
        settings: Settings,
        clock: TurnableClock,
        adapters: Adapters,
        twilio_account: str,
        live_server: LiveServer,
        push: LocalPush,
        files: LocalFiles,
        signer: TokenSigner,
    ) -> Callable[[], None]:
        """Return a function that gives the handlers a new app, whose caches are empty."""
        key = self.config.openai_api_key or NO_KEY
        model = OpenAIModel(
            api_key=lambda: key,
            base_url=settings.openai_base_url,
            reasoning_tokens=settings.reasoning_tokens,
        )
        parts.callback(model.close)
        api = ModelApi(settings.openai_base_url, settings.default_model, settings.light_model)
        if not self.config.uses_local_model:
            self._check = ModelCheck(model, api)
            parts.callback(self._check.stop)
        permissions = Permissions.of(self.template)
        table = PermittedTable(MessageLog(adapters.table, twilio_account), permissions)
        secrets = PermittedSecrets(LocalSecrets(adapters.secrets, key), permissions, SECRETS)
        named: dict[str, Callable[[], LanguageModel]] = {
            name: partial(self._provider, name, url, settings)
            for name, url in settings.model_providers.items()
        }
        adapter_parts = AdapterParts(settings, lambda: adapters.secrets, lambda: _aws(settings))
        others = {**adapted_models(adapter_parts), **named}
        reporting = self._wrapped_model(ReportingModel(ProviderModels(model, others), api))

        def use_new_app() -> None:
            app = bootstrap.build_app(
                settings,
                clock=clock,
                table=table,
                erasure_register=PermittedTable(adapters.erasure_register, permissions, REGISTER),
                assigned_numbers=PermittedTable(adapters.assigned_numbers, permissions, NUMBERS),
                vectors=PermittedVectors(adapters.vectors, permissions),
                queues=PermittedQueues(adapters.queues, permissions),
                files=PermittedFiles(files, permissions),
                secrets=secrets,
                model=reporting,
                model_list=self._model_list(model),
                sockets=PermittedSockets(self._sockets(live_server), permissions),
                mobile_push=PermittedPush(push, permissions),
                identity_provider=signer,
            )
            bootstrap.use(app)

        return use_new_app

    def _provider(self, name: str, base_url: str, settings: Settings) -> LanguageModel:
        """Return the client for the models of a further provider."""
        key = self.config.provider_keys.get(name, NO_KEY)
        return OpenAIModel(
            api_key=lambda: key, base_url=base_url, reasoning_tokens=settings.reasoning_tokens
        )

    def _poller(
        self,
        engine: SqliteEngine,
        environment: StackEnvironment,
        functions: Invoker,
        clock: TurnableClock,
    ) -> Poller:
        """Create the poller of the queues. Each sent message wakes it."""
        poller = Poller(
            self._inbox(engine.inbox(_sources(self.template), clock), clock),
            functions=functions,
            clock=clock,
            max_concurrency=self._max_concurrency,
        )
        engine.wake = poller.wake
        return poller

    def _config_response(self, account: Mapping[str, str], signer: TokenSigner) -> dict[str, str]:
        """Return the response of `GET /local/config`, except for the time."""
        return {
            "twilio_account_sid": account["account_sid"],
            "twilio_auth_token": account["auth_token"],
            "public_base_url": self.url,
            "issuer": signer.issuer,
            "audience": signer.audience,
            "line": LINE,
            "model": self.model,
        }


def _provider(settings: Settings, environment: StackEnvironment) -> OpenIdProvider | None:
    """Return the identity provider that the user has chosen, if any."""
    if settings.jwt_issuer == environment.issuer:
        return None
    return OpenIdProvider(settings.jwt_issuer, settings.jwt_audience)


def _answers(
    sandbox: TwilioSandbox,
    issuer: LocalIssuer,
    developer_api: DeveloperApi,
    gateway: Gateway,
    files: LocalFiles,
    chat_page: ChatPage,
) -> Callable[[Request], Response]:
    """Return a function that passes each request to the part of the stack that serves its path."""

    def answer(request: Request) -> Response:
        if request.path.startswith(f"{TWILIO_PREFIX}/"):
            return sandbox.answer(request)
        if request.path.startswith(f"{FILES_PREFIX}/"):
            return files.answer(request)
        if request.path == CHAT_PAGE:
            return chat_page.answer(request, bootstrap.app())
        if request.path.startswith(DEVELOPER_PREFIX):
            return issuer.answer(request) or developer_api.answer(request)
        return gateway.answer(request)

    return answer


def _people(tenants: Sequence[str]) -> list[Person]:
    """Return the first people of each tenant, sorted by id."""
    users = bootstrap.app().get(Users)
    return [
        Person(user.id, user.name, tenant)
        for tenant in tenants
        for user in users.list(tenant, limit=MAX_PEOPLE).items
    ]


def _aws(settings: Settings) -> "Aws":
    """Return the factory of AWS clients.

    The factory's module is imported only here, because most local stacks do not need the AWS SDK.
    """
    aws: Aws = import_module("skein.adapters.aws.clients").Aws(settings)
    return aws


def _lock(path: Path, parts: ExitStack) -> None:
    """Lock the data folder against other stacks until `parts` is closed.

    Raises:
        DataInUseError: Another stack has the lock.
    """
    file: IO[str] = parts.enter_context(path.open("w"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DataInUseError(
            f"another stack uses {path.parent}, at {running_url(path.parent)}: stop it, or set "
            "SKEIN_DATA_DIR to another folder"
        ) from error


def _queue_depths(poller: Poller, engine: SqliteEngine, clock: Clock) -> QueueDepths:
    return QueueDepths(
        sources=poller.sources,
        messages=poller.waiting,
        running=poller.running,
        dead_letters=engine.dead_letters,
        now=clock.now,
    )


def _feed(engine: SqliteEngine, template: Template, functions: Invoker, clock: Clock) -> FeedPoller:
    """Create the poller of the table's changes. Each change wakes it."""
    sources = feed_sources(template)
    feed = FeedPoller(engine.changes(sources, clock), sources, functions=functions, clock=clock)
    engine.changed = feed.wake
    return feed


def _sources(template: Template) -> list[PolledQueue]:
    queues = {queue.logical_id: queue for queue in template.queues}
    return [
        PolledQueue(queues[source.queue], function, source)
        for function in template.functions
        for source in function.queues
    ]
