"""The stub names what the extension has, and nothing else; `make lint` may check more with stubtest."""

import ast
from pathlib import Path

import paceline
from paceline import _core

STUB = ast.parse((Path(paceline.__file__).parent / "_core.pyi").read_text())


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def functions(body: list[ast.stmt]) -> set[str]:
    return public([node.name for node in body if isinstance(node, ast.FunctionDef)])


def test_functions_and_classes_are_those_of_the_extension() -> None:
    classes = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
    assert functions(STUB.body) | set(classes) == public(dir(_core))
    for name, node in classes.items():
        assert functions(node.body) == public(dir(getattr(_core, name)))


def test_everything_in_the_stub_is_documented() -> None:
    nodes = [node for node in ast.walk(STUB) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert [node.name for node in nodes if node.name != "__new__" and not ast.get_docstring(node)] == []
