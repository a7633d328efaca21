"""Deployment of `sam build`'s output, with the API's own URL as a parameter.

`python -m tools.deploy <sam> [Name=value ...]`. The API's URL is known only after the first
deployment. A deployment that leaves `PublicBaseUrl` unset is therefore followed by a second one
that sets it. The module needs only the standard library.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNSET = "unset"  # the value of the template's output PublicBaseUrl if there is none

Run = Callable[[Sequence[str]], str]


def run(command: Sequence[str]) -> str:
    """Run a SAM command on the user's terminal.

    Returns:
        The output of a `list` command; an empty string for any other command, which prints its
        output.

    Raises:
        subprocess.CalledProcessError: The command failed and has printed the reason.
    """
    listing = "list" in command
    stdout = subprocess.PIPE if listing else None
    done = subprocess.run(command, check=True, text=True, stdout=stdout)
    return done.stdout or ""


def stack_name() -> str:
    """Read the stack's name from the SAM CLI's configuration."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    return str(config["default"]["deploy"]["parameters"]["stack_name"])


def outputs(sam: str, run: Run) -> dict[str, str]:
    """Return the deployed stack's outputs by name."""
    listed = run([sam, "list", "stack-outputs", "--stack-name", stack_name(), "--output", "json"])
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(listed)}


def deploy(sam: str, parameters: Sequence[str], run: Run = run) -> dict[str, str]:
    """Deploy with the given parameters and return the outputs; other parameters keep their values.

    If `PublicBaseUrl` is still unset, a second deployment sets it to the API's URL.
    """
    run([sam, "deploy", *overrides(parameters)])
    found = outputs(sam, run)
    if found["PublicBaseUrl"] == UNSET:
        url = found["ApiUrl"]
        run([sam, "deploy", *overrides([*parameters, f"PublicBaseUrl={url}"])])
        found = outputs(sam, run)
    return found


def overrides(parameters: Sequence[str]) -> list[str]:
    """Return the options that pass parameters to `sam deploy`; empty for no parameters."""
    return ["--parameter-overrides", *parameters] if parameters else []


if __name__ == "__main__":
    try:
        for name, value in deploy(sys.argv[1], sys.argv[2:]).items():
            print(f"{name:<18}{value}")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
