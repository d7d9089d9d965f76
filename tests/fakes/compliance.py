"""The compliance provider in memory: the client of the service over the sandbox of the local stack, without HTTP.

world.compliance.provider.move("users", user_id, {"kycStatus": "approved"})    moves a person, and tells of it
world.compliance.trouble = lambda method, path: "lost"                         does what is asked, and does not answer
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.platform.outbound.compliance import Compliance, ProviderUnavailable
from infra.local import calls as aws_calls
from infra.local.provider import Provider
from infra.local.serving import JsonRequest

PERSON = {
    "email": "john.doe@example.com",
    "firstName": "John",
    "lastName": "Doe",
    "beneficiaryType": "individual",
    "dateOfBirth": "1985-12-12",
    "addressLine1": "123 Main Street",
    "city": "New York",
    "state": "NY",
    "postcode": "10001",
    "country": "US",
    "nationality": "US",
    "phone": "+12125551234",
    "ssn": "123-45-6789",
}
"""The details of a person, as POST /v2/payer takes them beside the id."""
BANK = {
    "bankName": "Chase",
    "accountName": "John Doe",
    "accountNumber": "253009233489",
    "routingNumber": "026013356",
    "beneficiaryType": "individual",
    "currency": "usd",
    "addressLine1": "24 Theatre St.",
    "city": "Paramount",
    "state": "CA",
    "country": "US",
    "dateOfBirth": "1985-12-12",
    "postalCode": "90723",
    "rails": "local",
    "accountType": "checking",
}
"""The details of a bank account, as POST .../payment-details takes them."""


class FakeCompliance(Compliance):
    """`calls` are method and path of each request. `trouble` says of each: None, `down` (nothing is done), `lost` (it
    is done, and not answered), or an answer as status and bytes."""

    def __init__(self, is_configured: bool = True) -> None:
        super().__init__("http://provider.example" if is_configured else "")
        self.provider = Provider()
        self.calls: list[tuple[str, str]] = []
        self.trouble: Callable[[str, str], Any] = lambda method, path: None

    def _send(
        self, method: str, path: str, content: Mapping[str, Any] | None, key: str | None = None
    ) -> tuple[int, bytes]:
        aws_calls.record_call("secretsmanager:GetSecretValue", "rpc-urls")  # the provider's key
        self.calls.append((method, path))
        trouble = self.trouble(method, path)
        if trouble == "down":
            raise ProviderUnavailable("ResponseTimeout")
        if isinstance(trouble, tuple):
            return trouble
        body = None if content is None else json.loads(json.dumps(content))
        response = self.provider.respond(JsonRequest(method, path, {}, body, {"idempotency-key": key} if key else {}))
        if trouble == "lost":
            raise ProviderUnavailable("ResponseTimeout")
        return response.status, json.dumps(response.body).encode()
