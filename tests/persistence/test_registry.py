"""Storable classes: who is registered, and what a bare import brings."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tremula as tm
from tremula.persistence.registry import find_class, full_name, is_storable, packing_of, storable, storable_classes

PACKAGE = Path(tm.__file__).parent


def decorated_classes() -> set[str]:
    """Full names of all classes in the sources that carry the decorator."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(("tremula", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and "storable" in map(ast.unparse, node.decorator_list):
                names.add(f"{module}.{node.name}")
    return names


def test_a_bare_import_registers_every_storable_class() -> None:
    code = (
        "import tremula\n"
        "from tremula.persistence.registry import full_name, storable_classes\n"
        "print(*map(full_name, storable_classes()))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert len(decorated_classes()) > 40
    assert set(output.split()) == decorated_classes() | {full_name(tm.Tree)}


def test_no_module_of_persistence_names_another_package() -> None:
    for path in (PACKAGE / "persistence").glob("*.py"):
        texts = [node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_text(node)]
        assert [text for text in texts if text.startswith("tremula.")] == []


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_a_subclass_is_not_storable_unless_it_registers() -> None:
    class Derived(tm.C45Classifier):
        """Inherits the decorator's effect on its base, not the registration."""

    assert is_storable(tm.C45Classifier)
    assert not is_storable(Derived)


def test_two_classes_of_one_name_are_refused() -> None:
    before = storable_classes()
    impostor = type("C45Classifier", (), {})
    with pytest.raises(TypeError, match=r"test_registry\.C45Classifier has the same name as tremula\.trees\.c45"):
        storable(impostor)
    assert storable_classes() == before


def test_trees_are_packed_and_never_described() -> None:
    packing = packing_of(tm.Tree)
    assert packing is not None
    assert (packing.key, packing.folder) == ("tree", "trees")
    assert find_class("Tree") is None
    assert packing_of(tm.C45Classifier) is None
