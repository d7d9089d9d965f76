"""A delivery of the local stack, signed by RFC 9421 with a key that the stack has made itself."""

import pytest
import requests

from tests.local.running import SHARED, SharedStack
from tests.support.patience import patience, wait_for
from tests.webhooks.inbox import Inbox
from tests.webhooks.test_message_signatures import verify_in_python

pytestmark = pytest.mark.xdist_group(SHARED)


def test_a_delivery_of_the_local_stack_is_verified_by_the_keys_that_it_serves(
    shared_stack: SharedStack, inbox: Inbox
) -> None:
    stack = shared_stack.description()
    url, key = stack["base_url"], {"x-api-key": stack["api_key"]}
    body = {"url": inbox.url, "httpSignature": True}
    made = requests.post(f"{url}/v1/webhook", json=body, headers=key, timeout=patience()).json()
    try:
        sent = {"eventType": "payment.confirmed"}
        requests.post(f"{url}/v1/webhook/test", json=sent, headers=key, timeout=patience()).raise_for_status()
        wait_for(lambda: inbox.received)
    finally:
        requests.delete(f"{url}/v1/webhook/{made['id']}", headers=key, timeout=patience())
    served = requests.get(f"{url}/.well-known/jwks.json", timeout=patience()).json()
    verify_in_python(served, inbox.received[0])
