"""Real parts for tests: the engine behind its REST front, the items service, servers, clients."""
