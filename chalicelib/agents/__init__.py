"""Tools for agents: operations of the API by the Model Context Protocol."""
