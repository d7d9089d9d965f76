"""Refunds what was paid of a request."""

import json
import urllib.request


def refund(api_key: str, request_id: str, amount: str) -> list[dict[str, str | int]]:
    """The transactions that return `amount` to who paid a request: the payee signs and sends each once, in order."""
    headers = {"x-api-key": api_key, "content-type": "application/json"}
    url = f"https://api.example.com/v2/request/{request_id}/refund"
    body = json.dumps({"amount": amount}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        transactions: list[dict[str, str | int]] = json.load(response)["transactions"]
    return transactions
