from pathlib import Path

import pytest
import trustme

from paceline.store.runs import open_run
from tests.e2e.conftest import SMALL, Cli, Sims


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A CA, and a certificate for 127.0.0.1 with its key beside it."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    issued = ca.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    for place, pem in enumerate(issued.cert_chain_pems):
        pem.write_to_path(str(tmp_path / "cert.pem"), append=place > 0)
    return tmp_path


def test_https_with_a_given_ca(cli: Cli, sims: Sims, authority: Path) -> None:
    engine = sims(
        "--tls-cert", str(authority / "cert.pem"), "--tls-key", str(authority / "key.pem"), "--ttft", "20ms"
    )
    assert engine.url.startswith("https://")
    ca = ("--ca-file", str(authority / "ca.pem"))
    done = cli("measure", engine.url, *SMALL, *ca, "-c", "2", "-n", "6", "--new-connections", "--json", "-")
    done.ended()
    assert done.report["outcomes"]["ok"] == 6
    rows = open_run("latest").rows().to_pylist()
    assert all(row["tls_ns"] > 0 and row["connect_ns"] > 0 for row in rows)
    assert all(row["kernel_stamped"] for row in rows)

    unknown = cli("measure", engine.url, *SMALL, "-n", "2")
    assert unknown.code == 2
    assert "certificate" in unknown.err.lower()
