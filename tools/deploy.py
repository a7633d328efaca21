"""Deploys what `sam build` built, and tells the functions the URL under which they are reached.

`python -m tools.deploy <sam> [Name=value ...]`. An API's URL exists only once the API does, and the
API only once its functions do; so a first deployment without `PublicBaseUrl` is followed by a
second one that sets it. It needs only the standard library.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNSET = "unset"  # what the template's output PublicBaseUrl says for no value

Run = Callable[[Sequence[str]], str]


def run(command: Sequence[str]) -> str:
    """Run a command that may ask and tell the user things; return what it printed if it is a list.

    Raises:
        subprocess.CalledProcessError: It failed; it has said why.
    """
    listing = "list" in command
    stdout = subprocess.PIPE if listing else None
    done = subprocess.run(command, check=True, text=True, stdout=stdout)
    return done.stdout or ""


def stack_name() -> str:
    """The stack's name, as the SAM CLI takes it from its configuration."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    return str(config["default"]["deploy"]["parameters"]["stack_name"])


def outputs(sam: str, run: Run) -> dict[str, str]:
    """What the deployed stack says about itself, by name."""
    listed = run([sam, "list", "stack-outputs", "--stack-name", stack_name(), "--output", "json"])
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(listed)}


def deploy(sam: str, parameters: Sequence[str], run: Run = run) -> dict[str, str]:
    """Deploy with the given parameters; those that are not given keep their values."""
    run([sam, "deploy", *overrides(parameters)])
    found = outputs(sam, run)
    if found["PublicBaseUrl"] == UNSET:
        url = found["ApiUrl"]
        run([sam, "deploy", *overrides([*parameters, f"PublicBaseUrl={url}"])])
        found = outputs(sam, run)
    return found


def overrides(parameters: Sequence[str]) -> list[str]:
    """The option that hands parameters to `sam deploy`; none for no parameters."""
    return ["--parameter-overrides", *parameters] if parameters else []


if __name__ == "__main__":
    try:
        for name, value in deploy(sys.argv[1], sys.argv[2:]).items():
            print(f"{name:<18}{value}")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
