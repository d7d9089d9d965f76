"""The rules of the service: pure functions of their arguments."""


