"""The ten-minute notebook is the script, and its cells run. `python3 tests/test_notebook.py` writes the notebook anew."""

import contextlib
import io
import json
import math
import os

import torch

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
SCRIPT, NOTEBOOK = (os.path.join(EXAMPLES, "muon_to_muonh" + end) for end in (".py", ".ipynb"))


def cells():
    """(kind, source) of each cell of the script."""
    with open(SCRIPT) as f:
        parts = f.read().split("# %%")[1:]
    made = []
    for part in parts:
        head, _, body = part.partition("\n")
        markdown = "[markdown]" in head
        lines = [line[2:] if markdown and line.startswith("# ") else "" if markdown and line == "#" else line
                 for line in body.strip("\n").splitlines()]
        made.append(("markdown" if markdown else "code", "\n".join(lines).rstrip()))
    return made


def notebook():
    made = []
    for i, (kind, source) in enumerate(cells()):
        cell = dict(cell_type=kind, id=f"cell{i}", metadata={}, source=source.splitlines(True))
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        made.append(cell)
    kernel = dict(kernelspec=dict(display_name="Python 3", language="python", name="python3"), language_info=dict(name="python"))
    return dict(cells=made, metadata=kernel, nbformat=4, nbformat_minor=5)


def test_the_notebook_is_the_script():
    with open(NOTEBOOK) as f:
        assert json.load(f) == notebook()


def test_its_cells_run_and_say_what_they_promise(tmp_path):
    with open(NOTEBOOK) as f:
        code = ["".join(cell["source"]) for cell in json.load(f)["cells"] if cell["cell_type"] == "code"]
    space, said = {}, io.StringIO()
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(said):
        for source in code:
            exec(compile(source, "cell", "exec"), space)
    text = said.getvalue()
    assert "the last measured, your schedule is at" in text and "and your effective rate at" in text
    assert space["gap"] < 1e-3, "the twin is the same run"
    logs = [[math.log(y) for y in ys] for _, ys in space["picture"].lines.values()]
    off = [math.sqrt(sum((x - y) ** 2 for x, y in zip(logs[0], other)) / len(other)) for other in logs[1:]]
    assert off[0] < 0.5 * off[1], "the predicted rate is nearer to what Muon did than Muon's own number"
    assert abs(sum(space["muonh_losses"][-10:]) - sum(space["muon_losses"][-10:])) < 0.3
    picture = space["picture"]._repr_svg_()
    assert picture.count("<polyline") == 3 and "Muon" in picture
    space["picture"].save(str(tmp_path / "one.svg"))


if __name__ == "__main__":
    with open(NOTEBOOK, "w") as out:
        json.dump(notebook(), out, indent=1)
        out.write("\n")
