"""A stand-in for sglang-kernel 0.4.10 in plain torch, for CPUs without AMX (SGLang 0.5.23).

It holds what a text model and EAGLE drafting with a chain or a tree need. Every other name is there too, so that
SGLang's modules import, but raises when it is called.
"""

import torch

from sgl_kernel.attention import decode_attention, extend_attention
from sgl_kernel.pools import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    build_draft_decode_metadata_cpu,
    copy_all_layer_kv_cache_cpu,
)
from sgl_kernel.trees import (
    build_tree_kernel_efficient_cpu,
    fill_accept_out_cache_loc_cpu,
    fill_bonus_tokens_cpu,
    rotate_input_ids_cpu,
    verify_tree_greedy_cpu,
)

__version__ = "0.4.10"
__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "build_draft_decode_metadata_cpu",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "rotate_input_ids_cpu",
    "verify_tree_greedy_cpu",
]


class _Missing:
    """A kernel without a stand-in."""

    def __init__(self, name):
        self.__name__ = self.name = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{self.name} has no CPU stand-in")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Missing(name)


# SGLang reads torch.ops.sgl_kernel.<name> as a plain attribute: registering real operators would only cost dispatch.
torch.ops.sgl_kernel.extend_attention_cpu = extend_attention
torch.ops.sgl_kernel.decode_attention_cpu = decode_attention
