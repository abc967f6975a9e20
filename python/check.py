"""Checks of hypertransfer.py.

    python3 python/check.py vectors FILE      the algebra against steps that `core` computed; plain Python
    python3 python/check.py golden DIR        the optimizer against golden trajectories; needs PyTorch
    python3 python/check.py optimizer         state dict, context manager, refusals; needs PyTorch

Exit code 0: passed. 1: failed. 3: PyTorch is not installed.
"""

import copy
import json
import math
import os
import struct
import sys

import hypertransfer as ht

RELATIVE = 1e-15  # a few roundings: the two libraries' hypot and atan2 may differ in the last bit


def vectors(path):
    """One vector per line: what was computed, the numbers it took, and what came out or `refused`."""
    count, largest = 0, 0.0
    with open(path) as lines:
        for number, line in enumerate(lines, 1):
            kind, given, expected = (part.split() for part in line.split("|"))
            try:
                got = CASES[kind[0]](given)
            except ht.Refusal:
                got = None
            if expected == ["refused"] or got is None:
                if expected != ["refused"] or got is not None:
                    fail(f"line {number}: got {got}, expected {expected}: {line.strip()}")
                count += 1
                continue
            wanted = [float(x) for x in expected]
            if len(got) != len(wanted):
                fail(f"line {number}: {len(got)} numbers instead of {len(wanted)}")
            for k, (x, y) in enumerate(zip(got, wanted)):
                error = 0.0 if x == y else abs(x - y) / abs(y) if y and math.isfinite(y) else math.inf
                largest = max(largest, error)
                if not error <= RELATIVE:
                    fail(f"line {number}, number {k + 1}: {x!r} instead of {y!r}, relative error {error}: {line.strip()}")
            count += 1
    if count == 0:
        fail(f"{path} has no vectors")
    print(f"{count} vectors agree, largest relative difference {largest:.1e}")


def space(text):
    return ht.Hyperball() if text == "ball" else ht.Base(float(text))


def algebra(given):
    target, carrier, rule = given[:3]
    step, R, norm, target_norm, w, u, uw, e = given[3:11]
    rule = ht.Transfer(space(target), space(carrier), rule)
    s = ht.State(int(step), float(R), float(norm), float(target_norm))
    taken = rule.step(s, ht.Reading(float(w), float(u), float(uw)), float(e), *map(float, given[11:]))
    after = taken.next
    return [rule.evaluation_scale(s), rule.gradient_scale(s), taken.keep, taken.push, taken.nominal, taken.effective,
            taken.angle, taken.norm, taken.target_norm, after.step, after.R, after.norm, after.target_norm]


def mode(given):
    rule = ht.transfer(given[0], 0.25, 0.5)
    code = [ht.GRADIENT_RULES.index(rule.gradient), rule.target.decay, rule.carrier.decay]
    return code + [isinstance(rule.target, ht.Base), isinstance(rule.carrier, ht.Base)]


CASES = {
    "step": algebra,
    "mode": mode,
    "effective": lambda given: [ht.effective_rate(*map(float, given))],
    "fair": lambda given: [ht.fair_rate(*map(float, given))],
    "transferred": lambda given: [ht.transferred_rate(*map(float, given))],
    "implied": lambda given: [ht.Step(float(given[0]), 0, 0, float(given[1]), 0, 1, 1, None).implied_decay],
    "linear": lambda given: [ht.linear(int(given[0]), float(given[1]), int(given[2]), *map(float, given[3:]))],
}


INVARIANT = ("hypertransfer", "inverse-hypertransfer", "decay-transfer")


def golden(directory):
    """Every case of the golden files, in double precision. The bounds are those that the Java engines are held to."""
    print(f"{'':6s} {'network, direction, mode':45s} {'loss':>8s} {'norm':>8s} {'rate':>8s}   largest relative errors")
    failed = 0
    for network in ("M1", "M2"):
        with open(os.path.join(directory, network + ".json")) as f:
            file = json.load(f)
        tensors = safetensors(os.path.join(directory, network + ".safetensors"))
        runs = [(case, None) for case in file["cases"]]
        if network == "M1":  # every matrix is scale-invariant there, so the radius is as good a place as any
            runs += [(case, ht.AT_RADIUS) for case in file["cases"] if case["mode"] in INVARIANT]
        for case, gradient in runs:
            errors = trajectory(file, tensors, case, gradient)
            name = f"{network} {case['direction']} {case['mode']} {gradient or ''}"
            good = all(error < 1e-9 for error in errors)
            failed += not good
            print(f"{'ok' if good else 'FAILED':6s} {name:45s} {errors[0]:8.1e} {errors[1]:8.1e} {errors[2]:8.1e}")
    if failed:
        fail(f"{failed} golden trajectories were left")
    print(f"all golden trajectories followed, torch {ht.torch.__version__}")


