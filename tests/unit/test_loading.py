"""The collector rests while a lot is imported, and only then."""

import gc
from collections.abc import Iterator

import pytest

from lib.machinery.loading import loading

NEW, KNOWN = "a_module_that_nobody_imported", "gc"


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Leave the collector as it was found."""
    yield
    gc.unfreeze()
    gc.enable()


def test_the_collector_rests_while_a_module_is_imported() -> None:
    with loading(NEW):
        assert not gc.isenabled()


def test_what_was_imported_is_never_looked_at_again() -> None:
    before = gc.get_freeze_count()
    with loading(NEW):
        made: list[list[int]] = [[] for _ in range(100)]
    assert gc.get_freeze_count() >= before + len(made)


def test_the_collector_works_again_after_an_import_that_failed() -> None:
    with pytest.raises(ImportError), loading(NEW):
        raise ImportError
    assert gc.isenabled()


def test_what_is_imported_already_keeps_nobodys_garbage() -> None:
    before = gc.get_freeze_count()
    with loading(KNOWN):
        assert gc.isenabled()
    assert gc.get_freeze_count() == before


def test_a_collector_that_a_host_turned_off_stays_off() -> None:
    gc.disable()
    with loading(NEW):
        pass
    assert not gc.isenabled()
