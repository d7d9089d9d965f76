"""Finding what an account has: payments, requests and links, by what is known of them, as pages and as CSV."""
