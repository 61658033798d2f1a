"""The set-up checklist, while something is missing: names and problems, never a value.

Its status is 200: it is a page for a person, and `/healthz` and `/mcp` tell a monitor.
Source: DESIGN §3.
"""

from starlette.responses import HTMLResponse

from lib.machinery.pages.frame import badge, code, definitions, document, listing
from lib.setting_faults import WRITE_POWER
from lib.settings import Misconfigured, Settings


def checklist_page(lacking: Misconfigured) -> HTMLResponse:
    """Tell a person what to change, what is right already, and what may stay unset."""
    settings, faults = lacking.settings, lacking.faults
    faulty = list(dict.fromkeys(fault.variable for fault in faults))
    given = {name.upper() for name in settings.model_fields_set}
    rest = [name for name in _names() if name not in faulty]
    things = "one variable" if len(faulty) == 1 else f"{len(faulty)} variables"
    until_then = (
        f"<p>Until then {code('/mcp')} refuses everything with 503, and nothing is sent anywhere; "
        '<a href="/healthz">/healthz</a> answers. This page names variables and shows no value.</p>'
    )
    body = [
        f"<h1>Set-up: {things} to change</h1>\n{badge(settings.kind)}",
        until_then,
        "<h2>To change</h2>",
        definitions([(fault.variable, fault.problem) for fault in faults], kind="fault"),
        f"<h2>What to do next</h2>\n{_next_steps(settings, faulty, given)}",
        _names_section("Set, and nothing found wrong", [n for n in rest if n in given], "set"),
        _names_section(
            "Not set, and not missed here", [n for n in rest if n not in given], "unset"
        ),
    ]
    return document("Set-up · Settle", "\n".join(body))


def _names() -> list[str]:
    own = (name for name in Settings.model_fields if not name.startswith("vercel"))
    return [name.upper() for name in own]


def _next_steps(settings: Settings, faulty: list[str], given: set[str]) -> str:
    known = f"<p>{code('.env.example')} says of each name what it is and where it comes from.</p>"
    if settings.vercel is None:
        return (
            f"{known}\n<p>Put these names into the environment or into {code('.env')}, and start "
            f"again. On your own machine {code('uv run -m lib.dev')} sets everything.</p>"
        )
    kind = settings.kind
    power = {name.upper() for name in WRITE_POWER} if kind == "preview" else set[str]()
    shared = ", ".join(code(name) for name in faulty if name in power)
    lines = [
        f"vercel env {'update' if name in given else 'add'} {name} {kind}"
        for name in faulty
        if name not in power
    ]
    # Not `vercel env rm`: of a variable that several environments share, it can remove it in all.
    steps = [
        f"<p>In the project's settings take Preview off {shared}, and keep Production.</p>"
        if shared
        else "",
        listing("\n".join(lines)) if lines else "",
        "<p>A change counts from the next deployment on:</p>",
        listing("vercel deploy --prod" if kind == "production" else "vercel deploy"),
    ]
    return "\n".join([known, *filter(None, steps)])


def _names_section(title: str, names: list[str], kind: str) -> str:
    if not names:
        return ""
    rows = "".join(f"<li>{code(name)}</li>" for name in names)
    return f'<h2>{title}</h2>\n<ul class="{kind}">{rows}</ul>'
