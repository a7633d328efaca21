"""What a vector search returns of a passage."""

from skein.models.common.vector_search import PASSAGE_ATTRIBUTES
from skein.recall.models.stored import RecallPassage


def test_passage_attributes_are_those_of_a_stored_passage_without_its_vector() -> None:
    assert {"pk", "sk", *RecallPassage.model_fields} == {*PASSAGE_ATTRIBUTES, "vector"}
