"""The operation that previews the fee of a payment."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation("POST", "/v2/secure-payments/fees/preview", "preview_fees", CREDENTIALS, scope="secure_payments:read"),
)
