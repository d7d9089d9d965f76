"""The programs of the page /docs: they stand on it, and run as they stand."""

import hashlib
import hmac
import json
import subprocess
from html import escape
from pathlib import Path
from typing import Any

import pytest

from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.http.documents import EXAMPLE_URL
from infra.documents.reference import SAMPLES
from tests.fakes.requests import store_request
from tests.fakes.world import WALLET
from tests.support.browser import get
from tests.support.client import Api, Shop
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_transfers import paid_by, store_payment_of

MODULES = Path(__file__).parents[2] / "infra/local/node_modules"
SECRET, BODY = "whsec_of_a_test", '{"event":"payment.confirmed","note":"é"}'.encode()
SIGNATURE = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
SIGNATURES = {SIGNATURE: True, SIGNATURE[1:]: False, SIGNATURE.upper(): False, "0" * 64: False, "é" * 64: False, "": False}

PAID = {"paid": 12_500_000, "received": 12_500_000, "status": RequestStatus.PAID, "payment_count": 1}


def python(name: str, url: str = EXAMPLE_URL) -> dict[str, Any]:
    """What a program defines, as it is served at that URL."""
    defined: dict[str, Any] = {}
    exec((SAMPLES / f"{name}.py").read_text().replace(EXAMPLE_URL, url), defined)
    return defined


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs in TypeScript, compiled under strict rules."""
    folder = tmp_path_factory.mktemp("samples")
    files = [folder / f"{path.stem}.mts" for path in SAMPLES.glob("*.ts")]
    for file in files:
        file.write_text((SAMPLES / f"{file.stem}.ts").read_text())
    options = ("--strict", "--target", "es2022", "--module", "nodenext", "--typeRoots", MODULES / "@types", "--types", "node")
    subprocess.run([MODULES / ".bin/tsc", *options, "--skipLibCheck", *files], check=True, capture_output=True, text=True)
    return folder


def typescript(name: str, call: str, folder: Path, url: str = EXAMPLE_URL) -> Any:
    """The value of `call`, which may use what a compiled program exports, as it is served at that URL."""
    program = folder / f"{name}.mjs"
    program.write_text(program.read_text().replace(EXAMPLE_URL, url))
    script = f"import * as sample from './{name}.mjs'; console.log(JSON.stringify(await {call}));"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=folder, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def test_every_program_stands_on_the_page_in_python_and_in_typescript(api: Api) -> None:
    page = get(api, "/docs").body.decode()
    names = {path.stem for path in SAMPLES.iterdir()}
    assert names == {"refund", "verify_webhook"}
    for path in (SAMPLES / f"{name}.{ending}" for name in names for ending in ("py", "ts")):
        url = page.partition(", at <code>")[2].partition("</code>")[0]
        assert escape(path.read_text().rstrip().replace(EXAMPLE_URL, url), quote=False) in page


def test_a_webhook_is_taken_for_genuine_if_it_is(compiled: Path) -> None:
    is_genuine = python("verify_webhook")["is_genuine"]
    assert {each: is_genuine(BODY, each, SECRET) for each in SIGNATURES} == SIGNATURES
    assert not is_genuine(BODY + b" ", SIGNATURE, SECRET)
    sent = f"Buffer.from({BODY.decode()!r})"
    call = f"{json.dumps(list(SIGNATURES))}.map((each) => sample.isGenuine({sent}, each, {SECRET!r}))"
    assert typescript("verify_webhook", call, compiled) == list(SIGNATURES.values())


def test_a_refund_answers_with_what_the_payee_signs(new_shop: Shop, node: Node, compiled: Path) -> None:
    url = f"http://127.0.0.1:{new_shop.api.port}"
    request = store_request(running(), new_shop.account_id, client_id=new_shop.client_id, **PAID)
    store_payment_of(request, 12_500_000)
    paid_by(node, WALLET, 12_500_000)
    wanted = new_shop.api.request("POST", f"/v2/request/{request.request_id}/refund", {"amount": "6.25"}, new_shop.by_key)
    assert wanted.status == 200 and len(wanted.json["transactions"]) == 2
    found = python("refund", url)["refund"](new_shop.key, request.request_id, "6.25")
    call = f"sample.refund({new_shop.key!r}, {request.request_id!r}, '6.25')"
    assert found == typescript("refund", call, compiled, url) == wanted.json["transactions"]
    with pytest.raises(subprocess.CalledProcessError, match="non-zero"):
        typescript("refund", call.replace("6.25", "1000000"), compiled, url)
