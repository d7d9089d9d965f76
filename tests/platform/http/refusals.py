"""Every 400 to a request that fits its schema: rules that no schema can say, each with its reason.

A refusal that is not listed here is a defect: the schema has to say it (chalicelib/platform/http/fields.py), or the service to
accept it. `FORMATS` of generated.py keep most requests away from these rules, so that what follows them is reached, too.
"""

import re
from typing import Any

_ADDRESS = {
    "do not match the EIP-55 checksum": "a checksum",
    "Invalid (EVM|Tron) address": "a checksum, or the family of addresses of the network that another field names",
    "Invalid Ethereum address": "a checksum",
}
_DESTINATION = {
    "Invalid destination ID format": "the checksums within",
    "names a chain or token that is not supported": "what the catalogue has",
}
_CURRENCY = {
    r"(Currency|Network) \S+ is not supported": "what the catalogue has, more than 200 ids with their aliases",
    "is not a dollar token": "what the catalogue has",
    "has too many decimals|too large|larger than": "the decimals of the currency, and sums",
}
_COMBINATION = "fields of a query, whose combinations OpenAPI cannot describe"
_LIST = {
    "cursor is not one of this list": "base64 of a position and the filters that it belongs to",
    "offset cannot be sent together with cursor": _COMBINATION,
    "toDate must be after or equal to fromDate": _COMBINATION,
    "is not a day or time of the calendar": "dates that a calendar does not have",
    "clientId must be the client ID that is sent": "the credential",
}
_EXPIRY = {
    "expiresAt must be in the future|expiresAt can be no later": "the time",
    "is not a day or time of the calendar": "dates that a calendar does not have",
}
_PAYMENTS = {**_LIST, **_ADDRESS, "is not a currency|is not a network": "what the catalogue has"}
_FEE = {"feeAddress: is the zero address": "the Tron spelling of it", **_ADDRESS}
_NAME = {"is a name, and": "whether the deployment has a node of mainnet, and the network of the payment"}
_CAP = {"No more than|at most": "how many there are already"}
_PAYOUTS = {
    "Multicall validation failed": "the payouts that the tokens name",
    "A batch has one": "the payouts that the tokens name",
    "more than once|twice|repeated": "JSON Schema counts an array's entries and does not compare these",
}
_DOMAIN = {"is not an origin": "IPv6 addresses and ports", "must start with https": "which names are this machine's"}
_CLIENT = {
    **_DOMAIN,
    **_ADDRESS,
    **_CAP,
    "feeAddress is required": "the setting that is stored already",
    "orchestratorId is not the id": "which orchestrators there are",
    "payeeDestinationId is not an active": "which destinations there are",
    "allowedPayees: .* is the zero address": "the Tron spelling of it",
    "allowedCurrencies: .* is not supported": "what the catalogue has",
    "cannot reactivate revoked": "the status that is stored",
}
_BRANDING = {
    "logo": "the bytes of an image",
    "Give all five colours or none": "null counts as left out",
    "has a contrast of": "the contrast of two colours",
    "must be a safe https URL": "hosts that no URL parser takes",
}
_CHOICE = {"must be an active client ID": "which client ids the account has"}
_REDIRECT = {"must be a safe http": "characters that are not seen, and hosts that no URL parser takes"}
_ROUTE = {
    **_ADDRESS,
    "chainId is not of a supported network": "what the catalogue has",
    "tokenAddress is not a supported token": "what the catalogue has",
}
_NONCE = {"Invalid or expired nonce": "which nonces were issued", "Invalid signature": "what was signed"}
_EMAIL = {
    "email must be an e-mail address": "characters that cannot be printed, and the length of what is before the @",
    "email must have a domain|email must have at most": "the lengths of a domain's labels, and domains that are not ASCII",
}
_LINK = {"This link was used already, or has expired": "which links were sent"}
_PASSKEY = {
    "is not in base64url": "lengths that no bytes have in base64",
    "clientDataJSON is not what a browser writes": "the JSON within base64url",
}

