"""What this deployment can convert."""

from chalicelib.payments.currencies.rules import ConversionFacts
from chalicelib.platform.services import Services


def conversion_facts(services: Services) -> ConversionFacts:
    """The networks that are served, and whether there is a price source."""
    return ConversionFacts(frozenset(services.chains.networks), services.prices.is_configured)
