"""The view of receipts."""

from chalicelib.books.receipts import flows, schemas
from chalicelib.books.receipts.flows import Paid
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call
from chalicelib.platform.services import Services
from chalicelib.webhooks.signature_keys.flows import sign_document


def read_receipt(call: Call[None, None]) -> schemas.SignedReceipt:
    paid = flows.find_paid(call.services, call.path["request_id"], Viewer.of(call.caller))
    return signed_receipt(call.services, paid)


def signed_receipt(services: Services, paid: Paid) -> schemas.SignedReceipt:
    """A receipt of what is paid now, signed by the service's key."""
    receipt = schemas.Receipt.of(paid, services.settings.api_url, services.clock(), is_test=services.live is not None)
    document = receipt.model_dump_json(exclude_unset=True).encode()
    return schemas.SignedReceipt(receipt=receipt, jws=sign_document(services.real, document, "receipt+json"))
