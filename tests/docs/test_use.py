"""The sessions of README.md and docs/ on a running local stack, as a reader runs them: by copying each block."""

import csv
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account

from chalicelib.chains.catalogue.tokens import token_with_id
from infra.local.process import free_port
from tests.docs.documents import ALL, DOCS, README, Document
from tests.local.copies import environment
from tests.local.running import SHARED, SharedStack
from tests.support.patience import patience

FUSDC = "fUSDC-sepolia"

pytestmark = pytest.mark.xdist_group(SHARED)


@pytest.fixture(scope="module")
def project(shared_stack: SharedStack) -> Path:
    return shared_stack.project


@pytest.fixture(scope="module")
def stack(shared_stack: SharedStack) -> dict[str, Any]:
    return shared_stack.description()


def run(project: Path, document: Document, **replaced: str) -> list[Any]:
    """Runs the document's session with curl; the JSON values that it printed. A response that is an error fails."""
    session = session_of(document, **replaced).replace("curl -s ", "curl -sS --fail-with-body ")
    done = shell(project, "set -euo pipefail\n" + session)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return json_values(done.stdout)


def session_of(document: Document, **replaced: str) -> str:
    """Its blocks with curl, the README's first one alone: a payment comes between it and the second."""
    blocks = [block for block in document.blocks("sh") if "curl" in block]
    session = blocks[0] if document is README else "\n".join(blocks)
    for old, new in replaced.items():
        session = session.replace(old.lstrip("_"), new)
    return session


def shell(project: Path, commands: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", commands], cwd=project, env=environment(), capture_output=True, text=True, check=False
    )


def json_values(text: str) -> list[Any]:
    """JSON values that follow each other without a separator."""
    decoder, values, position = json.JSONDecoder(), [], 0
    while position < len(text.rstrip()):
        value, position = decoder.raw_decode(text, position)
        values.append(value)
    return values


def saved(project: Path, name: str, block: str) -> Path:
    """A Python block of the README, saved under the name that the text gives it."""
    assert f"`.local/{name}`" in README.text
    file = project / ".local" / name
    file.write_text(block)
    return file


def lines_until(process: subprocess.Popen[str], wanted: set[str]) -> dict[str, str]:
    """The lines it prints until all that are wanted have come, by what they begin with: an event and its URL."""
    timer = threading.Timer(patience(), process.kill)
    timer.start()
    assert process.stdout is not None
    lines: dict[str, str] = {}
    for line in process.stdout:
        event, _, url = line.strip().partition(" http")
        lines[event] = f"http{url}" if url else ""
        if wanted <= lines.keys():
            break
    timer.cancel()
    return lines


def await_listener(port: int) -> None:
    deadline = time.monotonic() + patience()
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=patience()).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def await_json(url: str, headers: dict[str, str], is_wanted: Callable[[Any], bool]) -> None:
    deadline = time.monotonic() + patience()
    while not is_wanted(shown := requests.get(url, headers=headers, timeout=patience()).json()):
        assert time.monotonic() < deadline, shown
        time.sleep(0.5)


def found_again(project: Path) -> tuple[Any, list[dict[str, str]]]:
    """What the README's last block prints, and the rows of the table that it saves."""
    first, last = [block for block in README.blocks("sh") if "curl" in block]
    variables = "".join(line for line in first.splitlines(keepends=True) if re.match(r"\w+(\(\)|=)", line))
    done = shell(project, f"set -euo pipefail\n{variables}{last}")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    table = (project / ".local" / "payments.csv").read_text()
    return json.loads(done.stdout), list(csv.DictReader(table.splitlines()))


