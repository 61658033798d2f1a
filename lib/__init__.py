"""Two pages (contract, settings), two rooms that are yours (tools, backend), and machinery."""