_PAYING = {
    "feePercentage and feeAddress must be given together|wallet is needed": _COMBINATION,
    "which has set its fee": "whether the request is part of a link",
    "^to: Invalid (EVM|Tron) address": "the network of the request",
    "is the payee": "whom the request pays",
    **_FEE,
    **_CURRENCY,
}
_COLLECTING = {
    "with erc3009 and permit2|with a signature": "two fields of which null counts as left out",
    "payer is": "who pays",
    "amount must be from 1": "the largest amount of the payment",
    "feeBps must be|feeReceiver (must be|is missing)": "the terms of the payment",
    **_ADDRESS,
}
_RECURRING = {
    "cannot be paid by recurring payouts|makes no recurring payments|is not deployed": "the networks of the currencies",
    "must be .*, as paymentCurrency": "two fields that name one currency",
    "startDate is in the past|startDate is too late|startDate must be a date": "the time",
    "payer is the payee|is not recurrence.payer": "two fields that name one address",
    "larger than a recurring payment can be": "the decimals of the currency",
}
_PAYING_OUT = {
    **_NAME,
    "feePercentage and feeAddress must be given together": "null counts as left out",
    "is not supported in crosschain payment|is not exchanged for|at least 1 USD": "what is paid out",
    "is needed with chain and token": "either of two fields that name one wallet",
    "chain cannot be given with recurrence": "null counts as left out",
    "is the payee|another name of payerWallet": "two fields that are equal",
    "cannot be paid": "what the catalogue has, and what can be converted",
    "zero address": "the Tron spelling of it",
    "is not an address of": "the network of the currency",
    "add up to more than": "sums",
    "must be an e-mail address": "characters that cannot be printed",
    **_FEE,
    **_CURRENCY,
}

