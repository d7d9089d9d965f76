"""The tests. This file makes them a package, as one of the packages that they need installs a folder `tests` of its own."""
