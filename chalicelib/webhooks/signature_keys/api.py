"""The view of the public keys."""

from chalicelib.platform.http.view import Call
from chalicelib.webhooks.signature_keys import flows, schemas


def list_signature_keys(call: Call[None, None]) -> schemas.PublicKeys:
    found = flows.list_published(call.services)
    return schemas.PublicKeys(keys=[schemas.PublicKey.of(each) for each in found])
