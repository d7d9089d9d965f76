"""What is owed to whom: requests, their references, and what was paid for them."""