def trajectory(file, tensors, case, gradient):
    torch = ht.torch
    parameters = {name[len("weight:"):]: torch.nn.Parameter(value.clone())
                  for name, value in tensors.items() if name.startswith("weight:")}
    hidden = {name: p for name, p in parameters.items() if name in case["matrices"]}
    rest = [p for name, p in parameters.items() if name not in hidden]
    group = ht.muon if case["direction"] == "muon" else ht.adamw
    optimizer = ht.HyperTransfer([
        group(list(hidden.values()), lr=0, decay=case["decay"], mode=case["mode"],
              target_decay=case["target_decay"] or 0.0, gradient=gradient),
        ht.adamw(rest, lr=0, decay=0.1)])
    errors = [0.0, 0.0, 0.0]
    for t in range(file["steps"]):
        for g, peak in zip(optimizer.param_groups, (case["rate"], case["adam_rate"])):
            g["lr"] = ht.linear(t, peak, file["steps"], case["warmup"], case["final_ratio"])
        optimizer.zero_grad()
        with optimizer.evaluation():
            loss = forward(file, parameters, tensors["tokens"][t].long())
            loss.backward()
        optimizer.step()
        errors[0] = max(errors[0], apart(loss.item(), case["losses"][t]))
        for name, p in hidden.items():
            step, wanted = optimizer.taken[p], case["matrices"][name]
            for k, got, key in ((1, step.norm, "norm"), (1, step.target_norm, "target_norm"),
                                (2, step.nominal, "rate"), (2, step.effective, "effective")):
                errors[k] = max(errors[k], apart(got, wanted[key][t]))
    return errors


