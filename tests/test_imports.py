"""Imports go one way (docs/design), and the extension has two doors."""

import ast
from collections.abc import Iterator
from pathlib import Path

import paceline

PACKAGE = Path(paceline.__file__).parent
LAYERS = (
    {"cli", "dashboard", "__main__"},
    {"advisor", "report", "measure", "control", "engines", "tuning", "roofline"},
    {"store", "stats", "catalogue", "endpoints", "workloads", "weights"},
    {
        "units",
        "errors",
        "settings",
        "config",
        "protocols",
        "toml_file",
        "toml_lines",
        "whole_file",
        "__init__",
    },
)
MAY_IMPORT_CORE = {"measure", "control"}


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, anywhere in it, without what is for types alone."""
    tree = ast.parse(path.read_text())
    for_types = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    skipped = {id(inner) for node in for_types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "paceline" else [module]
            yield from names


def part_of(module: str) -> str:
    """`paceline.stats.quantiles` -> `stats`."""
    return module.split(".")[1] if "." in module else "__init__"


def own_part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def edges() -> Iterator[tuple[Path, str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for module in imported(path):
            if module == "paceline" or module.startswith("paceline."):
                yield path, own_part(path), part_of(module)


def layer(part: str) -> int:
    return next(place for place, parts in enumerate(LAYERS) if part in parts)


def test_there_is_something_to_check() -> None:
    found = {(source, target) for _, source, target in edges()}
    assert ("cli", "measure") in found
    assert ("measure", "store") in found


def test_imports_go_one_way() -> None:
    wrong = []
    for path, source, target in edges():
        # The version is what the package's own module has to say, and belongs to no layer.
        if target in ("_core", "__init__", "__version__") or target == source:
            continue
        if layer(target) < layer(source):
            wrong.append(f"{path.relative_to(PACKAGE)} imports {target}")
    assert wrong == []


def test_only_measure_and_control_import_the_core() -> None:
    wrong = [
        str(path.relative_to(PACKAGE))
        for path, source, target in edges()
        if target == "_core" and source not in MAY_IMPORT_CORE
    ]
    assert wrong == []
