"""A token that does not move exactly what it is asked to is found before it is listed: by a node, with the token's own code."""

from collections.abc import Callable

import pytest

from infra import try_token
from infra.local.chain import Chain
from tests.onchain.keeping_token import ALL, ONE_PERCENT, ONE_UNIT, SAYS_FALSE, dollar_token
from tests.onchain.payer import Payer

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
HALF = 500_000 * 10**6
"""Of the million that the holder has, in base units."""
PLAIN = "USDC-base is plain.\n"


@pytest.fixture
def base(chain_of: Callable[[str], Chain]) -> Chain:
    return chain_of("base")


@pytest.fixture
def tried(
    base: Chain, payer_on: Callable[[str], Payer], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """tried("USDC-base"): the exit code, and what is printed; with the code of a token, that is at the address of USDC."""
    holder = payer_on("base").address

    def run(token: str = "USDC-base", code: bytes | None = None, who: str = holder) -> tuple[int, str]:
        if code is not None:
            base.rpc("anvil_setCode", USDC, "0x" + code.hex())
            base.rpc("anvil_setStorageAt", USDC, "0x" + holder[2:].lower().zfill(64), f"0x{2 * HALF:064x}")
        with pytest.raises(SystemExit) as end:
            try_token.main([token, "--node", base.url, "--holder", who])
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out + shown.err

    return run


def test_a_token_that_moves_what_it_is_asked_to_is_plain(base: Chain, tried: Callable[..., tuple[int, str]]) -> None:
    before = base.rpc("eth_blockNumber")
    assert tried() == (0, PLAIN)
    assert tried(code=dollar_token(ALL)) == (0, PLAIN)
    assert base.rpc("eth_blockNumber") == before, "nothing is sent"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (dollar_token(ONE_PERCENT), "Of 1000000 base units 990000 arrive, and the sender has 1000000 less."),
        (dollar_token(ONE_UNIT), "Of 1 base units 0 arrive, and the sender has 1 less."),
        (dollar_token("PUSH0"), "Its Transfer logs of 1000000 base units are [('"),
        (dollar_token(ALL, "TIMESTAMP ADD"), "A year later the balances are ("),
        (dollar_token(ALL, symbol="USDT"), "Its symbol is 'USDT', in the catalogue 'USDC'."),
        (dollar_token(ALL, decimals=18), "It has 18 decimals, in the catalogue 6."),
        (dollar_token(ALL, ending=SAYS_FALSE), "which is not true."),
        (dollar_token("PUSH0 PUSH0 REVERT"), f"It does not move {HALF} base units for who is allowed to take them."),
    ],
    ids=["one percent", "one unit", "nothing", "grows", "symbol", "decimals", "returns false", "refuses"],
)
def test_what_a_token_does_otherwise_is_said_in_words(
    tried: Callable[..., tuple[int, str]], code: bytes, words: str
) -> None:
    exit_code, said = tried(code=code)
    assert exit_code == 1
    assert words in said


def test_what_cannot_be_tried_is_refused_in_a_sentence(base: Chain, tried: Callable[..., tuple[int, str]]) -> None:
    nobody = "0x" + "12" * 20
    assert tried("EUR") == (2, "EUR is not an ERC-20 token of the catalogue.\n")
    assert tried("USDC-mainnet") == (2, "The node is not of mainnet.\n")
    assert tried(who=nobody) == (2, f"{nobody} has less than four USDC.\n")
    assert tried(who="0x12")[0] == 2
    assert tried(code=b"\0") == (2, "The base node does not answer as it should.\n"), "no token at all"
