"""Cold start: importing the app of the unpacked package in a fresh process, as Lambda starts it."""

import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.packaging.package import package
from infra.target import HOST_PACKAGES
from tests.bench.figures import Figure

STARTS = 5
_RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six.py", "urllib3")
"""What Lambda's Python brings with it."""
_BARE = "import bare_app"
_APP = "import app"
_APP_AND_CLIENT = "import app; from chalicelib.platform.storage.clients import aws_client; aws_client('dynamodb')"
_CLIENT = "import app and open the DynamoDB client"
_GOALS = {"import app": 0.3}
_WORKERS = {
    "announce_events, deliver_webhook, retry_webhook and sweep_outbox": "chalicelib.webhooks.jobs",
    "scan_chain and start_scans": "chalicelib.payments.scanning.jobs",
    "record_transfers and sweep_transfers": "chalicelib.payments.recording.jobs",
    "expire_links": "chalicelib.payments.links.expiry",
    "track_announced": "chalicelib.payments.announcements.tracking",
    "run_payment_intents and follow_payment_intent": "chalicelib.crosschain.service.payment_intents.running",
    "run_gasless": "chalicelib.gasless.running",
    "archive_paid": "chalicelib.payments.archive.flows",
    "check_payers": "chalicelib.offramp.payers.checking",
    "check_domains": "chalicelib.accounts.domains.jobs",
    "check_offramps": "chalicelib.offramp.service.checking",
    "run_commerce": "chalicelib.commerce.service.due_payments",
}
"""What the Lambda functions beside the API import with their first message."""
_WORKER = "import app; app.load_services().store.client; import {}"
_TIMED = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def measure() -> list[Figure]:
    """Returns CPU times: the least of fresh processes, in turns, without the interpreter's own start.

    The bare app has the same packages beside it, of which botocore imports pyOpenSSL.
    """
    statements = {
        "import app": _APP,
        _CLIENT: _APP_AND_CLIENT,
        **{name: _WORKER.format(module) for name, module in _WORKERS.items()},
    }
    with _unpacked() as path:
        bare, *taken = _starts(path, (_BARE, *statements.values()))
    reference = "bare Chalice app with a boto3 client"
    return [
        Figure(name, seconds * 1e3, "ms", reference, bare * 1e3, _GOALS.get(name, 1))
        for name, seconds in zip(statements, taken, strict=True)
    ]


def _starts(path: list[Path], statements: tuple[str, ...]) -> list[float]:
    samples: list[list[float]] = [[] for _ in statements]
    for statement in statements:
        _start(statement, path)  # reads the files from the disk
    for _ in range(STARTS):
        for statement, taken in zip(statements, samples, strict=True):
            taken.append(_start(statement, path))
    return [min(taken) for taken in samples]


def _start(statement: str, path: list[Path]) -> float:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-S", "-s", "-c", _TIMED.format(statement)]  # without the packages of this venv
    process = subprocess.run(command, cwd=path[0], env=environment, check=True, capture_output=True)
    return float(process.stdout)


@contextmanager
def _unpacked() -> Iterator[list[Path]]:
    """Yields the folders of modules that a function has, in Lambda's order, and one with the bare app.

    The package has its bytecode. It is that of Linux: elsewhere the packages of this venv take the place of its layer.
    """
    installed = Path(sysconfig.get_path("purelib"))
    with tempfile.TemporaryDirectory() as name:
        built, task, layer, runtime = (Path(name, each) for each in ("built", "task", "layer", "runtime"))
        package("local", built, layer=not HOST_PACKAGES)
        for archive, folder in (("deployment.zip", task), ("layer-deployment.zip", layer)):
            if (built / archive).exists():
                with zipfile.ZipFile(built / archive) as opened:
                    opened.extractall(folder)
        runtime.mkdir()
        for each in _RUNTIME:
            (runtime / each).symlink_to(installed / each)
        (runtime / "bare_app.py").symlink_to(Path(__file__).with_name("bare_app.py"))
        (site,) = [installed] if HOST_PACKAGES else layer.glob("python/lib/*/site-packages")
        yield [task, site, runtime]
