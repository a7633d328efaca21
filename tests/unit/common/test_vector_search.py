"""What a vector search returns of a block."""

from skein.models.common.vector_search import BLOCK_ATTRIBUTES
from skein.recall.models.stored import RecallBlock


def test_block_attributes_are_those_of_a_stored_block_without_its_vector() -> None:
    assert {"pk", "sk", "steps", *RecallBlock.model_fields} == {*BLOCK_ATTRIBUTES, "vector"}
