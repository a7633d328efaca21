"""Package of a release: a template and its archives, for deploying without SAM and make.

`python -m tools.deployment.package [folder]` reads the output of `sam build` and writes one folder.
Each file in the folder, except the template, is named by a hash of its content, so that a bucket
can hold several releases. The template has a parameter for the name of the bucket. When the folder
is in a bucket in the stack's region, any CloudFormation tool can deploy the template.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from local.template import ROOT, Template
from tools.deployment import deploy
from tools.deployment.expansion import listed

FOLDER = ROOT / "build" / "release"
TEMPLATE = "skein.json"
PLACES = {  # type of resource -> its property with a path of this machine
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::CloudFormation::Stack": "TemplateURL",
}
BUCKET, PREFIX = "ArtifactsBucket", "ArtifactsPrefix"
PARAMETERS = {
    BUCKET: {
        "Type": "String",
        "Description": "Bucket in the stack's region that has the files of the release.",
    },
    PREFIX: {
        "Type": "String",
        "Description": "What the keys of these files begin with, such as skein/0.3.0/.",
        "AllowedPattern": "^$|^[^/].*/$",
    },
}
NESTED_URL = f"https://${{{BUCKET}}}.s3.${{AWS::Region}}.${{AWS::URLSuffix}}/${{{PREFIX}}}"
LEAST_TIME = (1980, 1, 1, 0, 0, 0)  # of a ZIP file, so that equal content gives equal archives
READABLE = 0o644 << 16


def package(built: Template, folder: Path, release: str) -> None:
    """Write the template and the archives of a build into a folder.

    Args:
        built: The template of the build. Its paths are relative to its root.
        folder: The folder, which is created.
        release: The default value of the template's parameter `Release`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    document = listed(built.document)
    parameters = {**document["Parameters"], **PARAMETERS}
    parameters["Release"] = {**parameters["Release"], "Default": release}
    resources = {
        name: _published(resource, built.root, folder)
        for name, resource in document["Resources"].items()
    }
    shared = dict(document.get("Globals", {}).get("Function", {}))
    shared.pop("CodeUri", None)
    packaged = {
        **document,
        "Parameters": parameters,
        "Globals": {**document.get("Globals", {}), "Function": shared},
        "Resources": resources,
    }
    (folder / TEMPLATE).write_text(json.dumps(packaged, indent=1) + "\n", encoding="utf-8")


def _published(resource: Mapping[str, Any], root: Path, folder: Path) -> dict[str, Any]:
    """Write the file that a resource's path names; return the resource with the bucket's file."""
    place = PLACES.get(resource["Type"])
    if place is None:
        return dict(resource)
    path = root / resource["Properties"][place]
    where: Any
    if path.is_file():
        where = {"Fn::Sub": NESTED_URL + _written(path.parent.name, path.read_bytes(), folder)}
    else:
        where = {
            "Bucket": {"Ref": BUCKET},
            "Key": {"Fn::Sub": f"${{{PREFIX}}}{_zip(path, folder)}"},
        }
    # What `sam build` read of it.
    kept = {name: value for name, value in resource.items() if name != "Metadata"}
    return {**kept, "Properties": {**resource["Properties"], place: where}}


def _written(name: str, content: bytes, folder: Path) -> str:
    """Write a nested template; return its name in the bucket."""
    found = f"{name.lower()}-{hashlib.sha256(content).hexdigest()[:16]}.yaml"
    (folder / found).write_bytes(content)
    return found


def _zip(source: Path, folder: Path) -> str:
    """Write an archive of a folder, unless it exists; return its name in the bucket."""
    digest = hashlib.sha256()
    for path, name in _files(source):
        digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    found = f"{digest.hexdigest()[:16]}.zip"
    if not (folder / found).exists():
        with zipfile.ZipFile(folder / found, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, name in _files(source):
                entry = zipfile.ZipInfo(name, LEAST_TIME)
                entry.external_attr, entry.compress_type = READABLE, zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return found


def _files(source: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            yield path, path.relative_to(source).as_posix()


def main(arguments: list[str]) -> int:
    """Write the package of the last build, and return the exit status."""
    folder = Path(arguments[0]) if arguments else FOLDER
    if not (deploy.BUILD / "template.yaml").is_file():
        print("package: no build found; run `make build`", file=sys.stderr)
        return 2
    for old in folder.glob("*") if folder.is_dir() else ():
        old.unlink()
    built = Template.load(deploy.BUILD / "template.yaml")
    package(built, folder, deploy.release(deploy.BUILD, []))
    for path in sorted(folder.iterdir()):
        print(f"{path.name:<40}{path.stat().st_size / 1e6:7.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
