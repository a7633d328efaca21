"""`skein run` and `make run`: run the local stack until Ctrl-C.

The stack serves the agent in a file, or the demo's agent. Quick checks come first: of the file and
the port. Then missing files are downloaded, and then the stack starts.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path

from local.config import Config
from local.end_signal import EndSignal
from local.errors import LocalError, PortInUseError
from local.greeting import greeting
from local.log_file import log_in, set_up_logs
from local.model import server
from local.model.machine_models import ModelServer, model_servers, with_model
from local.python_agent import PythonAgent, reloading
from local.stack import Stack
from local.steps import Steps
from skein import bootstrap
from skein.errors import SkeinError
from tools.install import data_files, model, packages, port

FAILED = 1


def run(path: Path | None, *, port: int | None, model: str | None, day: bool, reload: bool) -> int:
    """Serve a stack until SIGINT, SIGTERM or SIGHUP; return the exit status.

    Args:
        path: The file of the agent; None for the demo's agent.
        port: The port. If None, the port is `SKEIN_PORT`; if this is not set, 8787 or the next free
            port.
        model: The name of a model that a server on this machine has; None for the configured model.
        day: Whether the stack serves the recorded day (`local.day`).
        reload: Whether the agent is updated when its file changes.
    """
    environment = {**os.environ, **({} if port is None else {"SKEIN_PORT": str(port)})}
    try:
        agent = PythonAgent.load(path) if path else None
        _prepare(environment, model)
        config, servers = _configured(environment, day=day, model=model)
        _serve(config, servers, agent, reload=reload)
    except (LocalError, SkeinError, OSError, packages.InstallError) as error:
        print(f"skein: {error}", file=sys.stderr)
        return FAILED
    return 0


def _prepare(environment: Mapping[str, str], chosen: str | None) -> None:
    """Check the port, and download what is missing.

    Raises:
        PortInUseError: The stack cannot get its port.
        InstallError: A download failed.
    """
    if found := port.problem(environment):
        raise PortInUseError(found)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C then removes partial files
    if not all(file.path.exists() for file in data_files.FILES):
        data_files.install()
    uses_small_model = Config.from_environment(environment).uses_local_model and not chosen
    if uses_small_model and not server.MODEL_FILE.exists():
        model.install()


def _configured(
    environment: Mapping[str, str], *, day: bool, model: str | None
) -> tuple[Config, Sequence[ModelServer]]:
    """Return the configuration, and the model servers on this machine that the stack could use."""
    config = Config.from_environment(environment, day=day)
    servers = model_servers() if config.uses_local_model else []
    return (with_model(config, model, servers) if model else config), servers


def _serve(
    config: Config, servers: Sequence[ModelServer], agent: PythonAgent | None, *, reload: bool
) -> None:
    console, end = sys.stdout, EndSignal(_signals())
    with log_in(config.data_dir) as log, Steps("skein") as steps:
        set_up_logs(console, log)
        # As on Lambda, the functions' standard output is their log.
        with redirect_stdout(log), ExitStack() as parts:
            with bootstrap.lasting():  # the start imports the functions
                stack = parts.enter_context(Stack(config, agent=agent, step=steps.begin))
            steps.end()
            print(greeting(stack, servers), file=console, flush=True)
            stack.check_model()
            with _reloading(agent if reload else None, config.data_dir):
                end.wait()
            print("\nstopping", file=console, flush=True)


def _signals() -> Iterator[int]:
    yield from (signal.SIGINT, signal.SIGTERM)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # set by `nohup`
        yield signal.SIGHUP


@contextmanager
def _reloading(agent: PythonAgent | None, data_dir: Path) -> Iterator[None]:
    if agent is None:
        yield
    else:
        with reloading(agent.path, data_dir, bootstrap.app()):
            yield
