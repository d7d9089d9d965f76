"""The operation that the compliance and off-ramp provider calls."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/provider-events", "receive_event",
        "An event of the compliance and off-ramp provider",
        description=(
            "For the provider alone, which signs each event: `x-provider-signature` is the lower-case hex HMAC-SHA256 "
            "of `<x-provider-timestamp>.<body>`, not older than five minutes. It may send an event again, late, or in "
            "another order: only a newer `sequence` counts. 404 for what this service has not sent to the provider."
        ),
        modes=(Mode.PUBLIC,),
        rate=Rate.PROVIDER_EVENT,
        is_repeatable=True,
        errors=(400, 401, 403, 404),
    ),
)
