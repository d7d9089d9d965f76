"""What blocks hold: their hashes and times, headers, logs and receipts, and the payments among them."""
