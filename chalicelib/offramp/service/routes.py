"""The operation that the compliance and off-ramp provider calls."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/provider-events", "receive_event", (Mode.PUBLIC,), rate=Rate.PROVIDER_EVENT, is_repeatable=True,
    ),
)
