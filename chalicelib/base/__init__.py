"""Money, ids, addresses, hashes, timestamps, stored records and errors: shared by every other package."""
