"""The memory of each function: the peak of a fresh process that imports what the function needs and runs it once.

AWS answers here that it has nothing, so that no fake of it takes memory. ROOM is for what work adds.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from math import ceil
from typing import Any

from infra.configuration import ROOT, functions_of
from tests.bench.deployment import local_settings, request
from tests.bench.figures import Figure

ROOM = 1.5
"""How many times its peak a function has as memory at least."""
LEAST, STEP = 128, 64
"""Memory in MB: what Lambda gives at least, and in what steps it is configured here."""
_RUN = """
import json, resource, sys, time
from pathlib import Path
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

class Nothing:
    def stream(self):
        answer = {"Items": [], "Count": 0, "ScannedCount": 0, "SecretString": "{}", "VersionId": "none"}
        return [json.dumps(answer).encode()]

URLLib3Session.send = lambda self, request: AWSResponse(request.url, 200, {}, Nothing())
import app
name, event = json.loads(sys.argv[1])
getattr(app, name)(event, None)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes, on macOS
if sys.platform == "linux":  # there it is at least that of the process which started this one
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
print()
print(json.dumps([peak, time.process_time()]))
"""
_BODY = {
    "announce_events": {"eventIds": []},
    "deliver_webhook": {"deliveryId": "none", "attempt": 1},
    "retry_webhook": {"deliveryId": "none", "attempt": 1},
    "scan_chain": {"network": "sepolia"},
    "record_transfers": {"account": "none", "bills": ["none"]},
    "follow_relayed": {"network": "sepolia"},
    "execute_recurring": {"requests": []},
    "follow_payment_intent": {"paymentIntent": "none"},
    "send_mail": {"mailId": "none"},
    "note_mail": {"notificationType": "Delivery", "mail": {}},
}
"""A message of each queue, about what does not exist."""
_TICK = dict.fromkeys(("version", "account", "region", "detail", "detail-type", "source", "time", "id"), "")


@dataclass(frozen=True)
class Run:
    """What one function takes in a fresh process: MB at its peak, and CPU seconds with the start of Python."""

    peak: float
    seconds: float

    @property
    def least(self) -> int:
        """The least memory to configure, in MB."""
        return max(LEAST, ceil(self.peak * ROOM / STEP) * STEP)


def measure() -> list[Figure]:
    """The peak of each function, compared with its memory in stage prod."""
    return [
        Figure(
            name, run.peak, "MB", "configured", memory, 1 / ROOM,
            note=f" ({run.seconds:.2f} s of CPU; at least {run.least} MB)",
        )
        for name, memory in configured().items()
        for run in [run_once(name)]
    ]


def configured() -> dict[str, int]:
    """The memory of each function of stage prod in MB."""
    return {name: own["lambda_memory_size"] for name, own in functions_of("prod").items()}


def run_once(function: str) -> Run:
    """Runs a function in a fresh process. Raises CalledProcessError if it fails."""
    given = ["app" if function == "api_handler" else function, _event(function)]
    process = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(given)],
        cwd=ROOT,
        env={**os.environ, **local_settings(), "RELAYER_KEYS": "{}"},
        check=True,
        capture_output=True,
    )
    return Run(*json.loads(process.stdout.splitlines()[-1]))


def _event(function: str) -> dict[str, Any]:
    if function == "api_handler":
        return request("GET", "/v2/health")
    if function in _BODY:
        return {"Records": [{"body": json.dumps(_BODY[function]), "receiptHandle": "none"}]}
    return {**_TICK, "resources": []}
