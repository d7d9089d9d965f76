"""What an account finds of its requests, payments and links: one by its id, lists by what is searched for."""
