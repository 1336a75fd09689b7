"""Addresses of Ray clusters."""

from __future__ import annotations

import pytest

from crx.errors import UsageError
from crx_engines.ray.ray_address import RayAddress, parse_ray_address


def test_the_cluster_of_this_machine_has_no_host() -> None:
    assert parse_ray_address("ray") == RayAddress()
    assert RayAddress().cluster is None


def test_a_host_has_a_port_and_a_worker_its_share() -> None:
    address = parse_ray_address("ray://head.example.org:10002?cpus=4&gpus=0.25")
    assert address == RayAddress("head.example.org", 10002, 4.0, 0.25)
    assert (address.cluster, address.threads) == ("ray://head.example.org:10002", 4)
    assert parse_ray_address("ray?cpus=0.5").threads == 1


@pytest.mark.parametrize(
    "text",
    ["", "spark", "ray://", "http://host", "ray://host/path", "ray?cpus=two", "ray?cpus=-1",
     "ray?memory=1", "ray://host:port",
     "raycluster", "ray?cpus=inf", "ray://user:secret@host", "ray/path", "ray://?cpus=1"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not the address of a Ray cluster; write ray"):
        parse_ray_address(text)
