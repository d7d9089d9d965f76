"""The operations of payee destinations: for client ids on the API host, for wallet sessions on the auth host."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/payee-destination/signing-data", "read_signing_data",
        "What a wallet signs to add or deactivate a payee destination, with its nonce",
        description="EIP-712 data, or TIP-712 for Tron. Its nonce is valid for five minutes and one use.",
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="payee_destinations:read",
        errors=(400, 401, 403),
    ),
    Operation(
        "POST", "/v2/payee-destination", "create_payee_destination",
        "Bind the client id to the payee destination that a wallet signed for",
        description=(
            "Send the signature of the data of `signing-data`. A client id's first wallet needs an API key beside the "
            "client id, or its `operatorWalletAddress`."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="payee_destinations:write",
        status=201,
        errors=(400, 401, 403, 409),
    ),
    Operation(
        "GET", "/v2/payee-destination", "read_active_payee_destination",
        "The active payee destination of a wallet, or null",
        description="Null if the wallet has none, or if it belongs to another client id.",
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="payee_destinations:read",
        errors=(400, 401, 403),
    ),
    Operation(
        "GET", "/v2/payee-destination/{destination_id}", "read_payee_destination",
        "Read a payee destination",
        description="Also one that is not active any more.",
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="payee_destinations:read",
        errors=(401, 403, 404),
    ),
    Operation(
        "DELETE", "/v2/payee-destination/{destination_id}", "remove_payee_destination",
        "Deactivate a payee destination",
        description=(
            "Its wallet signs for it (`action` deactivate). Afterwards the client id can be bound to another wallet."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="payee_destinations:write",
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "POST", "/v1/payee-destination", "keep_own_payee_destination",
        "Make or reactivate the payee destination of the session's wallet",
        description=(
            "For the session of a wallet; 403 for a session by e-mail. 409 if another destination of the wallet is "
            "active."
        ),
        modes=(Mode.SESSION,),
        status=201,
        errors=(400, 401, 403, 409),
    ),
    Operation(
        "PUT", "/v1/payee-destination", "change_own_payee_destination",
        "Be paid in another token or on another chain",
        description="For the session of a wallet that has an active destination.",
        modes=(Mode.SESSION,),
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "GET", "/v1/payee-destination", "read_own_payee_destination",
        "The active payee destination of the session's wallet, or null",
        description="For the session of a wallet.",
        modes=(Mode.SESSION,),
        errors=(401, 403),
    ),
    Operation(
        "GET", "/v1/payee-destination/lookup", "look_up_own_payee_destination",
        "Read a payee destination of the session's wallet by its id",
        description="Also one that is not active any more. For the session of a wallet.",
        modes=(Mode.SESSION,),
        errors=(400, 401, 403, 404),
    ),
    Operation(
        "GET", "/v1/payee-destination/payout-lookup", "look_up_payout_destination",
        "Where a recipient's wallet is paid, or null",
        description="For whoever pays out to that wallet.",
        modes=(Mode.SESSION,),
        errors=(400, 401, 403),
    ),
    Operation(
        "PATCH", "/v1/payee-destination/deactivate", "deactivate_own_payee_destination",
        "Deactivate the payee destination of the session's wallet",
        description="For the session of a wallet.",
        modes=(Mode.SESSION,),
        errors=(400, 401, 403, 404, 409),
    ),
)
