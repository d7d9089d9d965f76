"""The examples of the packages of infra/clients, run against a local stack as they stand."""

import pytest

from infra.local.process import free_port
from tests.local.made_clients import MadeClient, python_client, typescript_client
from tests.local.running import SHARED, SharedStack

pytestmark = pytest.mark.xdist_group(SHARED)
assert python_client and typescript_client, "fixtures, which are found by their names here"

EXPECTED = {
    "python_client": "status created\nlisted True\npayments True\nrefused 409 True True\nevent payment.confirmed\n",
    "typescript_client": "status created\nlisted true\npayments true\nrefused 409 true true\nevent payment.confirmed\n",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_creates_lists_and_cancels_and_verifies_a_webhook(
    name: str, request: pytest.FixtureRequest, shared_stack: SharedStack
) -> None:
    client: MadeClient = request.getfixturevalue(name)
    stack = shared_stack.description()
    hook = f"http://127.0.0.1:{free_port()}/hook"
    printed = client.run("example", API_URL=stack["base_url"], API_KEY=stack["api_key"], HOOK_URL=hook)
    assert printed == EXPECTED[name]
