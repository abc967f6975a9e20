"""Runs the two recipes of norms.py, with stand-ins for PyTorch and JAX: recipes.py FOLDER_OF_NORMS TORCH.csv JAX.csv"""
import math, sys, types


class Matrix:
    """As much of a tensor as the recipes use."""

    ndim = 2
    grad = ()  # there is one

    def __init__(self, *values):
        self.values = list(values)

    def detach(self):
        return self

    double = detach

    def clone(self):
        return Matrix(*self.values)

    def norm(self):
        return math.sqrt(sum(v * v for v in self.values))

    def sum(self):
        return sum(self.values)

    def __mul__(self, other):
        return Matrix(*(a * b for a, b in zip(self.values, other.values)))

    def __rmul__(self, factor):
        return Matrix(*(factor * v for v in self.values))

    def __sub__(self, other):
        return Matrix(*(a - b for a, b in zip(self.values, other.values)))


class Sgd:
    """Decoupled weight decay and a direction that is given."""

    def __init__(self, matrix, direction):
        self.matrix, self.direction = matrix, direction
        self.param_groups = [{"lr": 0.3, "weight_decay": 0.2, "params": [matrix]}]

    def step(self):
        self.matrix.values = [(1 - 0.3 * 0.2) * w - 0.3 * u for w, u in zip(self.matrix.values, self.direction)]


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


numpy = module("jax.numpy", sum=Matrix.sum, linalg=types.SimpleNamespace(norm=Matrix.norm))
module("jax", numpy=numpy, tree_util=types.SimpleNamespace(
    tree_flatten_with_path=lambda tree: (list(tree.items()), None),
    tree_leaves=lambda tree: list(tree.values()),
    keystr=str))
sys.path.insert(0, sys.argv[1])
from norms import NormLog, header, log_norms

matrix = Matrix(2.0, 1.0)
model = types.SimpleNamespace(named_parameters=lambda: [("fc", matrix)])
log = NormLog(sys.argv[2], model)
log.step(0, Sgd(matrix, [-1.0, 3.0]))
with open(sys.argv[3], "w", newline="") as out:
    log_norms(header(out), 0, {"fc": Matrix(2.0, 1.0)}, {"fc": matrix}, 0.3, 0.2)
