"""A world with two chains and a bridge."""

from typing import Any

import pytest

from tests.fakes.bridge import Bridge
from tests.fakes.world import in_process_aws


@pytest.fixture
def bridge() -> Any:
    with in_process_aws() as client:
        yield Bridge(client)
