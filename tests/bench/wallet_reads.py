"""Reading a payer's wallet: the first and later reads of a process, compared with web3 sending the same calls."""

import json
import statistics
import subprocess
import sys

from infra.local.process import ROOT
from infra.local.serving import JsonRequest, JsonResponse, JsonServer
from tests.bench.figures import Figure

STARTS = 5
LATER = 50
_BESIDE = "web3, the same two calls"
_READ = """
from chalicelib.chains.nodes.evm import EvmChain
chain = chain or EvmChain("sepolia", url)
chain.read_wallet("0x" + "11" * 20, [], "0x" + "33" * 20)
"""
_WEB3 = """
from web3 import HTTPProvider
chain = chain or HTTPProvider(url)
chain.make_batch_request([("eth_call", [{"to": "0x" + "11" * 20, "data": "0x"}, "latest"]), ("eth_gasPrice", [])])
"""
_SCRIPT = """
import sys, time
import app
app.load_services().store.client
chain, url, read = None, sys.argv[1], compile(sys.argv[2], "read", "exec")
began = time.process_time()
exec(read)
first = time.process_time()
for _ in range({later}):
    exec(read)
later = (time.process_time() - first) / {later}
print("[", first - began, ",", later, "]")
"""
_AGGREGATED = "0x" + "".join(f"{word:064x}" for word in (32, 1, 32, 1, 64, 32, 7))
"""What Multicall3 returns for one read whose result is 7."""


def measure() -> list[Figure]:
    """Returns CPU times: medians of fresh processes, in turns, with the app imported and a DynamoDB client open."""
    node = JsonServer("the node", _answer)
    samples = [(_seconds(_READ, node.url), _seconds(_WEB3, node.url)) for _ in range(STARTS)]
    node.close()
    service, web3 = (
        [statistics.median(each) for each in zip(*taken, strict=True)] for taken in zip(*samples, strict=True)
    )
    return [
        Figure("a wallet's first read in a process", service[0] * 1e3, "ms", _BESIDE, web3[0] * 1e3, 0.1),
        Figure("a later read", service[1] * 1e3, "ms", _BESIDE, web3[1] * 1e3, 1),
    ]


def _seconds(read: str, url: str) -> list[float]:
    command = [sys.executable, "-c", _SCRIPT.format(later=LATER), url, read]
    seconds: list[float] = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return seconds


def _answer(request: JsonRequest) -> JsonResponse:
    """Serves eth_call, with a fixed result of Multicall3, and eth_gasPrice."""
    results = {"eth_call": _AGGREGATED, "eth_gasPrice": "0x5"}
    answers = [{"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]} for call in request.body]
    return JsonResponse(answers)
