"""The Python in the documents is Python."""

import ast
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize("document", ["README.md", "docs/RECIPES.md", "python/README.md"])
def test_blocks_are_parsed(document):
    path = os.path.join(ROOT, document)
    if not os.path.exists(path):
        pytest.skip(f"{document} is in the repository only")
    with open(path) as f:
        blocks = re.findall("```python\n(.*?)```", f.read(), re.S)
    for block in blocks:
        ast.parse(block)
    assert blocks or document == "README.md"
