"""The Python in the documents is Python, and that of this package's README runs."""

import ast
import os
import re

import pytest
import torch
from torch import nn

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(PACKAGE)


def blocks(document):
    path = os.path.join(ROOT, document)
    if not os.path.exists(path):
        pytest.skip(f"{document} is in the repository only")
    with open(path) as f:
        return re.findall("```python\n(.*?)```", f.read(), re.S)


@pytest.mark.parametrize("document, least", [("README.md", 1), ("docs/USE.md", 1), ("python/README.md", 3)])
def test_blocks_are_parsed(document, least):
    found = blocks(document)
    for block in found:
        ast.parse(block)
    assert len(found) >= least


def test_the_readmes_lines_run(tmp_path, capsys):
    os.chdir(tmp_path)
    torch.manual_seed(0)
    for block in [part.replace("steps=5000", "steps=50") for part in blocks("README.md") + blocks("python/README.md")]:
        model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
        space = {"model": model}
        before, close, after = block.partition("watch.close()")
        if close or "(model, optimizer)" in before:
            space["optimizer"] = torch.optim.AdamW(model.parameters(), lr=0.01)
        exec(before, space)
        for _ in range(3):
            space["optimizer"].zero_grad()
            model(torch.ones(2, 8)).square().sum().backward()
            space["optimizer"].step()
        exec(close + after, space)
    assert "and your effective rate at" in capsys.readouterr().out and os.path.exists("norms.csv")


def test_the_documents_name_every_option_and_mode():
    import hypertransfer as ht
    from hypertransfer import settings
    with open(os.path.join(PACKAGE, "README.md")) as f:
        text = f.read()
    for name in [*ht.DIRECTIONS, "weight_decay", "view", "zero_radius", "master_dtype", "clip_norm"]:
        assert f"`{name}`" in text, name
    for name in [*settings.COMMON, *settings.OPTIONS]:
        assert name in ht.HyperTransfer.__doc__, name
