"""Verifying a quote of the router: the whole of it, from the answer's text on, compared with eth_abi alone."""

import json
from collections.abc import Callable

from eth_abi import decode, encode

from chalicelib.chains.calldata.bridges.across import DEPOSIT_PARAMETERS
from chalicelib.crosschain.service.router.verification import Limits, verify
from chalicelib.platform.outbound.lifi import step_of
from tests.bench.figures import Figure, cpu_seconds
from tests.crosschain.service.router.routes import question, wanted
from tests.fakes.router import answer_to
from tests.fakes.world import START

_TYPES = [kind for _, kind in DEPOSIT_PARAMETERS if isinstance(kind, str)]  # it has no array and no struct
_MESSAGE = ["((address,bytes,uint256)[],address)"]
_MILLISECONDS = 2


def measure() -> list[Figure]:
    """Returns CPU milliseconds of one verification, beside what a quote may take, and beside an ABI library."""
    payment = wanted()
    text = json.dumps(answer_to(question(payment), int(START.timestamp())))
    limits = Limits(200, 5)
    service, abi = cpu_seconds(lambda: verify(step_of(json.loads(text)), payment, START, limits), _decoder(text))
    milliseconds = service * 1000
    return [
        Figure("a quote verified", milliseconds, "ms", "what it may take", _MILLISECONDS, 1),
        Figure("a quote verified", milliseconds, "ms", "eth_abi: decoded and encoded again", abi * 1000, 0.5),
    ]


def _decoder(text: str) -> Callable[[], object]:
    """Decodes deposit and message and encodes them again, which is what shows that the bytes are canonical."""

    def decode_again() -> bool:
        data = bytes.fromhex(json.loads(text)["transactionRequest"]["data"][2:])
        values = decode(_TYPES, data[4:])
        message = decode(_MESSAGE, values[-1])
        return bool(encode(_TYPES, values) == data[4:] and encode(_MESSAGE, message) == values[-1])

    if not decode_again():
        raise AssertionError("the encoders do not agree, so their times cannot be compared")
    return decode_again
