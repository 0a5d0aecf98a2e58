"""SGLang plugin for its CPU engine without AMX: which attention DeepSeek takes, and which library multiplies.

Latent attention (DeepSeek, Kimi) takes the absorbed path: the CPU engine would choose fused AMX kernels for it, which
have no stand-in here. Products of float32 go to oneDNN: torch gives them to MKL, which on AMD processors has half the
speed or less (`ops/bench linear`).
"""

import os

import torch
from torch.nn.functional import linear


def register():
    if os.environ.get("SGLANG_USE_CPU_ENGINE") != "1":
        return
    _take_absorbed_attention()
    _take_onednn()


def _take_absorbed_attention():
    from sglang.srt.models.deepseek_common.attention_backend_handler import AttentionBackendRegistry
    from sglang.srt.models.deepseek_common.attention_forward_methods.forward_methods import AttnForwardMethod

    for backend in ("torch_native", "intel_amx"):
        AttentionBackendRegistry.register(backend, lambda attention, batch: AttnForwardMethod.MLA)


def _take_onednn():
    from sglang.srt.layers.quantization.unquant import UnquantizedLinearMethod
    from sglang.srt.layers.vocab_parallel_embedding import VocabParallelEmbedding

    UnquantizedLinearMethod.apply = lambda self, layer, x, bias=None: multiply(x, layer.weight, bias)
    VocabParallelEmbedding.use_intel_amx_backend = True  # the head asks for the kernel below, the look-up never does
    torch.ops.sgl_kernel.weight_packed_linear = lambda x, weight, bias, is_vnni: multiply(x, weight, bias)


def multiply(x, weight, bias=None):
    """x [..., in], weight [out, in], bias [out] or None; as torch's `linear`."""
    if x.dtype != torch.float32 or weight.dtype != torch.float32 or not torch.backends.mkldnn.is_available():
        return linear(x, weight, bias)
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
