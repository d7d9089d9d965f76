"""The operations of the books: receipts and the journal."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation

ROUTES = {
    "receipts.api": (
        Operation("GET", "/v2/request/{request_id}/receipt", "read_receipt", CREDENTIALS, scope="requests:read"),
    ),
    "journal.api": (
        Operation("GET", "/v2/journal", "read_journal", (Mode.API_KEY, Mode.SESSION), scope="requests:read"),
        Operation(
            "GET", "/v2/journal/wallet", "read_wallet_journal", (Mode.API_KEY, Mode.SESSION), scope="requests:read"
        ),
    ),
}
