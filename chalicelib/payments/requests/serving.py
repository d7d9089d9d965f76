"""Which networks this deployment serves."""

from collections.abc import Iterable

from chalicelib.base.errors import BadRequest
from chalicelib.platform.services import Services


def check_served(services: Services, networks: Iterable[str]) -> None:
    """Raises BadRequest if this deployment does not read one of the networks."""
    for network in networks:
        if network not in services.chains.networks:
            raise BadRequest(f"This deployment does not serve {network}: payments there would not be seen")
