"""Machinery: who may do what. Knows grants, scopes, endpoints; imports contract and settings.

What the store says (a used-up rate limit, a record to approve) reaches it as values.
"""
