"""What each credential can really do at the backend: the wall, seen from outside.

A refusal proves something only if the same credential is accepted otherwise; an answer that gets
as far as the request's own faults proves that the credential was let through.
Source: DESIGN (the backend credential is the wall), §3; RFC 9110 §15.
"""

from dataclasses import dataclass
from http import HTTPStatus

import httpx

from lib.ops.findings import Finding
from lib.ops.probes import PROBES, Probe
from lib.ops.reach import Reached
from lib.settings import Address

MAX_WAIT_S = 10.0
REFUSED = frozenset({401, 403})
LET_THROUGH = frozenset({400, 409, 411, 415, 422, 428})
NO_ANSWER = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A status, or the kind of exception where none came."""

    status: int = NO_ANSWER
    fault: str = ""

    @property
    def is_success(self) -> bool:
        """Any 2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    def __str__(self) -> str:
        """Show the status, or the fault."""
        return f"answered {self.status}" if self.status else f"no answer ({self.fault})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knocker:
    """Sends a probe's requests with one credential."""

    http: httpx.AsyncClient
    address: Address

    async def ask(self, request: str, body: object = None) -> Heard:
        """Send one request; every way to fail is an answer too."""
        method, _, path = request.partition(" ")
        headers = {"Authorization": f"Bearer {self.address.token}"}
        try:
            answer = await self.http.request(
                method, self.address.url + path, headers=headers, json=body
            )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as fault:
            return Heard(fault=type(fault).__name__)
        return Heard(status=answer.status_code)


async def check_backends(here: Reached) -> list[Finding]:
    """Try every probe with every credential that this environment has."""
    timeout_s = min(here.settings.backend_timeout_s, MAX_WAIT_S)
    found: list[Finding] = []
    async with httpx.AsyncClient(
        follow_redirects=False, trust_env=False, timeout=timeout_s
    ) as http:
        for probe in PROBES:
            found += await _check_reading(here, probe, http)
            found += await _check_writing(here, probe, http)
    return found


async def _check_reading(here: Reached, probe: Probe, http: httpx.AsyncClient) -> list[Finding]:
    check, wall = f"{probe.system}_read", f"{probe.system}_wall"
    knocker = _knocker(here, probe.reading(here.settings), http)
    if isinstance(knocker, str):
        return [Finding(check, "skipped", knocker), Finding(wall, "skipped", knocker)]
    read = await knocker.ask(probe.reads)
    if not read.is_success:
        return [_unread(check, read), Finding(wall, "skipped", "shows nothing until reading works")]
    wrote = await knocker.ask(probe.writes, probe.body)
    return [Finding(check, "ok", f"{probe.reads} {read}"), _wall(wall, probe, wrote)]


async def _check_writing(here: Reached, probe: Probe, http: httpx.AsyncClient) -> list[Finding]:
    check = f"{probe.system}_write"
    knocker = _knocker(here, probe.writing(here.settings), http)
    if isinstance(knocker, str):
        return [Finding(check, "skipped", knocker)]
    read = await knocker.ask(probe.reads)
    if not read.is_success:
        return [_unread(check, read)]
    wrote = await knocker.ask(probe.writes, probe.body)
    return [_power(check, probe, wrote)]


def _knocker(here: Reached, address: Address | None, http: httpx.AsyncClient) -> Knocker | str:
    if address is None:
        return "this environment has no credential for it"
    faulty = here.faults_of(address)
    if faulty:
        return f"not tried before {', '.join(faulty)} is put right"
    return Knocker(http=http, address=address)


def _unread(check: str, heard: Heard) -> Finding:
    if heard.status in REFUSED:
        advice = "The backend does not accept this credential: set its token anew, then deploy."
    elif heard.status:
        advice = "Look at the backend, at BACKEND_URL, and at lib/ops/probes.py."
    else:
        advice = "Check BACKEND_URL, and that the backend can be reached from here."
    return Finding(check, "failed", f"reading: {heard}", advice)


def _wall(check: str, probe: Probe, heard: Heard) -> Finding:
    seen = f"{probe.writes} with the read credential: {heard}"
    if heard.status in REFUSED:
        return Finding(check, "ok", seen)
    if heard.is_success or heard.status in LET_THROUGH:
        advice = (
            "The read credential can write, so nothing but this server's own care stops a query"
            " from changing data. Issue a token that the backend refuses on anything but reads."
        )
        return Finding(check, "failed", f"{seen}, so there is no wall", advice)
    return _unshown(check, seen)


def _power(check: str, probe: Probe, heard: Heard) -> Finding:
    seen = f"{probe.writes} with the write credential: {heard}"
    if heard.status in LET_THROUGH:
        return Finding(check, "ok", f"{seen}, past its authorisation")
    if heard.status in REFUSED:
        advice = "The write credential cannot write, so every command is refused: set it anew."
        return Finding(check, "failed", seen, advice)
    if heard.is_success:
        advice = "The backend accepted an invalid request: see what it did; mend lib/ops/probes.py."
        return Finding(check, "failed", seen, advice)
    return _unshown(check, seen)


def _unshown(check: str, seen: str) -> Finding:
    advice = (
        "This answer shows nothing about the credential: try again, or name in lib/ops/probes.py a"
        " writing request that the backend refuses as invalid."
    )
    return Finding(check, "attention", seen, advice)
