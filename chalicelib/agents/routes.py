"""The path at which agents call tools."""

from chalicelib.platform.http.operation import PageRoute

ROUTES = {"api": (PageRoute("/mcp", "answer_agent", ("POST",)),)}
