"""Environments as an installer leaves them, in which the stand-ins of Python engines lie."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RELEASES = {"vllm": "0.33.0", "sglang": "0.5.23", "tilert": "0.1.6.post3"}
_LIBRARIES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def installed(folder: Path, engine: str, release: str | None = None) -> Path:
    """An environment with `vllm` or `sglang` in it: its console script."""
    script = folder / "bin" / engine
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        f"#!{sys.executable}\n"
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.support.standins.{engine} import main\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    script.chmod(0o755)
    (folder / _LIBRARIES / f"{engine}-{release or RELEASES[engine]}.dist-info").mkdir(parents=True)
    return script


def tilert_environment(folder: Path, release: str = RELEASES["tilert"], *, server: bool = True) -> Path:
    """An environment with TileRT in it: its Python."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    libraries = folder / _LIBRARIES
    (libraries / f"tilert-{release}.dist-info").mkdir(parents=True)
    package = libraries / "tilert"
    (package / "pd_vllm").mkdir(parents=True)
    for place in (package, package / "pd_vllm"):
        (place / "__init__.py").touch()
    if server:
        (package / "pd_vllm" / "pd_router.py").write_text(
            f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            "from tests.support.standins.tilert import main\n"
            "if __name__ == '__main__':\n    main()\n"
        )
    return python
