"""Huge pages are asked for where the weights are loaded, and nowhere else."""

from pathlib import Path

import pytest

from paceline.engines import llama_cpp_pages
from paceline.engines.llama_cpp_pages import huge_pages, with_huge_pages

ASKED = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_pages, "huge_pages", lambda: True)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("always [madvise] never", True),
        ("[always] madvise never", True),
        ("always madvise [never]", False),
    ],
)
def test_what_the_kernel_says(tmp_path: Path, said: str, *, there: bool) -> None:
    file = tmp_path / "enabled"
    file.write_text(said + "\n")
    assert huge_pages(file) is there
    assert not huge_pages(tmp_path / "none")


def test_only_for_weights_that_are_loaded() -> None:
    assert with_huge_pages(("x",), {"load-mode": "none"}) == ("env", ASKED, "x")
    assert with_huge_pages(("x",), {"no-mmap": True}) == ("env", ASKED, "x")
    assert with_huge_pages(("x",), {"load-mode": "mmap"}) == ("x",)
    assert with_huge_pages(("x",), {}) == ("x",)


def test_a_command_that_sets_variables_gets_one_more() -> None:
    packaged = ("env", "LD_LIBRARY_PATH=/links", "x")
    made = with_huge_pages(packaged, {"load-mode": "none"})
    assert made == ("env", ASKED, "LD_LIBRARY_PATH=/links", "x")


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=3")
    made = with_huge_pages(("x",), {"load-mode": "none"})
    assert made == ("env", "GLIBC_TUNABLES=glibc.malloc.check=3:glibc.malloc.hugetlb=1", "x")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0")
    assert with_huge_pages(("x",), {"load-mode": "none"}) == ("x",)


def test_a_kernel_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_pages, "huge_pages", lambda: False)
    assert with_huge_pages(("x",), {"load-mode": "none"}) == ("x",)
