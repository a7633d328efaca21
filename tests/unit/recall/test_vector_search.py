"""What a vector search returns of a block."""

from skein.models.recall.stored import RecallBlock
from skein.models.recall.vector_search import BLOCK_ATTRIBUTES


def test_block_attributes_are_those_of_a_stored_block_without_its_vector() -> None:
    assert {"pk", "sk", "steps", *RecallBlock.model_fields} == {*BLOCK_ATTRIBUTES, "vector"}
