"""A world that sends e-mail."""

from collections.abc import Iterator

import pytest

from tests.fakes.mails import SENDER
from tests.fakes.world import World, in_process_aws


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client, mail_sender=SENDER)
