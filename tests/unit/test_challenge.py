"""The gate's HTTP answers, to the letter: clients parse them, models read them."""

import json
from typing import get_args

import pytest

from lib.contract import Scope
from lib.machinery.gate.auth import Refusal, Unauthenticated
from lib.machinery.gate.challenge import (
    challenge,
    metadata_url,
    protected_resource_metadata,
    refuse_scope,
)

RESOURCE = "https://items.example/mcp"
METADATA = "https://items.example/.well-known/oauth-protected-resource/mcp"
BOTH = (Scope("call:tools"), Scope("call:write_tools"))
CHECKED = [reason for reason in get_args(Refusal) if reason != "keys_unavailable"]


def test_a_caller_without_credential_learns_where_and_for_what_to_get_one() -> None:
    answer = challenge(Unauthenticated("missing"), metadata_url=METADATA, scopes=BOTH)

    assert answer.status == 401
    assert answer.headers == {
        "WWW-Authenticate": f'Bearer resource_metadata="{METADATA}", '
        'scope="call:tools call:write_tools"'
    }
    assert answer.body["error"]["code"] == "credential_missing"


@pytest.mark.parametrize("reason", CHECKED)
def test_an_error_is_named_only_where_a_credential_was_presented(reason: Refusal) -> None:
    answer = challenge(Unauthenticated(reason), scopes=[Scope("call:tools")])

    error = "" if reason == "missing" else 'error="invalid_token", '
    assert answer.status == 401
    assert answer.headers == {"WWW-Authenticate": f'Bearer {error}scope="call:tools"'}


def test_keys_that_cannot_be_fetched_are_no_fault_of_the_credential() -> None:
    answer = challenge(Unauthenticated("keys_unavailable"), metadata_url=METADATA, scopes=BOTH)

    assert (answer.status, answer.headers) == (503, {"Retry-After": "5"})
    assert "again in 5 seconds" in answer.body["error"]["message"]


def test_a_missing_scope_names_all_that_the_operation_needs() -> None:
    scopes = [Scope("call:write_tools"), Scope("items:delete")]

    answer = refuse_scope(scopes, metadata_url=METADATA)
    without_tokens = refuse_scope(scopes)

    assert answer.status == without_tokens.status == 403
    assert answer.headers == {
        "WWW-Authenticate": 'Bearer error="insufficient_scope", '
        f'scope="call:write_tools items:delete", resource_metadata="{METADATA}"'
    }
    assert "resource_metadata" not in without_tokens.headers["WWW-Authenticate"]
    assert "call:write_tools items:delete" in answer.body["error"]["message"]


@pytest.mark.parametrize("reason", get_args(Refusal))
def test_every_refusal_is_a_code_and_a_sentence_that_says_nothing_was_done(
    reason: Refusal,
) -> None:
    error = json.loads(json.dumps(challenge(Unauthenticated(reason), scopes=BOTH).body))["error"]

    assert set(error) == {"code", "message"}
    assert error["code"].isidentifier()
    assert error["message"].endswith(". This request executed nothing.")


@pytest.mark.parametrize(
    "hostile", ['a"b', "a\r\nSet-Cookie: x=1", "a\\", "a\x00b", "é✓", "\ud800", "a\x7f", "\u2028"]
)
def test_no_value_can_leave_its_quotes_or_its_line(hostile: str) -> None:
    answers = [
        challenge(Unauthenticated("unknown"), metadata_url=hostile, scopes=[Scope(hostile)]),
        refuse_scope([Scope(hostile)], metadata_url=hostile),
    ]

    for answer in answers:
        header = answer.headers["WWW-Authenticate"]
        assert header.isascii()
        assert header.isprintable()
        assert "\\" not in header
        assert header.count('"') == 6


@pytest.mark.parametrize(
    ("resource", "url"),
    [
        (RESOURCE, METADATA),
        (
            "http://127.0.0.1:3000/mcp",
            "http://127.0.0.1:3000/.well-known/oauth-protected-resource/mcp",
        ),
        ("https://items.example", "https://items.example/.well-known/oauth-protected-resource"),
    ],
)
def test_metadata_is_served_between_host_and_path(resource: str, url: str) -> None:
    assert metadata_url(resource) == url


@pytest.mark.parametrize(
    "issuer", ["https://issuer.example", "https://issuer.example/", "https://I.example/a/"]
)
def test_the_metadata_names_the_issuer_to_the_letter(issuer: str) -> None:
    assert protected_resource_metadata(RESOURCE, issuer, scopes=BOTH) == {
        "resource": RESOURCE,
        "authorization_servers": [issuer],
        "scopes_supported": ["call:tools", "call:write_tools"],
        "bearer_methods_supported": ["header"],
    }
