"""The documents: links lead somewhere, and nothing of one machine has got in."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "crates" / "README.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" not in link and not link.startswith("mailto:"):
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)}: {link}"


def test_every_page_under_docs_is_linked_from_another() -> None:
    linked = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in LINK.findall(page.read_text())
        if "://" not in link
    }
    orphans = [page for page in PAGES if (ROOT / "docs") in page.parents and page.resolve() not in linked]
    assert orphans == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "README.md"], ids=["README", "docs"])
def test_every_guide_is_linked_from_the_first_pages(page: Path) -> None:
    linked = {(page.parent / link).resolve() for link in LINK.findall(page.read_text()) if "://" not in link}
    guides = {guide.resolve() for guide in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides - linked == set()


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text()))
    assert {"demo", "test"} <= targets
    for target in sorted(targets):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"make {target}: {done.stderr}"
