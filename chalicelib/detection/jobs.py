"""Queue consumer: one tick of one network. A node that does not answer is logged; the next tick is seconds away."""

import json

from chalicelib.aws.store import WriteConflict
from chalicelib.core.errors import ChainUnavailable
from chalicelib.flows import detection
from chalicelib.services import Services


def run(services: Services, body: str) -> None:
    network = json.loads(body)["network"]
    try:
        recorded = detection.scan(services, network)
    except ChainUnavailable as error:
        services.log.error("scan failed", extra={"network": network, "reason": error.message})
    except WriteConflict:
        services.log.info("scan overtaken", extra={"network": network})
    else:
        if recorded:
            services.log.info("payments recorded", extra={"network": network, "count": recorded})
