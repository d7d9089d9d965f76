"""What this deployment can convert."""

from chalicelib.currencies.rules import ConversionFacts
from chalicelib.services import Services


def conversion_facts(services: Services) -> ConversionFacts:
    """The networks that are served, and whether there is a price source."""
    return ConversionFacts(frozenset(services.chains.networks), services.prices.is_configured)
