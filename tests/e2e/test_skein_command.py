"""The command `skein`: one file is served, reloaded, and asked by SMS and in a terminal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest

from local.doctor import doctor
from local.folders import ROOT
from local.terminal import chat, tail
from tests.support.scripted_openai import ScriptedOpenAI
from tools.install import packages

EXAMPLE = ROOT / "examples" / "my_agent.py"
LINE, PHONE = "+15005550006", "+15005550100"
SECONDS = 60
IN_CLONE = (sys.executable, "-m", "local")


class Served:
    """The file `my_agent.py` in a folder of its own, served by `skein run`."""

    def __init__(
        self, folder: Path, skein: tuple[str, ...], environment: Mapping[str, str]
    ) -> None:
        self.file = folder / "my_agent.py"
        shutil.copy(EXAMPLE, self.file)
        self._output = folder / "output"
        with self._output.open("wb") as log:
            self.process = subprocess.Popen(
                [*skein, "run", str(self.file), "--reload", "--port", "0"],
                cwd=folder if skein != IN_CLONE else ROOT,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        [self.url] = self.wait_for(r"Luigi is at (http://127\.0\.0\.1:\d+)")

    def wait_for(self, pattern: str) -> list[str]:
        """The groups of what it prints, once it has printed that."""
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends and self.process.poll() is None:
            if found := re.search(pattern, self._output.read_text()):
                return list(found.groups())
            time.sleep(0.05)
        raise AssertionError(self._output.read_text())

    def sms(self, text: str) -> str:
        """Send an SMS, wait for the answer, and list all SMS, as the README does."""
        httpx2.post(f"{self.url}/local/sms", json={"from": PHONE, "to": LINE, "body": text})
        httpx2.post(f"{self.url}/local/drain", timeout=SECONDS)
        return httpx2.get(f"{self.url}/local/sms").text


def environment(folder: Path, model_url: str) -> dict[str, str]:
    """The environment of a user whose data are in a folder, without settings of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKEIN_")}
    kept.pop("TIKTOKEN_CACHE_DIR", None)
    return {
        **kept,
        "OPENAI_API_KEY": "key",
        "OPENAI_BASE_URL": model_url,
        "SKEIN_CACHE_DIR": str(ROOT / ".cache"),
        "SKEIN_DATA_DIR": str(folder / "data"),
    }


def ended(process: "subprocess.Popen[bytes]") -> int:
    """The exit status after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    return process.wait(SECONDS)


@pytest.fixture
def served(tmp_path: Path, model: ScriptedOpenAI) -> Iterator[Served]:
    served = Served(tmp_path, IN_CLONE, environment(tmp_path, model.base_url))
    try:
        yield served
        assert ended(served.process) == 0
    finally:
        served.process.kill()
        served.process.wait()


def said_by(text: str) -> Iterator[str]:
    """What a person types before Ctrl-D."""
    yield text
    raise EOFError


def test_file_answers_sms_and_chat_and_each_mistake_says_what_to_do(
    served: Served, model: ScriptedOpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.call_tools(("opening_hours", {"day": "Sunday"})).say("From 12 to 16.")
    assert "From 12 to 16." in served.sms("When are you open on Sunday?")
    assert "open from 12 to 16" in str(model.calls[-1].body["messages"])

    model.say("Hello you!")
    assert chat(served.url, None, said_by("Hello").__next__) == 0
    assert "Luigi: Hello you!" in capsys.readouterr().out
    assert tail(served.url, "Luigi", follow=False) == 0
    assert (
        "When are you open on Sunday?  ->  (opening_hours) From 12 to 16."
        in capsys.readouterr().out
    )
    assert chat(served.url, "Nobody") == 1
    assert "choose one of Luigi" in capsys.readouterr().err

    text = served.file.read_text()
    served.file.write_text(text + "\n1 /")
    served.wait_for(r"SyntaxError in .*my_agent.py, line 16: invalid syntax")
    served.file.write_text(
        text.replace("    return HOURS", "    raise OSError('no line')\n    return HOURS")
    )
    served.wait_for(r"reloaded my_agent\.py")
    model.call_tools(("opening_hours", {"day": "Monday"})).say("I can't look it up.")
    assert "I can't look it up." in served.sms("And on Monday?")
    served.wait_for(r"opening_hours raised OSError: no line in .*my_agent.py, line 14")

    capsys.readouterr()
    assert doctor(environment(tmp_path, model.base_url)) == 0
    assert f"a stack is running at {served.url}" in capsys.readouterr().out


def test_doctor_finds_all_well_or_says_how_to_fix_it(
    tmp_path: Path, model: ScriptedOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    given = environment(tmp_path, model.base_url)
    assert doctor(given) == 0, capsys.readouterr()
    assert "fix" not in capsys.readouterr().out
    (tmp_path / "file").touch()
    broken = {
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "SKEIN_DATA_DIR": str(tmp_path / "file" / "data"),
        "SKEIN_PORT": model.base_url.split(":")[2].partition("/")[0],
    }
    assert doctor(given | broken) == 1
    told = capsys.readouterr().out
    for advice in ("check OPENAI_BASE_URL", "set SKEIN_DATA_DIR to", "choose another"):
        assert advice in told
    assert doctor(given | {"OPENAI_BASE_URL": "nowhere"}) == 1
    assert "OPENAI_BASE_URL is 'nowhere', which is not a URL" in capsys.readouterr().out


def test_commands_without_a_stack_say_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert chat("http://127.0.0.1:9", None) == 1
    assert "skein run my_agent.py" in capsys.readouterr().err


@pytest.mark.slow
def test_wheel_serves_the_file_in_an_empty_folder(tmp_path: Path, model: ScriptedOpenAI) -> None:
    """It installs the package, but not its dependencies, which the tests have."""
    packages.run_pip("wheel", "--no-deps", "--quiet", "--wheel-dir", str(tmp_path), str(ROOT))
    [wheel] = tmp_path.glob("skein-*.whl")
    python = packages.make_environment(tmp_path / "environment")
    packages.run_pip("--python", str(python), "install", "--no-deps", "--quiet", str(wheel))
    [site] = (tmp_path / "environment" / "lib").glob("python*/site-packages")
    assert {path.name for path in site.iterdir()} - {"pip", "setuptools"} >= {"skein.pth"}
    assert not [name for name in ("local", "tools", "functions") if (site / name).exists()]
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (site / "tests.pth").write_text("\n".join(libraries))
    given = environment(tmp_path, model.base_url)
    del given["SKEIN_DATA_DIR"]
    given |= {"XDG_DATA_HOME": str(tmp_path / "share"), "PYTHONPATH": ""}
    folder = tmp_path / "empty"
    folder.mkdir()
    served = Served(folder, (str(python.parent / "skein"),), given)
    try:
        model.say("From 12 to 16.")
        assert "From 12 to 16." in served.sms("When are you open on Sunday?")
        assert (tmp_path / "share" / "skein" / "skein.log").is_file()
        assert ended(served.process) == 0
    finally:
        served.process.kill()
        served.process.wait()
