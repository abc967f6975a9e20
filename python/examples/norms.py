"""Logs what `ht effective` reads, without the package: copy what you need.

PyTorch: call log.step(t, optimizer) in place of optimizer.step(), with log = NormLog("norms.csv", model).
JAX: call log_norms(rows, t, before, after, rate, decay) with the parameters around the update; rows = header(file).
"""

import csv

HEADER = "step matrix weight_norm update_norm inner_product rate decay".split()


def header(file):
    rows = csv.writer(file)
    rows.writerow(HEADER)
    return rows


class NormLog:
    def __init__(self, path, model):
        self.rows = header(open(path, "w", newline="", buffering=1))
        self.matrices = {name: p for name, p in model.named_parameters() if p.ndim == 2}

    def step(self, t, optimizer):
        before = {name: p.detach().double().clone() for name, p in self.matrices.items()}
        optimizer.step()
        for group in optimizer.param_groups:
            rate, decay = group["lr"], group.get("weight_decay", 0.0)
            for name, w in before.items():
                moved = self.matrices[name].grad is not None  # else nothing is touched, decay neither
                if any(p is self.matrices[name] for p in group["params"]) and rate > 0 and moved:
                    update = (1 - rate * decay) * w - self.matrices[name].detach().double()  # rate * u
                    inner = (update * w).sum() / rate
                    self.rows.writerow([t, name, *map(float, (w.norm(), update.norm(), inner, rate, decay))])


def log_norms(rows, t, before, after, rate, decay):
    import jax
    import jax.numpy as jnp
    flat, _ = jax.tree_util.tree_flatten_with_path(before)
    for (path, w), new in zip(flat, jax.tree_util.tree_leaves(after)):
        if w.ndim == 2 and rate > 0:
            update = (1 - rate * decay) * w - new  # rate * u
            name = jax.tree_util.keystr(path)
            inner = float(jnp.sum(update * w)) / rate
            rows.writerow([t, name, float(jnp.linalg.norm(w)), float(jnp.linalg.norm(update)), inner, rate, decay])
