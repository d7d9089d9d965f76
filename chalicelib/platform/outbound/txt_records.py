"""TXT records of names that users entered, as DNS has them. `dns` is imported by the first look-up."""

from collections.abc import Sequence

DEADLINE_SECONDS = 5.0
_MOST_RECORDS = 50


class NoDnsAnswer(Exception):
    """No server of DNS gave a usable answer in time: whether there are records is not known."""


class TxtRecords:
    """Asks the resolver of the system, in Lambda that of the region, or `servers`, each an address with a port."""

    def __init__(self, servers: Sequence[tuple[str, int]] = (), deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._servers, self._seconds = servers, deadline_seconds

    def of(self, name: str) -> tuple[str, ...]:
        """The texts at a complete name, none if it does not exist. One question. Raises NoDnsAnswer."""
        import dns.exception
        import dns.nameserver
        import dns.resolver

        try:
            resolver = dns.resolver.Resolver(configure=not self._servers)
            if self._servers:
                resolver.nameservers = [dns.nameserver.Do53Nameserver(*each) for each in self._servers]
            found = resolver.resolve(name, "TXT", lifetime=self._seconds, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except (dns.exception.DNSException, OSError) as error:
            raise NoDnsAnswer(type(error).__name__) from error
        texts = (b"".join(each.strings).decode("utf-8", "replace") for each in found)
        return tuple(texts)[:_MOST_RECORDS]
