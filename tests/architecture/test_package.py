"""The package of a release is complete, the same for the same build, and deployed as documented."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local.template import ROOT, Template
from tools.deployment import package
from tools.deployment.expansion import expand

RELEASE = "0" * 40
GUIDE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
OWN = "RunWorker"  # differs from the other functions in this build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The template as `sam build` leaves it, with small folders."""
    root = tmp_path_factory.mktemp("built")
    source = Template.load()
    resources = {}
    for name, resource in source.document["Resources"].items():
        place = package.PLACES.get(resource["Type"])
        path = root / name
        if place is not None:
            path.mkdir()
            (path / "code.py").write_text(f"{name in {OWN, 'SkeinLayer'}} = {name == OWN}")
        if place == "TemplateURL":
            (path / "code.py").unlink()
            shutil.copy(source.root / resource["Properties"][place], path / "template.yaml")
            path /= "template.yaml"
        own = {} if place is None else {place: path.relative_to(root).as_posix()}
        resources[name] = {**resource, "Properties": {**resource.get("Properties", {}), **own}}
    return Template({**source.document, "Resources": resources}, root)


@pytest.fixture(scope="module")
def folder(built: Template, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("release") / "release"
    package.package(built, target, RELEASE)
    return target


@pytest.fixture(scope="module")
def document(folder: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((folder / package.TEMPLATE).read_text("utf-8"))
    return found


def test_template_names_only_files_of_the_package_and_each_of_them(
    folder: Path, document: Mapping[str, Any]
) -> None:
    text = json.dumps(document)
    named = set(re.findall(r"\$\{ArtifactsPrefix\}([a-z0-9.-]+)", text))
    assert named | {package.TEMPLATE} == {path.name for path in folder.iterdir()}
    assert len([name for name in named if name.endswith(".zip")]) == 3  # equal functions share one
    assert len([name for name in named if name.endswith(".yaml")]) == 3


def test_translator_accepts_the_template_and_takes_every_archive_from_the_bucket(
    document: Mapping[str, Any],
) -> None:
    given = {package.BUCKET: "releases", package.PREFIX: "skein/1/"}
    template = Template(document)
    expanded = expand(template, **given).values()
    codes = [each["Properties"]["Code"] for each in expanded if each["Type"].endswith("::Function")]
    layers = [each for each in expanded if each["Type"] == "AWS::Lambda::LayerVersion"]
    named = [*codes, *(each["Properties"]["Content"] for each in layers)]
    places = [template.resolve(place, given) for place in named]
    assert len(places) == len(Template.load().functions) + 1
    for place in places:
        assert place["S3Bucket"] == "releases"
        assert re.fullmatch(r"skein/1/[0-9a-f]{16}\.zip", place["S3Key"])
    assert len({place["S3Key"] for place in places}) == 3


def test_same_build_gives_the_same_package(built: Template, folder: Path, tmp_path: Path) -> None:
    package.package(built, tmp_path, RELEASE)
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_release_is_that_of_the_build(document: Mapping[str, Any]) -> None:
    assert document["Parameters"]["Release"]["Default"] == RELEASE


@pytest.mark.parametrize(
    ("language", "parameter"),
    [("hcl", r"^    (\w+) += "), ("python", r'^ +"(\w+)": ')],
)
def test_example_gives_parameters_that_the_template_has_and_all_that_it_needs(
    language: str, parameter: str, document: Mapping[str, Any]
) -> None:
    [example] = re.findall(rf"^```{language}\n(.*?skein\.json.*?)^```", GUIDE, re.M | re.S)
    block = re.split(r"parameters ?= ?\{", example)[1].split("}")[0]
    given = set(re.findall(parameter, block, re.MULTILINE))
    needed = {name for name, each in document["Parameters"].items() if "Default" not in each}
    assert needed <= given <= document["Parameters"].keys()
    outputs = set(re.findall(r'outputs\["(\w+)"\]|Outputs\.(\w+)', example))
    assert {name for pair in outputs for name in pair if name} == {"ApiUrl"} & {
        *Template.load().document["Outputs"]
    }
    if language == "python":
        compile(example, "example", "exec")
