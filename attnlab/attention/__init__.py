"""Attention mechanisms as Keras layers, one protocol for all of them.

    from attnlab.attention import BahdanauAttention
    context, weights = BahdanauAttention(units=16)(query, memory)

A new mechanism needs no entry here: a file in this folder and a YAML in `conf/attention` that names
its class are enough.
"""

from attnlab.attention.bahdanau import BahdanauAttention
from attnlab.attention.base import Attention, AttentionOutput, ProjectedMemory
from attnlab.attention.delta import DeltaAttention
from attnlab.attention.differential import DifferentialAttention
from attnlab.attention.forgetting import ForgettingAttention
from attnlab.attention.functional import causal_mask, padding_mask, require_equal_widths
from attnlab.attention.gated_delta import GatedDeltaAttention
from attnlab.attention.linear import LinearAttention
from attnlab.attention.luong_global import LuongGlobalAttention
from attnlab.attention.luong_local import LuongLocalAttention
from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.attention.none import NoAttention
from attnlab.attention.pooling import PoolingAttention
from attnlab.attention.scaled_dot_product import ScaledDotProductAttention
