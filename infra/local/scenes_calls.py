"""Scenes of payments that a wallet makes in one confirmation, and of what another device sees meanwhile."""

from typing import Any

from infra.local.scenes import Scene, ended_body, note_of

_BATCH: dict[str, Any] = {"id": "0x" + "5f" * 32, "calls": "0x" + "3a" * 32, "until": 0, "answered": "0x01"}


def _status(number: int) -> dict[str, Any]:
    answer = {"version": "2.0.0", "id": "0x01", "chainId": "0xaa36a7", "status": number, "atomic": True}
    return {"wallet_getCallsStatus": {"result": answer}, "eth_getCode": {"result": "0x"}}


def _able(status: str) -> dict[str, Any]:
    return {"wallet_getCapabilities": {"result": {"0xaa36a7": {"atomic": {"status": status}}}}}


CALLS_SCENES: dict[str, Scene] = {
    "claimed": Scene(
        "claimed", link=ended_body(423, code="being_signed", status="pending", signingEndsAt=4_070_908_800)
    ),
    "review-once": Scene("review", says=_able("supported")),
    "review-upgrade": Scene("review", says=_able("ready"), press=("#batch",)),
    "calls": Scene("batch", says=_status(100), note=note_of(txHash=None, batch=_BATCH)),
    "unmade": Scene("unmade", says=_status(400), note=note_of(txHash=None, batch=_BATCH), waits=True),
}
