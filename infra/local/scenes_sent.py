"""Scenes of what was sent from another device, or by a wallet that says otherwise, and of too much that was paid."""

import json

from infra.local.scenes import HASH, LINK, PAY, TOKEN, Scene, ended_body, error_of, note_of, quote_of

_ALLOWED = quote_of()
_ALLOWED |= {
    "transactions": _ALLOWED["transactions"][1:],
    "metadata": {**_ALLOWED["metadata"], "explanation": _ALLOWED["metadata"]["explanation"][1:]},
}
"""What pays without an approval."""
_OTHER = "0x" + "9c0d" * 16
_SURPLUS = {"network": "sepolia", "status": "surplus", "excessAmount": "12.5", "currency": "fUSDC-sepolia"}
_WAITING = {"txHash": HASH, "network": "sepolia", "status": "waiting"}
_PAID_TWICE = ended_body(409, requestStatuses=[{"txHash": _OTHER}], sentTransactions=[{"txHash": HASH, **_SURPLUS}])
_SENT_HERE = f"localStorage.setItem('sent:{TOKEN}', '{json.dumps({'secret': '5e' * 32, 'hashes': [HASH]})}');"
_DECLINES = {"eth_sendTransaction": error_of(4001), "eth_getCode": {"result": "0x"}}

SENT_SCENES: dict[str, Scene] = {
    "warned": Scene("warned", link=(200, {**LINK, "sentTransactions": [_WAITING]})),
    "checking": Scene("checking", pay=(200, _ALLOWED), says=_DECLINES, press=PAY),
    "declined-unknown": Scene("asked", note=note_of(txHash=None, code="declined", isDoubted=True)),
    "surplus": Scene("completed", link=_PAID_TWICE, before=_SENT_HERE),
    "surplus-other": Scene("completed", link=_PAID_TWICE),
}
