"""Bookkeeping of SGLang's request and KV pools."""

import ctypes

import torch


def assign_req_to_token_pool_cpu(rows, req_to_token, starts, ends, slots, pool_len):
    """Write each request's new slots behind those it has."""
    done = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist()):
        req_to_token[row, start:end] = slots[done : done + end - start].to(req_to_token.dtype)
        done += end - start


def assign_extend_cache_locs_cpu(rows, req_to_token, starts, ends, slots, pool_len):
    """Read the slots of positions start..end of each request."""
    done = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist()):
        slots[done : done + end - start] = req_to_token[row, start:end].to(slots.dtype)
        done += end - start


def assign_draft_cache_locs_contiguous_cpu(rows, req_to_token, seq_lens, slots, pool_len, topk, steps):
    """Read the slots of the positions that drafting will use."""
    many = topk * steps
    for i, (row, length) in enumerate(zip(rows.tolist(), seq_lens.tolist())):
        slots[i * many : (i + 1) * many] = req_to_token[row, length : length + many].to(slots.dtype)


def build_draft_decode_metadata_cpu(req_to_token, rows, seq_lens, topk, steps, pool_len):
    """One row of slots a draft branch: the request's own, then the branch's."""
    width = int(seq_lens.max()) + steps
    out = torch.zeros(rows.numel() * topk, width, dtype=req_to_token.dtype)
    for i, (request, length) in enumerate(zip(rows.tolist(), seq_lens.tolist())):
        for branch in range(topk):
            row = out[i * topk + branch]
            row[:length] = req_to_token[request, :length]
            first = length + branch * steps
            row[length : length + steps] = req_to_token[request, first : first + steps]
    return out


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, targets, sources):
    """Move slots in every layer's buffer. All are read before any is written: the lists may overlap."""
    targets, sources = targets.tolist(), sources.tolist()
    for base, stride in zip(data_ptrs.tolist(), strides.tolist()):
        slots = [ctypes.string_at(base + source * stride, stride) for source in sources]
        for target, slot in zip(targets, slots):
            ctypes.memmove(base + target * stride, slot, stride)
