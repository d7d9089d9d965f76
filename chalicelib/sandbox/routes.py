"""The operations of test mode, for API keys that are marked as test; and for the payment page of a test link."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_KEYS = (Mode.API_KEY,)
_WRITE = "requests:write"

ROUTES = {
    "api": (
        Operation("GET", "/v2/test", "read_sandbox", _KEYS, scope="requests:read"),
        Operation("POST", "/v2/test/pay", "pay_on_test_chain", _KEYS, scope=_WRITE, status=201),
        Operation(
            "POST", "/v2/test/pay/{token}", "pay_test_link", (Mode.CLIENT_ID,), scope=_WRITE, status=201,
            looks_up_token=True, by_page=True,
        ),
        Operation("POST", "/v2/test/blocks", "mine_test_blocks", _KEYS, scope=_WRITE),
        Operation("POST", "/v2/test/reorganise", "reorganise_test_chain", _KEYS, scope=_WRITE),
        Operation("POST", "/v2/test/clock", "advance_test_clock", _KEYS, scope=_WRITE),
    ),
}
