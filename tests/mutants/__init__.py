"""Mutation testing: small changes of the code, each of which the tests of its own room have to notice."""
