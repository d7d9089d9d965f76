"""A deployment of which any step fails says which and why, and ends with a status that is not 0.

Each step is broken in the local cloud, which refuses one kind of request, and left as the failure leaves it.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from zipfile import ZipFile

import pytest

from infra import APP
from infra import deploy as deployment
from infra.account import list_deployed_functions
from infra.configuration import variables_of
from infra.iam import function_name
from infra.local.cloud import Cloud
from infra.local.pythons import HERE
from infra.packaging import bundle, package
from infra.packaging.package import chalice
from infra.stack import DeploymentStopped
from infra.target import target_of
from infra.variables import MOST_BYTES
from tests.deploy.faults import CAUSE, Refused, door

pytestmark = pytest.mark.xdist_group("deployment")


@pytest.fixture(scope="module")
def made(cloud: Cloud) -> Iterator[Cloud]:
    """The cloud with the stack of the stage, as each step comes after it."""
    cloud.apply_template("payment-requests-local")
    yield cloud


def broken(cloud: Cloud, refused: Refused, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The last line of a `make deploy` that has to fail."""
    with door(cloud.url, refused) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setattr(sys, "argv", ["deploy", "--stage", "local"])
        status = deployment.main()
    said = capsys.readouterr()
    assert status != 0
    assert "API:" not in said.out
    return said.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("The tables", b"POST /{}"),
        ("The stack", b"Action=GetTemplate"),
        ("The address", b"/restapis"),
        ("The lock", b"/lock.json"),
        ("The kept version", b"-us-east-1/builds/"),
        ("The account", b"Action=GetRole&"),
    ],
)
def test_a_step_before_chalice(
    made: Cloud, step: str, part: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = broken(made, lambda method, path, body: part in f"{method} {path}".encode() + body, capsys, monkeypatch)
    assert last.startswith(f"{step}: ")
    assert CAUSE in last


def test_settings_that_are_too_long_with_those_that_a_deployment_adds(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket of the archive and, without hosts, the URLs of the API; all of it is known before anything is made."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    target = target_of("local")
    before = {**variables_of("local"), **target.settings["environment_variables"]}
    left = MOST_BYTES - sum(len(name + text) for name, text in before.items())
    own = {**target.settings["environment_variables"], "HEADER_BRANDS": json.dumps(["a" * left])}
    with pytest.raises(DeploymentStopped, match=f"^The settings: .*\n +they have .*, and Lambda takes {MOST_BYTES}; .*$"):
        deployment.deploy(replace(target, settings={**target.settings, "environment_variables": own}))


def test_a_package_that_the_registry_does_not_have(
    made: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("no-such-package-of-anybody==1.0 --hash=sha256:" + "0" * 64 + "\n")
    monkeypatch.setattr(package, "LOCK", lock)
    monkeypatch.setattr(package, "PACKAGES", tmp_path / "packages")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    last = broken(made, lambda *_: False, capsys, monkeypatch)
    assert last.startswith("The package: pip download did not succeed: ")
    assert "no-such-package-of-anybody" in last


def test_chalice_that_dies_after_two_of_the_functions(
    made: Cloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count(1)

    def refused(method: str, path: str, _body: bytes) -> bool:
        is_code = (method, path) == ("POST", "/2015-03-31/functions") or path.endswith("/code")
        return is_code and next(numbers) > 2

    last = broken(made, refused, capsys, monkeypatch)
    assert last.startswith("Functions and API: chalice deploy ended with status ")
    assert CAUSE in last


@pytest.fixture
def deployed(made: Cloud) -> Iterator[None]:
    """An API and a function that feeds its own queue, as Chalice leaves them; what was not there is removed again."""
    apis, functions = made.client("apigateway"), made.client("lambda")
    with ExitStack() as made_here:
        if not any(each["name"] == APP for each in apis.get_rest_apis()["items"]):
            api = apis.create_rest_api(name=APP)["id"]
            made_here.callback(apis.delete_rest_api, restApiId=api)
        if "follow_relayed" not in list_deployed_functions(functions, "local"):
            name = function_name("local", "follow_relayed")
            functions.create_function(
                FunctionName=name,
                Runtime="python3.13",
                Handler="app.follow_relayed",
                Role=f"arn:aws:iam::000000000000:role/{name}",
                Code={"ZipFile": _zip_of("app.py", "")},
            )
            made_here.callback(functions.delete_function, FunctionName=name)
        yield


def _zip_of(name: str, text: str) -> bytes:
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr(name, text)
    return packed.getvalue()


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("The error responses of the API", "/gatewayresponses/"),
        ("Who may invoke the functions", "/policy"),
        ("The functions that feed their own queues", "/recursion-config"),
    ],
)
def test_a_step_after_chalice(made: Cloud, step: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "HEALTHY_WITHIN_SECONDS", 0)
    with door(made.url, lambda _method, path, body: part in path + body.decode()) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(DeploymentStopped, match=f"^{step}: ") as stopped:
            deployment.finish(target_of("local"))
    assert stopped.value.status == 1
    assert CAUSE in str(stopped.value) or "403" in str(stopped.value)


def test_an_api_that_cannot_read_whether_payments_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok", "payments": "unknown"}')

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setattr(deployment, "HEALTHY_WITHIN_SECONDS", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(DeploymentStopped, match="does not answer: it cannot read whether payments are stopped"):
            deployment.wait_until_healthy(f"http://127.0.0.1:{server.server_port}", "local")
        server.shutdown()


def test_a_chalice_that_ends_by_an_exception(tmp_path: Path) -> None:
    """It returns a status then, and does not raise it."""
    (tmp_path / ".chalice").mkdir()
    (tmp_path / ".chalice" / "config.json").write_text(json.dumps({"version": "2.0", "app_name": "x"}))
    (tmp_path / "app.py").write_text("raise RuntimeError('no app here')")
    with pytest.raises(DeploymentStopped, match="chalice package ended with status"):
        chalice(tmp_path, ["package", "out"], HERE)


def test_a_machine_without_the_python_of_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "find_python", lambda _: None)
    with pytest.raises(DeploymentStopped, match=r"^The functions run on Python 3\.13, .* so that `python3\.13` starts") as stopped:
        bundle.need_python("3.13")
    assert stopped.value.status == 2


def test_a_python_that_lambda_does_not_have_or_the_service_does_not_run_on() -> None:
    with pytest.raises(DeploymentStopped, match=r"functions run on 3\.11, 3\.12, 3\.13"):
        bundle.need_python("3.10")
