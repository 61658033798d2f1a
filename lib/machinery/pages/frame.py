"""The document around every page: one inline style, named by its digest, and nothing from outside.

Source: CSP Level 3 (hashes); WCAG 2.2 (contrast at least 4.5 in both colour schemes).
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from starlette.responses import HTMLResponse

STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#575e66;--line:#d8dce1;--card:#f4f6f8;
--paper:#fff;--link:#0b57b0;--good:#12653a;--warn:#8a4b00;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a4adb7;--line:#363c44;--card:#1d2126;
--paper:#131619;--link:#8fbdff;--good:#6fd39b;--warn:#f0b35f;--bad:#ff9a90}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{margin:0;font-size:clamp(1.5rem,6vw,2rem);line-height:1.2}
h2{margin:2.5rem 0 .75rem;padding-top:1.25rem;border-top:1px solid var(--line);font-size:1.25rem}
h3{margin:1.5rem 0 .5rem;font-size:1rem}
p{margin:.5rem 0}
a{color:var(--link)}
small,.soft{color:var(--soft)}
h3 small{font-weight:400}
code,pre{font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
pre{margin:.5rem 0;padding:.75rem 1rem;background:var(--card);border:1px solid var(--line);
border-radius:.5rem;white-space:pre-wrap;overflow-wrap:anywhere}
dl{margin:.5rem 0}
dl+p{margin-top:1.25rem}
dt{margin-top:.6rem}
dt code{font-weight:600}
dd{margin:0;color:var(--soft)}
.badge{display:inline-block;margin:.75rem 0 .25rem;padding:.1rem .7rem;border:1px solid;
border-radius:1rem;font-size:.875rem;font-weight:600}
.production{color:var(--good)}
.preview,.development{color:var(--warn)}
.fault dt{color:var(--bad)}
.fault dt::before{content:"✗ "}
.fault dd{color:inherit}
ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:.2rem 1rem;
margin:.5rem 0;padding:0;list-style:none}
.set li::before{content:"✓ ";color:var(--good)}
"""
DIGEST = b64encode(sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{DIGEST}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def document(title: str, body: str) -> HTMLResponse:
    """Answer with a whole page. body: HTML, in which every foreign text is escaped."""
    html = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    return HTMLResponse(html, headers=HEADERS)


def code(text: str) -> str:
    """Show a name or an address as it is typed."""
    return f"<code>{escape(text)}</code>"


def listing(text: str) -> str:
    """Show something to copy, which wraps where the window is narrow."""
    return f"<pre><code>{escape(text)}</code></pre>"


def definitions(pairs: list[tuple[str, str]], *, kind: str = "plain") -> str:
    """Show names, each with what is said about it."""
    rows = "".join(f"<dt>{code(name)}</dt><dd>{escape(said)}</dd>\n" for name, said in pairs)
    return f'<dl class="{kind}">\n{rows}</dl>'


def badge(kind: str) -> str:
    """Show which environment this is."""
    return f'<p class="badge {escape(kind)}">{escape(kind)}</p>'
