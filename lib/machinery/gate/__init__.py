"""Machinery: who may do what. Knows grants, scopes, endpoints; imports contract and settings.

The audit line also names a tool's annotations, and an approval the runner's intent. What the store
says reaches it as values.
"""
