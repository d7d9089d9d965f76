"""What every part of the service shares and none of it owns: money, ids, addresses, hashes, errors."""
