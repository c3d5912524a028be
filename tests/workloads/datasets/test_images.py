"""Pictures beside the data, and nothing else of this machine."""

import base64
from pathlib import Path

import pytest

from paceline.workloads.datasets.images import MAX_IMAGE_BYTES, image_urls
from paceline.workloads.read_report import RowError
from tests.workloads.datasets.support import jobs_of, skipped, source, write_jsonl

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def test_files_bytes_and_urls(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(PNG)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert image_urls("in/a.png", tmp_path, "c") == (url,)
    assert image_urls(["in/a.png", "https://x/y.png"], tmp_path, "c") == (url, "https://x/y.png")
    assert image_urls({"bytes": PNG, "path": "gone.png"}, tmp_path, "c") == (url,)
    assert image_urls(b"\xff\xd8\xff...", tmp_path, "c")[0].startswith("data:image/jpeg;")
    assert image_urls(b"RIFF1234WEBP", tmp_path, "c")[0].startswith("data:image/webp;")
    assert image_urls(None, tmp_path, "c") == image_urls("", tmp_path, "c") == ()


def test_what_is_no_picture_and_what_must_not_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "text.png").write_text("no picture")
    with (folder / "large.png").open("wb") as file:
        file.truncate(MAX_IMAGE_BYTES + 1)
    for value, told in (
        ("../secret.png", "leads out of the folder"),
        ("link.png", "leads out of the folder"),
        (str(tmp_path / "secret.png"), "leads out of the folder"),
        ("gone.png", "there is no such file"),
        ("text.png", "no PNG, JPEG, GIF or WebP"),
        ("large.png", "larger than 20 MiB"),
        ("file:///etc/passwd", "there is no such file"),
        (5, "is no picture"),
        ("a\0b", "is no picture"),
        ("x" * 5000, "cannot be read"),
    ):
        with pytest.raises(RowError, match=told):
            image_urls(value, folder, "c")


def test_pictures_of_prompts(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    path = write_jsonl(
        tmp_path / "p.jsonl",
        [
            {"prompt": "see", "image": "a.png"},
            {"prompt": "none", "image": None},
            {"prompt": "x", "image": "b.png"},
        ],
    )
    found = source(path, image_column="image")
    assert [len(job.calls[0].turns[0].images) for job in jobs_of(found)] == [1, 0]
    assert skipped(found) == {"`image`: there is no such file": 1}
