"""The only function: joins the rooms and exports `app`. Clocks and randomness enter here."""

import time
from secrets import token_hex

from lib.machinery.loading import loading

with loading("lib.machinery.app"):
    from lib.backend import connect
    from lib.machinery.app import create_app
    from lib.machinery.deployment import Ambient
    from lib.machinery.logs import open_logs
    from lib.machinery.platform import platform_end
    from lib.machinery.runner.deadline import Clock
    from lib.settings import Settings, read_settings
    from lib.tools import catalogue

open_logs()
settings = read_settings()
known = settings if isinstance(settings, Settings) else None
backend = connect(read=known and known.read_backend, write=known and known.write_backend)
app = create_app(
    settings,
    catalogue(backend),
    Ambient(
        clock=Clock(steady=time.monotonic, wall=time.time),
        new_id=lambda: token_hex(16),
        platform_end=platform_end,
    ),
)
