"""Networks on other devices: a copy of the weights there, for runs that name the device."""

from __future__ import annotations

import copy
from typing import Any
from weakref import WeakKeyDictionary

import torch

from core.errors import InputError
from core.trace import Trace

CPU = "cpu"
_copies: WeakKeyDictionary[Any, tuple[str, Any]] = WeakKeyDictionary()
"""The last copy of each network, with its device."""


def network_on(network: Any, device: str) -> Any:
    """Return the network itself for the cpu, else its copy on the device, which stays there until another device is named.

    Raises InputError for a device that PyTorch does not know or cannot reach.
    """
    if device == CPU:
        return network
    known, there = _copies.get(network, (CPU, None))
    if known != device:
        try:
            with torch.inference_mode(False):
                there = copy.deepcopy(network).to(device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"The device {device!r} cannot be used ({reason}).",
                "A run computes on the cpu, or on a device that PyTorch reaches from here.",
                'Leave device out, or name one, such as device="cuda".',
            ) from None
        _copies[network] = device, there
    return there


def trace_on_cpu(trace: Trace) -> Trace:
    """Return the same trace with every value in the processor's memory."""
    moved = {path: record.value.detach().to(CPU) for path, record in trace.records.items()}
    return Trace(
        {path: record._replace(value=moved[path], version=0) for path, record in trace.records.items()},
        trace.visited,
    )
