"""Machinery: what a person sees in a browser. Knows the catalogue and setting faults, no secret."""
