"""Cold start: importing the app in a fresh process, with and without bytecode of the packaged modules."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.bench.figures import Figure
from infra.local.process import ROOT

STARTS = 9
HEAVY = ("web3", "eth_account", "eth_abi", "eth_utils", "tronpy", "aiohttp", "boto3", "botocore.client", "moto")
_BARE = "import infra.bench.bare_app"
_APP = "import app"
_APP_AND_CLIENT = "import app; from chalicelib.storage.clients import aws_client; aws_client('dynamodb')"
_WORKERS = {
    "announce_events, deliver_webhook, retry_webhook and sweep_outbox": "chalicelib.webhooks.jobs",
    "scan_chain and start_scans": "chalicelib.scanning.jobs",
    "record_transfers and sweep_transfers": "chalicelib.recording.jobs",
    "expire_links": "chalicelib.links.jobs",
    "track_intents": "chalicelib.checkout.intents.jobs",
    "run_permits": "chalicelib.checkout.permits.jobs",
    "check_payers": "chalicelib.payers.jobs",
    "check_offramps": "chalicelib.offramp.jobs",
    "run_commerce": "chalicelib.escrow.jobs",
}
"""What the Lambda functions beside the API import with their first message."""
_WORKER = "import app; app.services().store.client; import {}"
_TIMED = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def measure() -> list[Figure]:
    """Returns CPU times: medians of fresh processes, in turns, without the interpreter's own start."""
    figures, reference = [], "bare Chalice app with a boto3 client"
    with _bytecode() as (with_pyc, without_pyc):
        for label, folder in (("with .pyc", with_pyc), ("without .pyc", without_pyc)):
            workers = tuple(_WORKER.format(module) for module in _WORKERS.values())
            bare, app, app_and_client, *of_workers = _starts(folder, (_BARE, _APP, _APP_AND_CLIENT, *workers))
            names = ("import app", "import app and open the DynamoDB client", *_WORKERS)
            figures += [
                Figure(f"{name}, {label}", seconds * 1e3, "ms", reference, bare * 1e3, "<= 1.2")
                for name, seconds in zip(names, (app, app_and_client, *of_workers), strict=True)
            ]
    return figures


def heavy_modules() -> dict[str, bool]:
    """Returns for each heavy module whether `import app` loads it."""
    process = subprocess.run(
        [sys.executable, "-c", f"import json, sys, app; print(json.dumps([m in sys.modules for m in {HEAVY}]))"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return dict(zip(HEAVY, json.loads(process.stdout), strict=True))


def _starts(bytecode: Path, statements: tuple[str, ...]) -> list[float]:
    samples: list[list[float]] = [[] for _ in statements]
    for _ in range(STARTS):
        for statement, taken in zip(statements, samples, strict=True):
            taken.append(_start(statement, bytecode, write_bytecode=False))
    return [statistics.median(taken) for taken in samples]


def _start(statement: str, bytecode: Path, write_bytecode: bool) -> float:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not write_bytecode:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    process = subprocess.run(
        [sys.executable, "-c", _TIMED.format(statement)], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    return float(process.stdout)


@contextmanager
def _bytecode() -> Iterator[tuple[Path, Path]]:
    """Yields two bytecode folders: one with all bytecode, one with that of the standard library only.

    Without bytecode in the package, Lambda compiles our code and site-packages at every cold start.
    """
    with tempfile.TemporaryDirectory() as folder:
        full, partial = Path(folder, "full"), Path(folder, "partial")
        for statement in (_BARE, _APP_AND_CLIENT, *(_WORKER.format(module) for module in _WORKERS.values())):
            _start(statement, full, write_bytecode=True)
        shutil.copytree(full, partial)
        for shipped in (Path(sysconfig.get_paths()["purelib"]), ROOT):  # in this order: purelib may be inside ROOT
            shutil.rmtree(partial / shipped.relative_to("/"))
        yield full, partial
