"""E-mail addresses of people: registration by a link, confirming an address, and passwords set by a link."""
