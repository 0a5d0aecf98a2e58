"""SGLang plugin for its CPU engine without AMX: latent attention (DeepSeek, Kimi) takes the absorbed path.

The CPU engine would choose fused AMX kernels for it, which have no stand-in here.
"""

import os


def register():
    if os.environ.get("SGLANG_USE_CPU_ENGINE") != "1":
        return
    from sglang.srt.models.deepseek_common.attention_backend_handler import AttentionBackendRegistry
    from sglang.srt.models.deepseek_common.attention_forward_methods.forward_methods import AttnForwardMethod

    for backend in ("torch_native", "intel_amx"):
        AttentionBackendRegistry.register(backend, lambda attention, batch: AttnForwardMethod.MLA)
