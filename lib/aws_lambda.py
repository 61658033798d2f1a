"""The same application behind AWS Lambda: Function URLs and API Gateway's HTTP APIs (format 2.0).

The function's handler is `lib.aws_lambda.handler`; install the extra `aws`. It reads the same
names as on Vercel, but nobody sets Vercel's own: set VERCEL_ENV=production (unset, it is a
development server), list the function's host name in ALLOWED_HOSTS, let MAX_DURATION_S equal the
function's time-out, and pack no `.env`, which would be read. Call `GET /api/cron/reconcile` from a
schedule of your own. An HTTP API needs its `$default` stage.
Source: Lambda's Python context object; python-sdk #3121 (a lifespan per invocation fails).
"""

import asyncio
import time
from functools import cache
from typing import Any

from mangum import Mangum
from mangum.types import LambdaContext

from lib.machinery.platform import HOST_ENDS


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one event; the function's own clock says how long a command may take."""
    asyncio.set_event_loop(_loop())
    left_s = context.get_remaining_time_in_millis() / 1000
    ends = HOST_ENDS.set(time.time() + left_s)  # noqa: TID251  an outermost module, as api/ is
    try:
        return _adapter()(event, context)
    finally:
        HOST_ENDS.reset(ends)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Keep one loop for all invocations: pooled connections live as long as their loop."""
    return asyncio.new_event_loop()


@cache
def _adapter() -> Mangum:
    from api.index import app

    return Mangum(app, lifespan="off")
