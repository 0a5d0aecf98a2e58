"""Attention over SGLang's paged KV pool, as its `intel_amx` backend calls it.

Shapes: q [tokens, H, D]; pools k [slots, KH, D], v [slots, KH, Dv]; o [tokens, H, Dv], written in place;
req_to_token [requests, positions] holds slots.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention as attend


def extend_attention(
    q, k, v, o, k_pool, v_pool, k_scale, v_scale, req_to_token, rows, seq_lens, extend_lens, extend_starts,
    max_extend_len, scale, logit_cap, is_cross=False, window=0, encoder_lens=None, sinks=None, tree_mask=None,
    causal=True,
):  # fmt: skip
    """Prefill and verification: each request's new tokens attend to its cached prefix and to one another."""
    _refuse(is_cross, window, encoder_lens, sinks, logit_cap)
    starts, lens, totals = extend_starts.tolist(), extend_lens.tolist(), seq_lens.tolist()
    for i, (start, new, total) in enumerate(zip(starts, lens, totals)):
        if new == 0:
            continue
        cached = total - new
        if cached == 0 and k is not None:  # nothing in the pool that is not in k and v as well
            keys = k[start : start + new].view(new, -1, q.shape[-1])
            values = v[start : start + new].reshape(new, -1, o.shape[-1])
        else:
            slots = req_to_token[rows[i], :total].long()
            keys, values = k_pool[slots], v_pool[slots]
        mask = None
        if tree_mask is not None or (cached and causal):
            mask = torch.ones(new, total, dtype=torch.bool)
            own = mask[:, cached:]
            own.copy_(tree_mask.view(-1, new, new)[i] if tree_mask is not None else own.tril())
        o[start : start + new] = _attend(q[start : start + new], keys, values, scale, mask, causal and mask is None)


def decode_attention(
    q, k_pool, v_pool, k_scale, v_scale, o, k, v, slots, attn_logits, req_to_token, rows, seq_lens, scale,
    logit_cap, is_cross=False, window=0, encoder_lens=None, sinks=None,
):  # fmt: skip
    """One new token a request: its key and value are stored, then it attends to all of the request's positions."""
    _refuse(is_cross, window, encoder_lens, sinks, logit_cap)
    if k is not None:
        k_pool[slots] = k.view(k.shape[0], -1, k_pool.shape[-1]).to(k_pool.dtype)
        is_latent = v_pool.shape[-1] != k_pool.shape[-1] and v_pool.data_ptr() == k_pool.data_ptr()
        if not is_latent:  # multi-head latent attention: the values are a view into the keys
            v_pool[slots] = v.view(v.shape[0], -1, v_pool.shape[-1]).to(v_pool.dtype)
    longest = int(seq_lens.max())
    used = req_to_token[rows, :longest].long()  # beyond a request's length: any slot, masked below
    mask = torch.arange(longest) < seq_lens[:, None]
    keys, values = k_pool[used.clamp_(min=0)], v_pool[used]
    batch, kv_heads = q.shape[0], k_pool.shape[1]
    # The query heads that share a key head are taken as that head's queries: no keys are repeated.
    out = attend(
        q.view(batch, kv_heads, -1, q.shape[-1]),
        keys.transpose(1, 2).to(q.dtype),
        values.transpose(1, 2).to(q.dtype),
        attn_mask=mask[:, None, None],
        scale=scale,
    )
    o.copy_(out.reshape(o.shape))


def _attend(q, keys, values, scale, mask, causal):
    q, keys, values = (x.transpose(0, 1)[None].to(q.dtype) for x in (q, keys, values))
    gqa = q.shape[1] != keys.shape[1]
    return attend(q, keys, values, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=gqa)[0].transpose(0, 1)


def _refuse(is_cross, window, encoder_lens, sinks, logit_cap):
    if is_cross or encoder_lens is not None or sinks is not None or (window and window > 0) or (logit_cap or 0) > 0:
        raise NotImplementedError("CPU stand-in: no cross attention, sinks, sliding window or logit cap")
