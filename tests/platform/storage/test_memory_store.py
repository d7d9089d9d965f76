"""The store in memory, which simulations use, does what the store on DynamoDB does."""

from typing import Any

from hypothesis import given, settings

from chalicelib.platform.storage.store import Store
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PREFIX, dynamodb_in_memory
from tests.platform.storage.generated import STEPS, hold_to


@settings(max_examples=200)
@given(STEPS)
def test_any_operations_have_the_same_results_in_memory_as_in_dynamodb(steps: Any) -> None:
    hold_to(MemoryStore(), Store(PREFIX, dynamodb_in_memory(), at_once=1), steps)