def test_the_readme_pays_a_request_receives_its_webhook_finds_and_exports_it(project: Path, stack: dict[str, Any]) -> None:
    port = free_port()
    assert run(project, README, _9999=str(port)) == []
    receive, pay = README.blocks("python")
    receiver = subprocess.Popen(
        [sys.executable, saved(project, "receive.py", receive.replace("9999", str(port)))],
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        await_listener(port)
        forged = requests.post(
            f"http://127.0.0.1:{port}/hook",
            data=b'{"event": "payment.confirmed"}',
            headers={"x-service-signature": "0" * 64},
            timeout=patience(),
        )
        assert forged.status_code == 401
        paid = subprocess.run(
            [sys.executable, saved(project, "pay.py", pay)],
            cwd=project,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(paid.stdout.splitlines()) == 2, "the hashes of an approval and a payment"
        assert "`payment.confirmed`" in README.text
        heard = lines_until(receiver, {"not my order", "payment.confirmed"})
        assert heard.keys() == {"not my order", "payment.confirmed"}
    finally:
        receiver.kill()
        receiver.communicate()
    request_id = id_of_the_request(project)
    url, key = f"{stack['base_url']}/v2/request/{request_id}", {"x-api-key": stack["api_key"]}
    assert requests.get(url, headers=key, timeout=patience()).json()["hasBeenPaid"] is True
    shown = requests.get(heard["payment.confirmed"], timeout=patience()).json()
    assert (shown["requestId"], shown["status"]) == (request_id, "paid")
    found, rows = found_again(project)
    assert [each["request"]["requestId"] for each in found["payments"]] == [request_id]
    assert (rows[0]["requestId"], rows[0]["amount"], rows[0]["reference"]) == (request_id, "12.5", "INV-1")


def test_the_readme_pays_a_link(project: Path, stack: dict[str, Any]) -> None:
    assert "`secure-payments/<token>`" in README.text
    item = {"payee": stack["payee"], "amount": "3", "invoiceCurrency": FUSDC, "paymentCurrency": FUSDC}
    url, key = f"{stack['base_url']}/v2/secure-payments", {"x-api-key": stack["api_key"]}
    made = requests.post(url, json={"requests": [item]}, headers=key, timeout=patience()).json()
    pay = saved(project, "pay.py", README.blocks("python")[1])
    (project / ".local" / "request.json").write_text("{}")
    sent = subprocess.run(
        [sys.executable, pay, f"secure-payments/{made['token']}"],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(sent.stdout.splitlines()) == 2, "the hashes of an approval and a payment"
    await_json(f"{url}?requestId={made['requestIds'][0]}", key, lambda shown: shown.get("status") == "completed")


def test_the_session_of_the_readme_can_be_repeated(project: Path, stack: dict[str, Any]) -> None:
    session, webhook = session_of(README, _9999=str(free_port())), project / ".local" / "webhook.json"
    assert shell(project, session).stderr == ""
    kept, first = webhook.read_text(), id_of_the_request(project)
    assert "400" in shell(project, session).stderr, "the webhook exists"
    assert webhook.read_text() == kept, "its secret is still there"
    assert id_of_the_request(project) != first


def id_of_the_request(project: Path) -> str:
    request_id: str = json.loads((project / ".local" / "request.json").read_text())["requestId"]
    return request_id


def test_the_session_about_credentials(project: Path, stack: dict[str, Any]) -> None:
    user, key, client, audit, ended = run(project, DOCS["credentials"])
    assert user["email"] == stack["email"]
    assert key["scopes"] == ["secure_payments:write"]
    assert client["clientId"].startswith("cli_")
    assert "api_key.created" in {line["action"] for line in audit["entries"]}
    assert ended == {"success": True}


def test_the_session_about_links(project: Path, stack: dict[str, Any]) -> None:
    link, pay = run(project, DOCS["links"])
    assert link["amount"] == "12.5"
    assert len(pay["transactions"]) == 2


def test_the_session_about_requests(project: Path, stack: dict[str, Any]) -> None:
    request, pay, routes, batch = run(project, DOCS["requests"])
    assert (request["status"], request["requestAmount"], request["reference"]) == ("created", "12.5", "ORDER-1001")
    assert request["customerInfo"] == {"firstName": "Ann", "email": "ann@shop.example"}
    assert (pay["metadata"]["amount"], len(pay["transactions"])) == ("5", 2)
    assert [route["id"] for route in routes["routes"]] == ["REQUEST_NETWORK_PAYMENT"]
    assert len(batch["requests"]) == 2 and batch["batchPaymentTransaction"]["data"].startswith("0x92cddb91")


def test_the_session_about_payers(project: Path, stack: dict[str, Any]) -> None:
    person, agreed, _, added, listed = run(project, DOCS["payers"])
    assert person["kycUrl"].endswith(person["userId"])
    assert agreed == {"success": True}
    (account,) = listed["paymentDetails"]
    assert (account["id"], account["bankName"]) == (added["payment_detail"]["id"], "Chase")
    payer, key = f"{stack['base_url']}/v2/payer/ada%40example.com", {"x-api-key": stack["api_key"]}
    await_json(payer, key, lambda shown: shown["isCompliant"] is True)
    await_json(f"{payer}/payment-details", key, lambda shown: shown["paymentDetails"][0]["status"] == "approved")
    (calldata,) = run(project, DOCS["off-ramp"])
    assert len(calldata["transactions"]) == 2
    shown = requests.get(f"{payer}?export=true", headers=key, timeout=patience()).json()
    assert shown["isCompliant"] is True


def test_the_session_about_webhooks(project: Path, stack: dict[str, Any]) -> None:
    webhook, sent = run(project, DOCS["webhooks"])
    assert len(webhook["secret"]) == 64
    assert sent["queued"] == sent["sent"] >= 1


def test_the_sessions_can_be_run_one_after_the_other() -> None:
    """A webhook's URL can be registered only once."""
    registered = [
        url for document in ALL for block in document.blocks("sh") for url in re.findall(r'"url": "(.*?)"', block)
    ]
    assert len(registered) == len(set(registered)) == 2


def test_the_error_that_is_shown_is_the_one_that_is_sent(stack: dict[str, Any]) -> None:
    unknown = requests.get(
        f"{stack['base_url']}/v2/secure-payments/unknown", headers={"x-api-key": stack["api_key"]}, timeout=patience()
    )
    (shown,) = DOCS["api"].blocks("json")
    assert unknown.json() == json.loads(shown)


# --- the steps of docs/credentials.md ---


def test_a_destination_is_bound_by_the_three_steps(stack: dict[str, Any]) -> None:
    url, key, wallet = stack["base_url"], {"x-api-key": stack["api_key"]}, Account.create()
    body = {"label": "bound", "allowedDomains": [stack["origin"]]}
    made = requests.post(f"{url}/v2/client-ids", json=body, headers=key, timeout=patience()).json()
    page = {"x-client-id": made["clientId"], "origin": stack["origin"], **key}
    token = token_with_id(FUSDC)
    assert token is not None
    route = {"tokenAddress": token.address, "chainId": str(token.chain_id)}
    query = {"walletAddress": wallet.address, "action": "add", **route}
    typed = requests.get(f"{url}/v2/payee-destination/signing-data", params=query, headers=page, timeout=patience()).json()
    signature = wallet.sign_typed_data(typed["domain"], typed["types"], typed["message"]).signature
    sent = {"signature": "0x" + bytes(signature).hex(), "nonce": typed["message"]["nonce"]}
    bound = requests.post(f"{url}/v2/payee-destination", json=sent, headers=page, timeout=patience())
    assert bound.status_code == 201, bound.text
    link = requests.post(
        f"{url}/v2/secure-payments", json={"requests": [{"amount": "12.50"}]}, headers=page, timeout=patience()
    )
    assert link.status_code == 201, "from amounts alone, as the document says"
