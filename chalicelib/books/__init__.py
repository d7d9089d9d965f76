"""What bookkeeping needs: receipts of what was paid, and the journal of an account."""