REFUSALS: dict[str, dict[str, str]] = {
    "add_payment_details": _CAP,
    "pay_on_test_chain": {
        "is not a token of GET /v2/currencies": "what the catalogue has",
        "send one of token and requestId": "null counts as left out",
        "is of one request|less than the smallest unit|has too many decimals|too large": "the link that is paid",
        "is not an address of|is the payee": "the network of the link, and whom it pays",
        **_ADDRESS,
    },
    "mine_test_blocks": {"is not a network of GET /v2/currencies": "what the catalogue has"},
    "reorganise_test_chain": {"is not a network of GET /v2/currencies": "what the catalogue has"},
    "advance_test_clock": {"The clock would be more than": "how far it is ahead already"},
    "list_currencies": {"firstOnly can only be used": _COMBINATION},
    "create_request": {
        **_CHOICE,
        **_NAME,
        "payee is required": "whether the client id is bound to a destination",
        "payer is the payee": "two fields that are equal",
        "cannot be paid": "what the catalogue has, and what can be converted",
        "zero address": "the Tron spelling of it",
        "startDate": "days in the past, and dates that a calendar does not have",
        "email must be an e-mail address": "characters that cannot be printed",
        **_ADDRESS,
        **_CURRENCY,
    },
    "pay_request": {
        **_PAYING,
        "chain and token must be given together|another name of wallet|not possible with chain and token": _COMBINATION,
        "is not supported in crosschain payment|is not exchanged for|at least 1 USD": "the currency of the request",
        "This request is paid to a wallet": "whether the request may be paid out to a bank account",
    },
    "read_plain_transfer": _ADDRESS,
    "list_routes": {**_PAYING, "Invalid or missing wallet address": "a checksum"},
    "pay_out": {**_PAYING_OUT, **_RECURRING},
    "pay_out_by_former_path": {**_PAYING_OUT, **_RECURRING},
    "activate_recurring": {
        "Invalid signature provided": "a signature of the payer",
        "is already": "the status that is stored",
        "can be used no longer": "the time",
    },
    "read_permit": {"is already": "the status that is stored"},
    "change_recurring": {
        "is already|Cannot cancel|is not paused": "the status that is stored",
        "Invalid action": "the published answer names the action",
        "can be used no longer": "the time",
    },
    "pay_batch": {
        **_PAYING_OUT,
        "Give either requests or requestIds": "null counts as left out",
        "All requests must be on the same network|not supported for TRON": "the networks of the currencies",
        "names .* more than once": "JSON Schema counts an array's entries and does not compare these",
        "fit into one transaction": "the gas of the payments",
    },
    "propose_to_safe": {
        **_ADDRESS,
        "nonce and signature are sent together": "null counts as left out",
        "value is too large": "2^256",
        "is not supported|has no Safe Transaction Service|has no contract|there is no Safe": "the settings, and the chain",
        "signature: is not that of": "what was signed",
    },
    "create_commerce_payment": {
        **_CHOICE,
        "There is no escrow|cannot be held": "the networks of the currencies",
        "(amount|maxAmount) is larger|maxAmount must not": "sums, and 2^120",
        "Expiry must|minFeeBps must": "the time, and the order of two numbers",
        "is the merchant": "two fields that name one address",
        **_ADDRESS,
        **_CURRENCY,
    },
    "authorize_commerce_payment": _COLLECTING,
    "authorize_commerce_calldata": _COLLECTING,
    "charge_commerce_payment": _COLLECTING,
    "charge_commerce_calldata": _COLLECTING,
    "capture_commerce_payment": {"captureAmount must be from 1": "what is held", **_COLLECTING},
    "capture_commerce_calldata": {"captureAmount must be from 1": "what is held", **_COLLECTING},
    "refund_commerce_payment": {"refundAmount must be from 1": "what was captured"},
    "refund_commerce_calldata": {"refundAmount must be from 1": "what was captured"},
    "update_secure_payment": _EXPIRY,
    "cancel_request": {"is part of a link|is a period of": "what the request is"},
    "update_request": {"has no recurrence": "what was created"},
    "create_secure_payment": {
        **_CHOICE,
        **_EXPIRY,
        **_NAME,
        "needs destinationId, or payee": "whether the client id is bound to a destination",
        "cannot be paid": "what the catalogue has, and what can be converted",
        "A batch is paid on one network|not supported for TRON": "the networks of the currencies",
        "zero address": "the Tron spelling of it, or within a destination id",
        **_REDIRECT,
        **_FEE,
        **_DESTINATION,
        **_CURRENCY,
    },
    "create_payout": {
        **_CHOICE,
        **_EXPIRY,
        **_NAME,
        "network and currency have to agree": "the network of the currency",
        "is the recipient": "two fields that are equal",
        **_REDIRECT,
        **_FEE,
        **_CURRENCY,
    },
    "create_payouts": {
        **_CHOICE,
        **_EXPIRY,
        **_NAME,
        "needs destinationId, or payee": "whether the client id is bound to a destination",
        "cannot be paid|as paymentCurrency": "what the catalogue has, and two fields that differ",
        "A batch is paid on one network|not supported for TRON": "the networks of the currencies",
        "is creatorWalletAddress": "two fields that are equal",
        "zero address": "the Tron spelling of it, or within a destination id",
        **_REDIRECT,
        **_FEE,
        **_DESTINATION,
        **_CURRENCY,
    },
    "preview_fees": {
        "must be an id, such as USDC-base, if there are payees": "two fields, and which texts are ids of the catalogue",
        **_ADDRESS,
        **_CHOICE,
        **_CURRENCY,
    },
    "create_multicall_payout": _PAYOUTS,
    "batch_payouts": {**_REDIRECT, **_PAYOUTS},
    "read_secure_payment": _ADDRESS,
    "pay_secure_payment": {
        "must be given together|cannot be given together|wallet is needed with": _COMBINATION,
        "is not supported in crosschain payment|is not exchanged for|at least 1 USD": "what the link asks for",
        "several payments is paid on its own network": "how many payments the link asks for",
        "is the payee": "whom the link pays",
        "is not possible with": _COMBINATION,
        **_ADDRESS,
    },
    "reclaim_secure_payment": {"is not a commerce payment": "what the link asks for", **_ADDRESS},
    "send_payment_intent": {
        "nonce and deadline have to be those|does not accept": "what was signed",
        "the signature has 65 bytes": "that an approval is signed by a key alone",
    },
    "send_gasless_payment": {"does not accept it|has to be the hexadecimal": "what was signed"},
    "send_gasless_payment_of_link": {"does not accept it|has to be the hexadecimal": "what was signed"},
    "refresh_step_transaction": {"This step does not pay this link": "the token in the path", **_ADDRESS},
    "record_intent": {
        "needs no intent": "the network of the link",
        "must be in the future": "what time it is",
        "Unsupported crosschain configuration": "the currency of the link",
        "is not a contract|is not a Safe": "what is on the chain",
        **_ADDRESS,
    },
    "delegate_energy": {
        "delegates no energy|Energy is delegated|is the amount|can pay this link": "the link and what the wallet has",
        **_ADDRESS,
    },
    "broadcast_transaction": {
        "is not the SHA-256": "a hash",
        "is not a transaction": "a protocol buffer",
        "none of those that pay this link": "the transactions of the link",
        "signature": "what was signed",
    },
    "create_webhook": {
        "Webhook already exists": "which webhooks there are",
        "must lead to a public address": "the address of a host",
        "valid host name or IP address|must use port": "IPv6 addresses, lengths of host names, ranges of ports",
        "roleArn: only|httpSignature: only": "whether the URL is an ARN, which many generators of clients cannot read",
        **_CAP,
    },
    "ask_challenge": _ADDRESS,
    "verify_wallet": {"Invalid signature": "what was signed"},
    "register": _EMAIL,
    "log_in": _EMAIL,
    "ask_confirmation": _EMAIL,
    "confirm_address": _LINK,
    "forgot_password": _EMAIL,
    "reset_password": _LINK,
    "invite": {
        **_EMAIL,
        **_ADDRESS,
        **_CAP,
        "must have email or address, and not both": "null counts as left out",
        "chainId is for a contract wallet": "whether the wallet is one of Tron, and null, which counts as left out",
    },
    "register_passkey": {**_PASSKEY, **_CAP, "The passkey's answer is not valid here": "what was signed"},
    "prove_by_passkey": _PASSKEY,
    "sign_in_by_passkey": _PASSKEY,
    "create_api_key": {
        "expiresAt": "times in the past, and dates that a calendar does not have",
        "is not an IP address or range": "IPv6 addresses",
        **_CAP,
    },
    "update_api_key": {
        "expiresAt": "times in the past, and dates that a calendar does not have",
        "is not an IP address or range": "IPv6 addresses",
    },
    "create_client_id": _CLIENT,
    "update_client_id": _CLIENT,
    "create_client_id_by_session": _CLIENT,
    "update_client_id_by_session": _CLIENT,
    "put_branding": _BRANDING,
    "put_branding_by_session": _BRANDING,
    "read_journal": _PAYMENTS,
    "read_wallet_journal": {"must be a fiat currency": "what the catalogue has", **_PAYMENTS},
    "find_payments": {
        **_PAYMENTS,
        "At least one filter is needed": _COMBINATION,
        "limit must be at most 100": "that more rows than payments are sent, which the header Accept decides",
    },
    "list_requests": {**_LIST, **_ADDRESS},
    "list_recurring": {"cursor is not one of this list": _LIST["cursor is not one of this list"]},
    "list_archived_requests": {"cursor is not one of this list": _LIST["cursor is not one of this list"]},
    "look_up_secure_payment": _LIST,
    "list_events": _LIST,
    "list_next_events": {"after is not one of this list": _LIST["cursor is not one of this list"], **_LIST},
    "read_audit": {"cursor is not one of this list": "base64 of an id"},
    "redeliver_failed": {"since": "dates that a calendar does not have"},
    "read_signing_data": _ROUTE,
    "create_payee_destination": _NONCE,
    "read_active_payee_destination": _ADDRESS,
    "remove_payee_destination": {**_NONCE, "is not active|not the active|cannot be deactivated": "what is active"},
    "keep_own_payee_destination": _ROUTE,
    "change_own_payee_destination": _ROUTE,
    "look_up_own_payee_destination": _DESTINATION,
    "look_up_payout_destination": _ADDRESS,
    "deactivate_own_payee_destination": _DESTINATION,
    "create_orchestrator": {**_CAP, **_EMAIL},
}
REFUSALS["preview_secure_payment"] = REFUSALS["create_secure_payment"]
"""By the operation's name: what its message says, and what a schema would have to know to say it."""


def is_expected(operation: str, answer: Any) -> bool:
    """Whether every problem of a 400 is listed for the operation."""
    if not isinstance(answer, dict) or answer.get("statusCode") != 400:
        return False
    listed = answer["message"] if isinstance(answer["message"], list) else answer.get("errors", [answer])
    patterns = {**REFUSALS.get(operation, {}), "must not contain the character U\\+0000": "whatever the text is otherwise"}
    sentences = [f"{each.get('field', '')} {each['message']}" for each in listed]
    return all(any(re.search(pattern, sentence) for pattern in patterns) for sentence in sentences)
