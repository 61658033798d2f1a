"""The bodies of the items service's requests, and their bounds."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from lib.dev.items_db import RefusedError

ITEM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# JSON's parser has refused lone surrogates before these are asked.
type Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
type Quantity = Annotated[int, Field(ge=0, le=1_000_000)]
type ItemId = Annotated[str, Field(pattern=rf"^{ITEM_ID.pattern}$")]
type Text = Annotated[str, Field(min_length=1, max_length=500)]


class Body(BaseModel):
    """A request's body: nothing is converted, nothing is ignored."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class NewItem(Body):
    """`POST /items`."""

    name: Name
    quantity: Quantity


class ItemChange(Body):
    """`PATCH /items/{id}`: what is sent is changed; the defaults mark absence, null is refused."""

    name: Name = ""
    quantity: Quantity = 0


class Notice(Body):
    """`POST /notices`."""

    item_id: ItemId
    message: Text


class Label(Body):
    """`POST /labels`."""

    item_id: ItemId
    text: Text


async def parse[B: Body](model: type[B], request: Request) -> B:
    """Read and check the body.

    Raises:  RefusedError: `invalid`, naming fields and rules, never values.
    """
    body = await request.body()
    try:
        return model.model_validate_json(body)
    except ValidationError as fault:
        rules = [f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in fault.errors()]
        raise RefusedError("invalid", "; ".join(rules)) from None
