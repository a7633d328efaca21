"""`make bench ONLY=knowledge DATA=folder`: what the search finds, when it stays silent, its speed.

The folder has XQuAD (`xquad*.json`), StackFAQ (`stackfaq*.json`), CLINC150 (`clinc.json`) and
documents of a bank (`bank-documents.json`); each is optional. A file in another language has
another name of the same form. The threshold was fitted to XQuAD's questions with even numbers.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.knowledge.index import (
    ANSWERS,
    FoundPassage,
    IndexedSource,
    IndexFile,
    best_passages,
    source_file,
)
from skein.knowledge.passages import passages_of_markdown
from skein.services.common.text_index import IndexQuery

BUDGET = 1_000  # tokens in which the passage must stand
NOW = "2026-11-29T00:00:00Z"
EMBEDDINGS, TOKENS = StaticEmbeddings(), Tokens()


class Question(NamedTuple):
    """A question, and the source or the group of sources that answers it.

    Attributes:
        answer: Words that the passage with the answer contains. If empty, any passage of the source
            counts as the answer.
    """

    text: str
    source: str
    group: str
    answer: str = ""


class DataSet(NamedTuple):
    """Sources as Markdown, by id and name, and the questions about them."""

    name: str
    sources: dict[str, tuple[str, str]]
    questions: list[Question]


def xquad(path: Path) -> DataSet:
    sources: dict[str, tuple[str, str]] = {}
    questions: list[Question] = []
    for number, article in enumerate(json.loads(path.read_text("utf-8"))["data"]):
        for paragraph in article["paragraphs"]:
            source = f"{number}.{len(sources)}"
            sources[source] = article.get("title", ""), paragraph["context"]
            questions += (
                Question(each["question"], source, str(number), each["answers"][0]["text"])
                for each in paragraph["qas"]
            )
    return DataSet(path.name, sources, questions)


def stackfaq(path: Path) -> DataSet:
    entries = json.loads(path.read_text("utf-8"))
    sources = {
        str(number): (
            entry["question"],
            f"# {entry['question']}\n\n" + "\n\n".join(entry["answer"]),
        )
        for number, entry in enumerate(entries)
    }
    questions = [
        Question(text, str(number), str(number))
        for number, entry in enumerate(entries)
        for text in entry["rephr"]
        if text.strip("* ")
    ]
    return DataSet(path.name, sources, questions)


def indexed(sources: Iterable[tuple[str, tuple[str, str]]]) -> IndexFile:
    """Return the index of sources, as a tenant's index has them."""
    made = [
        IndexedSource.from_file(
            source_file(passages_of_markdown(text), EMBEDDINGS), source, 1, name, NOW
        )
        for source, (name, text) in sources
    ]
    return IndexFile.of(made, EMBEDDINGS.dimensions)


def searched(file: IndexFile, text: str) -> list[FoundPassage]:
    return best_passages([file], IndexQuery.of(text, EMBEDDINGS.embed([text])[0].vector))


def stands(found: Sequence[FoundPassage], question: Question) -> bool:
    """Return whether the passage with the answer is found and fits into the token budget."""
    left = BUDGET
    for each in found:
        left -= TOKENS.count(f"{each.name}, {each.place}:\n{each.text}\n")
        if left < 0:
            return False
        if each.source_id == question.source and question.answer in each.text:
            return True
    return False


def answers(found: Sequence[FoundPassage]) -> bool:
    return bool(found) and found[0].score >= ANSWERS


def without(file: IndexFile, questions: Sequence[Question]) -> list[bool]:
    """Return, for each question, whether the search claims an answer that it cannot have.

    The index leaves out the sources of the question's group, which have the answer.
    """
    left: dict[str, IndexFile] = {}
    for group in {each.group for each in questions}:
        others = [each for each in file.sources if each.id.partition(".")[0] != group]
        left[group] = IndexFile.of(others, EMBEDDINGS.dimensions)
    return [answers(searched(left[each.group], each.text)) for each in questions]


def measure(data: DataSet, outside: Sequence[str]) -> None:
    file = indexed(data.sources.items())
    found = [searched(file, each.text) for each in data.questions]
    silent = [not each for each in without(file, data.questions)]
    line(
        "found within 1,000 tokens",
        [stands(hits, each) for each, hits in zip(data.questions, found, strict=True)],
    )
    line("not silent", [answers(each) for each in found])
    line("silent without its own entry or article", silent)
    line("... on the half that was not fitted to", silent[1::2])
    line(
        "silent on CLINC150's questions out of scope",
        [not answers(searched(file, text)) for text in outside],
    )


def speed(documents: Sequence[Any]) -> None:
    """Print the times that it takes to index the documents, to read the index, and to search it."""
    named = [(each["id"], (each["title"], each["content"])) for each in documents]
    seconds, file = timed(lambda: indexed(named))
    characters = sum(len(each["content"]) for each in documents)
    print(f"  {characters:,} characters, {len(file.passages):,} passages")
    print(f"  built in {seconds:.1f} s")
    content = file.packed()
    seconds, read = timed(lambda: IndexFile.unpacked(content, EMBEDDINGS.dimensions))
    print(f"  read from {len(content):,} bytes in {seconds * 1000:.0f} ms")
    queries = [each["title"] for each in documents[:100]]
    seconds, _ = timed(lambda: [searched(read, query) for query in queries])
    print(f"  searched in {seconds / len(queries) * 1000:.1f} ms of CPU")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def line(what: str, values: Sequence[bool]) -> None:
    if values:
        print(f"  {what}: {sum(values) / len(values):.3f} of {len(values):,}")


def main(folder: str = "") -> None:
    """Measure the data sets of a folder."""
    data = Path(folder)
    if not folder or not data.is_dir():
        sys.exit("usage: make bench ONLY=knowledge DATA=folder")
    clinc = data / "clinc.json"
    known = json.loads(clinc.read_text("utf-8"))["oos"] if clinc.exists() else []
    outside = [text for text, _ in known]
    for pattern, kind in (("xquad*.json", xquad), ("stackfaq*.json", stackfaq)):
        for path in sorted(data.glob(pattern)):
            print(f"{path.name}:", flush=True)
            measure(kind(path), outside)
    bank = data / "bank-documents.json"
    if bank.exists():
        print("bank-documents.json:", flush=True)
        speed(json.loads(bank.read_text("utf-8")))


if __name__ == "__main__":
    main(*sys.argv[1:2])
