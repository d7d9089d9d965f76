"""The table of functions whose calls are explained."""

from eth_utils import keccak

from chalicelib.chains.calldata.explanations.decode import type_text
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS
from tests.chains.calldata.calls import with_structs


def test_the_selectors_are_those_of_the_signatures() -> None:
    for selector, function in FUNCTIONS.items():
        signature = f"{function.name}({','.join(type_text(kind) for _, kind in with_structs(function.parameters))})"
        assert keccak(text=signature)[:4] == selector
