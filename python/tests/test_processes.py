"""Two processes with gloo are one process."""

import pytest
import torch

import processes
from hypertransfer import shards


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch cannot talk between processes")
@pytest.mark.parametrize("kind", ["ddp", "dtensor", "fsdp"])
def test_two_processes(kind):
    if kind != "ddp" and shards.DTensor is None:
        pytest.skip("this PyTorch has no DTensor")
    if kind == "fsdp" and not hasattr(torch.cpu.Stream, "record_event"):
        pytest.skip("FSDP2 of this PyTorch needs a card")
    good, last, everything = processes.run(kind)
    assert good, everything
    assert "two processes are one" in last
