"""Every page over an empty store, a full one, a damaged one, and with what is hostile in it."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from paceline.dashboard.app import create_app
from paceline.dashboard.work import Work
from paceline.errors import StoreError
from paceline.store.paths import runs_folder
from tests.dashboard.conftest import NASTY, client_of
from tests.dashboard.served import TOKEN, state_of
from tests.report.samples import store
from tests.report.study_samples import sweep
from tests.report.test_html import Page
from tests.support.rows import lognormal_rows

PAGES = ("/", "/advise", "/race", "/runs", "/compare", "/studies", "/usage", "/live", "/instant", "/feel")


def page(client: TestClient, path: str, status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status, answer.text[:2000]
    return Page(answer.text)


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_store_says_what_to_do(empty: TestClient, path: str) -> None:
    found = page(empty, path)
    assert sum(tag == "h1" for tag, _ in found.tags) == 1
    assert re.search(r"paceline (measure|demo|compare|sweep|gateway|advise)|speeds", found.text)


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_what_a_keyboard_and_a_reader_need(full: TestClient, path: str) -> None:
    found = page(full, path)
    tags = [(tag, attributes) for tag, attributes in found.tags]
    assert ("html", {"lang": "en"}) in tags
    first = next(attributes for tag, attributes in tags if tag == "a")
    assert first["href"] == "#main"
    assert any(attributes.get("id") == "main" for _, attributes in tags)
    current = [attributes["href"] for tag, attributes in tags if attributes.get("aria-current") == "page"]
    assert len(current) <= 1
    ids = [attributes["id"] for _, attributes in tags if attributes.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", [*PAGES, "/compare?a=slow&b=quick", "/runs?q=%3Cscript%3E"])
def test_what_a_server_said_stays_text(full: TestClient, path: str) -> None:
    answer = full.get(path)
    assert answer.status_code == 200
    assert "<script>alert(1)" not in answer.text
    assert "<img src=x" not in answer.text
    assert TOKEN not in answer.text
    for script in re.findall(r"<script[^>]*>", answer.text):
        assert "src=" in script or 'type="application/json"' in script
    for tag, attributes in Page(answer.text).tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag


def test_what_the_address_says_stays_text(empty: TestClient) -> None:
    query = "%3Cscript%3Ealert(1)%3C/script%3E%22"
    asked = ("/?workload=", "/?sort=", "/?since=", "/runs?q=", "/compare?a=x&b=", "/usage?by=")
    for path in (*asked, "/usage?model=", "/advise?slo=", "/advise?budget=", "/instant?run=", "/x", "/runs/"):
        assert "<script>alert" not in empty.get(path + query).text, path


def test_the_board_has_every_offer_and_names_what_is_left_out(full: TestClient) -> None:
    found = page(full, "/")
    assert "slow" in found.text
    assert "quick" in found.text
    assert "1 run is not in the table" in found.text
    drawn = {a["data-chart"] for _, a in found.tags if "data-chart" in a}
    assert drawn
    assert drawn == set(json.loads(found.scripts["charts"]))
    document = full.get("/api/board").json()
    assert document["schema"] == "paceline.board/1"
    moments = {name: document[name] for name in ("made_at", "prices_at")}
    assert document == {**json.loads(found.scripts["report"]), **moments}


def test_what_cannot_be_asked_of_the_board_says_what_can(full: TestClient) -> None:
    for path, words in (
        ("/?sort=nope", "there is no figure"),
        ("/?load=nope", "nothing was measured with the load"),
        ("/?since=yesterday", "is no moment"),
        ("/?jobs_per_day=many", "is no number of jobs"),
    ):
        found = page(full, path, 400)
        assert words in found.text
        assert "What to do" in found.text
        assert full.get(path.replace("/?", "/api/board?")).json()["schema"] == "paceline.error/1"


def test_runs_are_listed_found_and_paged(home: Path) -> None:
    rows = lognormal_rows(3, 1)
    ids = [store(home, rows, name=f"run-{number:03d}").id for number in range(52)]
    client = client_of(state_of(home))
    first, second = page(client, "/runs"), page(client, "/runs?page=2")
    assert "52 of 52 runs" in first.text
    assert "page 1 of 2" in first.text
    links = [
        {a["href"] for tag, a in one.tags if tag == "a" and str(a.get("href")).startswith("/runs/2")}
        for one in (first, second)
    ]
    assert [len(one) for one in links] == [50, 2]
    assert links[0] | links[1] == {f"/runs/{run_id}" for run_id in ids}
    assert "1 of 52 runs" in page(client, "/runs?q=RUN-007").text
    assert "None of 52 runs has" in page(client, "/runs?q=nothing").text
    assert page(client, "/runs?page=99").text == second.text
    assert len(client.get("/api/runs").json()["runs"]) == 52


def test_a_run_is_its_report(full: TestClient) -> None:
    answer = full.get("/runs/slow", follow_redirects=False)
    assert answer.status_code == 307
    assert answer.headers["location"].startswith("/runs/2")
    found = page(full, "/runs/slow")
    assert "Distributions" in found.text
    assert full.get("/api/runs/slow").json() == json.loads(found.scripts["report"])
    assert "/compare?a=" in str(found.tags)


@pytest.mark.parametrize(
    "path", ["/runs/nope", "/studies/nope", "/nope", "/runs/..%2f..%2fetc", "/api/runs/x"]
)
def test_what_is_not_there(full: TestClient, path: str) -> None:
    answer = full.get(path)
    assert answer.status_code == 404
    if path.startswith("/api/"):
        assert answer.json()["schema"] == "paceline.error/1"
    else:
        assert "What to do" in Page(answer.text).text


def test_a_comparison_has_a_verdict_and_keeps_its_form(full: TestClient) -> None:
    found = page(full, "/compare?a=slow&b=quick&smallest_difference=10%25")
    values = {a["name"]: a.get("value") for tag, a in found.tags if tag == "input" and a.get("name")}
    assert values == {"a": "slow", "b": "quick", "smallest_difference": "10%"}
    assert "What differs" in found.text
    document = full.get("/api/compare?a=slow&b=quick&smallest_difference=10%25").json()
    assert document == json.loads(found.scripts["report"])
    wrong = page(full, "/compare?a=slow&b=nope", 400)
    assert "no run has the id or name" in wrong.text
    assert full.get("/api/compare?a=slow").status_code == 400


def test_studies(home: Path) -> None:
    asked = {**sweep().manifest.asked, "seed": 1, "keep_salt": False}
    made = sweep().manifest.model_copy(update={"asked": asked})
    folder = home / "studies" / made.id
    folder.mkdir(parents=True)
    made.write(folder)
    client = client_of(state_of(home))
    assert made.id in page(client, "/studies").text
    found = page(client, f"/studies/{made.id}")
    assert "All points" in found.text
    assert "x-key" not in found.text
    assert any(a.get("href") == "/runs/r0" for _, a in found.tags)
    assert client.get("/api/studies").json()["studies"][0]["id"] == made.id
    assert client.get(f"/api/studies/{made.id}").json()["schema"] == "paceline.study-report/1"


def test_a_damaged_store_says_what_to_do_without_a_traceback(home: Path) -> None:
    run = store(home, lognormal_rows(30, 1), name="cut")
    good = store(home, lognormal_rows(30, 2), name="good", model="m")
    (runs_folder(home) / run.id / "run.json").write_text("{")
    (home / "index.sqlite").write_bytes(b"not a database" * 100)
    (home / "studies" / "20261130-100000-aaaa").mkdir(parents=True)
    (home / "studies" / "20261130-100000-aaaa" / "study.json").write_text("[]")
    client = client_of(state_of(home))
    assert "unreadable" in page(client, "/runs").text
    assert "unreadable" in page(client, "/studies").text
    assert f"/runs/{good.id}" in str(page(client, "/runs").tags)
    board = page(client, "/")
    assert run.id in board.text
    for path in (f"/runs/{run.id}", "/studies/20261130-100000-aaaa"):
        found = page(client, path, 500)
        assert "What to do" in found.text
        assert "Traceback" not in found.text


def test_what_nobody_thought_of_names_its_kind_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> Any:
        raise RuntimeError("secret-of-the-inside")

    monkeypatch.setattr("paceline.dashboard.runs.list_runs", fail)
    said: list[str] = []
    state = state_of(home)
    state.say = said.append
    answer = client_of(state).get("/runs")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "secret-of-the-inside" not in answer.text
    where = Path(said[0].rsplit(" ", 1)[-1])
    assert "secret-of-the-inside" in where.read_text()
    where.unlink()
    assert answer.headers["content-security-policy"]


def test_pages_follow_the_store(home: Path) -> None:
    clock = [0.0]
    state = state_of(home)
    state.work._clock = lambda: clock[0]
    client = client_of(state)
    assert "Nothing is measured yet" in page(client, "/runs").text
    store(home, lognormal_rows(30, 1), name="first")
    clock[0] += 2.0
    assert "first" in page(client, "/runs").text


def test_a_config_that_is_wrong_is_told_and_not_shown(home: Path) -> None:
    store(home, lognormal_rows(30, 1), model="m")
    config = home.parent / "paceline.toml"
    config.write_text(
        '[[offer]]\nid = "a"\nmodel = "m"\nbase_url = "http://h/v1"\napi_key = "sk-very-secret"\n'
    )
    from paceline.cli.choosing import known_offers

    state = state_of(home, config=config, known=lambda: known_offers(config))
    found = page(client_of(state), "/", 400)
    assert "paceline.toml" in found.text
    assert "sk-very-secret" not in found.text


def test_hostile_names_are_shown_as_they_are(full: TestClient) -> None:
    assert NASTY in page(full, "/runs").text


def test_a_page_that_takes_long_says_how_far_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    state = state_of(home)
    state.work = Work(patience_s=0.01)

    def read(**given: Any) -> Any:
        given["watch"](3, 1_000)
        assert gate.wait(60)
        raise StoreError("it is over")

    monkeypatch.setattr("paceline.advisor.board.all_digests", read)
    with TestClient(create_app(state), base_url="http://127.0.0.1:8090") as client:
        answer = client.get("/")
        while "3 of 1,000" not in answer.text:
            answer = client.get("/")
        assert answer.status_code == 202
        assert '<meta http-equiv="refresh"' in answer.text
        gate.set()
