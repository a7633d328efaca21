"""The static embeddings place texts of like meaning close to each other."""

from operator import mul
from pathlib import Path

import pytest

from skein.adapters.static_embeddings import StaticEmbeddings

EMBEDDINGS = StaticEmbeddings()


def likeness(one: str, other: str) -> float:
    first, second = EMBEDDINGS.embed([one, other])
    product: float = sum(map(mul, first.vector, second.vector))
    return product


def test_embedding_has_length_one_and_the_named_number_of_components() -> None:
    [embedding] = EMBEDDINGS.embed(["My dog is called Rex."])
    assert len(embedding.vector) == EMBEDDINGS.dimensions
    assert sum(map(mul, embedding.vector, embedding.vector)) == pytest.approx(1.0)
    assert embedding.weight > 0


def test_texts_of_like_meaning_are_closer_than_others() -> None:
    question = "Where does she live?"
    assert likeness(question, "Her home is in Berlin.") > likeness(question, "The soup is hot.")


def test_text_without_tokens_has_no_direction() -> None:
    [embedding] = EMBEDDINGS.embed([""])
    assert embedding.weight == 0
    assert not any(embedding.vector)


def test_text_with_a_lone_surrogate_is_embedded_like_one_with_a_question_mark() -> None:
    one, other = EMBEDDINGS.embed(["the dog \ud800", "the dog ?"])
    assert one == other


def test_long_text_is_embedded_by_its_beginning() -> None:
    whole, beginning = EMBEDDINGS.embed(["word " * 3_000, "word " * 2_500])
    assert whole == beginning


def test_folder_without_the_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"No such file|not found|os error 2"):
        StaticEmbeddings(tmp_path).embed(["text"])
