"""Attention mechanisms as Keras layers, one protocol for all of them.

    from attnlab.attention import BahdanauAttention
    context, weights = BahdanauAttention(units=16)(query, memory)

A new mechanism needs no entry here: a file in this folder and a YAML in `conf/attention` that names
its class are enough.

A name is imported when it is first used, so a run loads its own mechanism only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.attention.bahdanau import BahdanauAttention
    from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
    from attnlab.attention.delta import DeltaAttention, GatedDeltaAttention
    from attnlab.attention.differential import DifferentialAttention
    from attnlab.attention.forgetting import ForgettingAttention
    from attnlab.attention.functional import causal_mask, padding_mask, require_equal_widths
    from attnlab.attention.linear import LinearAttention
    from attnlab.attention.luong import LuongGlobalAttention, LuongLocalAttention
    from attnlab.attention.multi_head import MultiHeadAttention
    from attnlab.attention.none import NoAttention
    from attnlab.attention.pooling import PoolingAttention
    from attnlab.attention.scaled_dot_product import ScaledDotProductAttention

# Module in this folder -> its public names.
_NAMES = {
    "bahdanau": ("BahdanauAttention",),
    "base": ("Attention", "AttentionOutput", "ProjectedMemory"),
    "delta": ("DeltaAttention", "GatedDeltaAttention"),
    "differential": ("DifferentialAttention",),
    "forgetting": ("ForgettingAttention",),
    "functional": ("causal_mask", "padding_mask", "require_equal_widths"),
    "linear": ("LinearAttention",),
    "luong": ("LuongGlobalAttention", "LuongLocalAttention"),
    "multi_head": ("MultiHeadAttention",),
    "none": ("NoAttention",),
    "pooling": ("PoolingAttention",),
    "scaled_dot_product": ("ScaledDotProductAttention",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of this package (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
