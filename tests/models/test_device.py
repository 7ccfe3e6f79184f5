"""Networks elsewhere: tensors go there and come back, also from method to method."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.models import device as devices
from puzzleflow.models.device import find_device, moved, placed
from puzzleflow.models.relational import World

META = torch.device("meta")


class Doubling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.inner = nn.Linear(2, 2)

    def forward(self, values: Tensor) -> list[Tensor]:
        return [self.double(self.inner(values))]

    def double(self, values: Tensor) -> Tensor:
        self.seen.append(values.device.type)
        return 2 * values


def test_what_goes_in_is_moved_and_only_the_last_result_comes_back(monkeypatch) -> None:
    back: list[str] = []
    plain = devices.moved

    def watching(value: object, device: torch.device) -> object:
        if device.type == "cpu":
            back.append(type(value).__name__)
            return value
        return plain(value, device)

    monkeypatch.setattr(devices, "moved", watching)
    network = placed(Doubling(), META)
    assert isinstance(network.inner, nn.Linear)
    network(torch.zeros(3, 2))
    assert network.seen == ["meta"]
    assert back == ["list"]
    network.double(torch.zeros(1))
    assert back == ["list", "Tensor"]


def test_the_processor_changes_nothing() -> None:
    network = Doubling()
    assert placed(network, find_device("cpu")) is network
    assert "forward" not in vars(network)


def test_every_tensor_of_a_value_is_moved() -> None:
    world = World(None)
    value = moved({"a": [torch.zeros(1), (torch.ones(2), 3)], "b": world}, META)
    assert value["a"][0].device == value["a"][1][0].device == META
    assert value["a"][1][1] == 3
    assert value["b"] is world


def test_devices_by_name(monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(devices, "_has_mps", lambda: False)
    assert find_device("auto").type == "cpu"
    for name in ("cuda", "cuda:1", "mps"):
        with pytest.raises(InputError, match=f"no device '{name}' on this machine"):
            find_device(name)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert find_device("cuda:1") == torch.device("cuda:1")
    assert find_device("auto").type == "cuda"
    with pytest.raises(InputError, match="no device 'cuda:2'"):
        find_device("cuda:2")
