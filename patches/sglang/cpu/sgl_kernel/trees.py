"""EAGLE's draft tree: building, greedy verification and what follows from it."""

import torch

QLEN_ONLY = 1


def build_tree_kernel_efficient_cpu(
    parents, selected, seq_lens, tree_mask, positions, retrieve_index, next_token, next_sibling, topk, depth, size, mode
):
    """Fill mask, positions and the first-child / next-sibling links of each request's tree of `size` nodes.

    `selected` [B, size-1] are the chosen candidates, `parents` the candidates that each group of topk came from.
    """
    if int(mode) != QLEN_ONLY:
        raise NotImplementedError("CPU stand-in: only masks of query length")
    mask = tree_mask.view(-1, size, size)
    for b in range(seq_lens.numel()):
        chosen, came_from, length = selected[b].tolist(), parents[b].tolist(), int(seq_lens[b])
        node_of = {}
        for j, candidate in enumerate(chosen):
            node_of.setdefault(candidate, j)

        def parent_of(node, chosen=chosen, came_from=came_from, node_of=node_of):
            group = chosen[node - 1] // topk
            return node_of[came_from[group]] + 1 if group > 0 else 0

        mask[b] = False
        mask[b, :, 0] = True
        retrieve_index[b] = torch.arange(b * size, (b + 1) * size)
        positions[b * size] = length
        for node in range(size - 1, 0, -1):
            parent = parent_of(node)
            elder = int(next_token[b, parent])
            next_token[b, parent] = node
            if elder != -1:
                next_sibling[b, node] = elder
        for node in range(1, size):
            ancestor, level = node, 0
            while ancestor:
                level += 1
                mask[b, node, ancestor] = True
                ancestor = parent_of(ancestor)
            positions[b * size + node] = length + level


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,  # spelt as SGLang passes it
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    """Walk each tree along the target's own choices; count and list the accepted nodes."""
    wanted = target_predict.reshape(-1)
    for b in range(candidates.shape[0]):
        last = int(retrive_index[b, 0])
        accept_index[b, 0] = last
        accepted = node = 0
        for _ in range(1, accept_index.shape[1]):
            node = int(retrive_next_token[b, node])
            while node != -1 and int(candidates[b, node]) != int(wanted[last]):
                node = int(retrive_next_sibling[b, node])
            if node == -1:
                break
            predicts[last] = wanted[last]
            accepted += 1
            last = int(retrive_index[b, node])
            accept_index[b, accepted] = last
        accept_token_num[b] = accepted
        predicts[last] = wanted[last]


def fill_bonus_tokens_cpu(accept_tokens, accept_lens, bonus, stride):
    """The last accepted token of each request."""
    flat = accept_tokens.reshape(-1)
    last = torch.arange(accept_lens.numel()) * stride + accept_lens.long() - 1
    bonus.copy_(flat[last].to(bonus.dtype))


def fill_accept_out_cache_loc_cpu(accept_index, slots, accepted_slots):
    """The KV slots of the accepted nodes, in order."""
    index = accept_index.reshape(-1)
    index = index[index > -1].long()
    accepted_slots[: index.numel()] = slots[index]


def rotate_input_ids_cpu(ids, starts, lens, new_ids, select_index=None):
    """Shift each request's ids left by one and put its new id behind them."""
    flat = new_ids.reshape(-1)
    for i, (start, length) in enumerate(zip(starts.tolist(), lens.tolist())):
        if length <= 0:
            continue
        ids[start : start + length - 1] = ids[start + 1 : start + length].clone()
        ids[start + length - 1 if select_index is None else int(select_index[i])] = flat[i]