def forward(file, p, tokens):
    """The networks M1 and M2 as docs/IDEA.md pins them. (B, T, C); H heads."""
    torch = ht.torch
    B, T, C, D = file["batch"], file["seq"], file["dim"], file["head_dim"]
    m1 = file["network"] == "M1"
    x, y = tokens[:-1].view(B, T), tokens[1:].view(B, T)

    def norm(h, gain=None):
        h = h / torch.sqrt(h.square().mean(-1, keepdim=True) + file["norm_eps"])
        return h if gain is None else h * (1 + p[gain].flatten())

    def heads(h):
        return h.view(B, T, C // D, D).transpose(1, 2)

    angle = torch.arange(T, dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(D // 2, dtype=torch.float64) / (D // 2))
    cos, sin = angle.cos(), angle.sin()

    def rotary(h):
        a, b = h[..., : D // 2], h[..., D // 2:]
        return torch.cat((a * cos + b * sin, b * cos - a * sin), -1)

    post = norm if m1 else lambda h: h
    h = norm(p["embed.weight"][x], "embed.gain")
    for l in range(file["layers"]):
        block = f"blocks.{l}."
        a = norm(h, block + "attn.gain")
        q, k, v = (heads(a @ p[f"{block}attn.{name}.weight"].T) for name in "qkv")
        q, k, v = rotary(norm(q)), rotary(norm(k)), norm(v) if m1 else v
        score = q @ k.transpose(-1, -2) / math.sqrt(D)
        score = score.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -math.inf)
        o = (score.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        h = h + post(o @ p[block + "attn.o.weight"].T)
        m = post(norm(h, block + "mlp.gain") @ p[block + "mlp.fc.weight"].T).relu().square()
        h = h + post(m @ p[block + "mlp.proj.weight"].T)
    logits = norm(h, "head.gain") @ p["head.weight"].T
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def safetensors(path):
    torch = ht.torch
    types = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}
    with open(path, "rb") as f:
        data = bytearray(f.read())
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensor = torch.frombuffer(data[8 + size + begin:8 + size + end], dtype=types[entry["dtype"]])
            tensors[name] = tensor.view(entry["shape"])
    return tensors


def optimizer():
    """A run that is saved, loaded and continued is the same run; the context leaves the parameters as they were."""
    torch = ht.torch
    for mode in ht.MODES:
        for direction in (ht.muon, ht.adamw):
            straight = Small(mode, direction)
            for t in range(8):
                straight.step(t)
            first = Small(mode, direction)
            for t in range(4):
                first.step(t)
            second = Small(mode, direction)
            with torch.no_grad():
                second.w.copy_(first.w)
            second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
            for t in range(4, 8):
                second.step(t)
            expect(torch.equal(straight.w, second.w), f"{mode}: the continued run is the straight one")
            before = second.w.detach().clone()
            with second.optimizer.evaluation():
                inside = second.w.detach().clone()
            expect(torch.equal(before, second.w), f"{mode}: parameters are restored")
            plus = mode.endswith("plus")
            expect(torch.equal(before, inside) != plus, f"{mode}: evaluated at {'a multiple' if plus else 'w'}")
            print(f"ok     {direction.__name__:6s} {mode:28s} continued, restored, evaluated at {'a multiple' if plus else 'w'}")
    replayed()
    print("ok     plain Muon replays MuonH by rate and decay")
    forgetful = Small("hypertransfer-plus", ht.muon)
    forgetful.w.grad = torch.ones_like(forgetful.w)
    refused(forgetful.optimizer.step, "inside `with optimizer.evaluation()")
    refused(lambda: ht.HyperTransfer([ht.muon([torch.nn.Parameter(torch.ones(3))], lr=0.1)]), "Muon needs matrices")
    refused(lambda: ht.HyperTransfer([ht.muon([forgetful.w], lr=0.1, mode="ball")]), "unknown mode 'ball'")
    zero = ht.HyperTransfer([ht.muonh([torch.nn.Parameter(torch.zeros(3, 4))], lr=0.1)])
    zero.param_groups[0]["params"][0].grad = torch.ones(3, 4)
    refused(zero.step, "parameter 0 of shape (3, 4)")
    print("ok     refusals")
    print(f"the optimizer keeps its promises, torch {torch.__version__}")


def replayed():
    """Plain Muon, written out, with the rates and decays of each step of MuonH: `ht schedule --series replay`."""
    torch = ht.torch
    ball, plain = Small("hyperball", ht.muon), Small("base", ht.muon)
    for t in range(8):
        ball.step(t)
        taken = ball.optimizer.taken[ball.w]
        rate, decay = taken.push, (1 - taken.keep) / taken.push
        plain.loss(t)
        with torch.no_grad():
            plain.m = plain.w.grad.clone() if t == 0 else 0.95 * plain.m + 0.05 * plain.w.grad
            plain.w.mul_(1 - rate * decay).sub_(rate * ht.newton_schulz(plain.m))
        expect(torch.allclose(plain.w, ball.w, rtol=1e-12, atol=1e-14), f"step {t}: plain Muon is where MuonH is")


class Small:
    """A matrix of 5 x 7 with a loss that is not invariant to its scale."""

    def __init__(self, mode, direction):
        torch = ht.torch
        generator = torch.Generator().manual_seed(3)
        self.w = torch.nn.Parameter(torch.randn(5, 7, generator=generator, dtype=torch.float64))
        self.data = torch.randn(8, 7, 5, generator=generator, dtype=torch.float64)
        self.optimizer = ht.HyperTransfer([direction([self.w], lr=0.05, decay=0.2, mode=mode, target_decay=0.4)])

    def loss(self, t):
        self.optimizer.zero_grad()
        loss = (self.w @ self.data[t]).tanh().sum() + self.w.square().sum() / 10
        loss.backward()
        return loss

    def step(self, t):
        self.optimizer.step(lambda: self.loss(t))


def refused(action, message):
    try:
        action()
    except ht.Refusal as refusal:
        expect(message in str(refusal), f"'{refusal}' should say '{message}'")
    else:
        fail(f"'{message}' was expected, and nothing was refused")


def apart(x, y):
    return abs(x - y) / max(abs(y), 1e-300) if x != y else 0.0


def expect(holds, what):
    if not holds:
        fail("not so: " + what)


def fail(message):
    sys.stdout.flush()
    sys.exit("FAILED: " + message)


if __name__ == "__main__":
    what, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    checks = {"vectors": vectors, "golden": golden, "optimizer": optimizer}
    if what not in checks or len(arguments) != (0 if what == "optimizer" else 1):
        sys.exit(__doc__)
    if what != "vectors" and ht.torch is None:
        print("PyTorch is not installed", file=sys.stderr)
        sys.exit(3)
    checks[what](*arguments)
