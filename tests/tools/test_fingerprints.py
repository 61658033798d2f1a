"""What identifies a call outlives a deployment: records are compared with it for 90 days.

Source: PROTOCOL §2, §9.
"""

import pytest
from pydantic import BaseModel

from lib.machinery.runner.fingerprint import fingerprint
from lib.tools.items import CreateItem, OneItem, UpdateItem
from lib.tools.notices import SendNotice

FINGERPRINTS = [
    (
        "create_item",
        CreateItem(name="Lamp é", quantity=3),
        "95580125d0d7ce0713aaee6ff16d7561082ba7c8498250361f399135a0612888",
    ),
    (
        "update_item",
        UpdateItem(item_id="a1", name=None, quantity=0),
        "a39d6dda5603f7b1eef5b89b23c155a4a318954aaf462b423c0b3a36a0ad0e13",
    ),
    (
        "update_item",
        UpdateItem(item_id="a1", name="Lamp", quantity=None),
        "321a19583bd8557b4bced4e77d4725d5150e5247983b2327a48fb1a801bbdc35",
    ),
    (
        "delete_item",
        OneItem(item_id="a1"),
        "436aa6bd2d1ee3602432590b1e512fc3116b9ed3233620d924e422989e403b89",
    ),
    (
        "send_notice",
        SendNotice(item_id="a1", message='Hi\n"x"'),
        "d82c91eaf13ec9167a35c28ed85a5a344d19a52e800c79df36ff5ab4fe5b5801",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "digest"), FINGERPRINTS)
def test_a_fingerprint_outlives_a_deployment(tool: str, arguments: BaseModel, digest: str) -> None:
    assert fingerprint(tool, arguments) == digest
