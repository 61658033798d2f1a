"""The demo: its story comes true in real processes, and where it would not, it says so."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lib.dev.demo import UNGUARDED, demo
from lib.dev.demo_verdict import Answer, Broken, Half, Json, differences
from tests.harness.nursery import plain

ROOT = Path(__file__).parents[2]
ITEM: Json = {"id": "a", "name": "desk", "quantity": 1, "version": 1}
DONE: Json = {"outcome": "succeeded", "this_call": "recovered", "result": ITEM, "retry": {}}
WAIT: Json = {"outcome": "in_progress", "retry": {"advice": "same_key", "after_ms": 1000}}
KNOWN: Json = {"outcome": "succeeded", "result": ITEM}
WITHOUT = Half(
    status=-signal.SIGKILL, killed=Broken("ReadError"), answers=[ITEM], items=[ITEM, ITEM]
)
SETTLED = Half(
    status=-signal.SIGKILL, killed=Broken("ReadError"), answers=[WAIT, DONE], items=[ITEM]
)


def test_the_story_comes_true_in_real_processes(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "lib.dev", "demo"],
        cwd=ROOT,
        env=plain() | {"BACKEND_URL": "https://not.example", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = " ".join(told.stdout.split())
    assert told.returncode == 0, told
    assert said.count("was ended by SIGKILL") == 2
    assert 'The backend has 2 items named "lamp".' in said
    assert 'The backend has 1 item named "desk".' in said
    assert "The answer: succeeded, recovered: item" in said
    assert said.endswith("two items without Settle, one with it.")
    assert (told.stderr, "\x1b" in told.stdout) == ("", False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("during", ["Starting a store", "The client calls create_item"])
def test_a_demo_cut_short_leaves_nothing_and_does_not_pass(tmp_path: Path, during: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "lib.dev", "demo"],
        cwd=ROOT,
        env=plain() | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        told = iter(process.stdout.readline, "")
        assert any(during in line for line in told)
        wait_for_the_store(tmp_path)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(15) == 130
    assert "Traceback" not in rest
    assert not list(tmp_path.iterdir())


def wait_for_the_store(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while not list(folder.rglob("engine.sock")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_story_that_does_not_come_true_fails(capsys: pytest.CaptureFixture[str]) -> None:
    # The unguarded server in the place of the guarded one: two items where one was promised.
    assert demo(plain(), guarded=UNGUARDED) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "This is not the story that was promised" in said
    assert "With Settle, the backend has 2 items, not 1." in said


def test_a_server_that_does_not_start_fails_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo(plain(), unguarded="lib.dev.nothing:app", guarded="lib.dev.nothing:app") == 1
    assert "lib.dev.nothing:app did not start" in capsys.readouterr().out


def test_the_promised_story_has_no_differences() -> None:
    assert differences(WITHOUT, SETTLED, KNOWN) == []
    replayed = replace(SETTLED, answers=[{**DONE, "this_call": "replayed"}])
    assert differences(WITHOUT, replayed, KNOWN) == []


@pytest.mark.parametrize(
    ("without", "settled", "operation"),
    [
        (replace(WITHOUT, status=None), SETTLED, KNOWN),
        (replace(WITHOUT, status=0), SETTLED, KNOWN),
        (replace(WITHOUT, killed=ITEM), SETTLED, KNOWN),
        (replace(WITHOUT, items=[ITEM]), SETTLED, KNOWN),
        (WITHOUT, replace(SETTLED, status=1), KNOWN),
        (WITHOUT, replace(SETTLED, killed=DONE), KNOWN),
        (WITHOUT, replace(SETTLED, items=[ITEM, ITEM]), KNOWN),
        (WITHOUT, replace(SETTLED, items=[{**ITEM, "id": "b"}]), KNOWN),
        (WITHOUT, replace(SETTLED, answers=[]), KNOWN),
        (WITHOUT, replace(SETTLED, answers=[WAIT]), KNOWN),
        (WITHOUT, replace(SETTLED, answers=[Broken("ReadError"), DONE]), KNOWN),
        (WITHOUT, replace(SETTLED, answers=[{**DONE, "this_call": "executed"}]), KNOWN),
        (WITHOUT, SETTLED, {"outcome": "in_doubt", "result": None}),
        (WITHOUT, SETTLED, Broken("ReadError")),
    ],
)
def test_each_false_outcome_is_named(without: Half, settled: Half, operation: Answer) -> None:
    assert differences(without, settled, operation)
