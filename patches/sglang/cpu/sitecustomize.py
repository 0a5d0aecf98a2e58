"""Lets PyPI's torchvision, linked against CUDA, be imported beside a CPU build of torch (SGLang needs its names).

Python imports a module of this name at start, in every process of the server. Nothing is imported until
torchvision itself is.
"""

import importlib.abc
import sys

_OPS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


class _DeclareOps(importlib.abc.MetaPathFinder):
    """Finds nothing; declares torchvision's operators just before its extension would load them."""

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision.extension":
            sys.meta_path.remove(self)
            import torch

            if torch.version.cuda is None:
                _library = torch.library.Library("torchvision", "FRAGMENT")
                _keep.append(_library)  # operators vanish with their library object
                for schema in _OPS:
                    try:
                        _library.define(schema)
                    except RuntimeError:  # this torchvision has them
                        break
        return  # another finder finds it


_keep = []
sys.meta_path.insert(0, _DeclareOps())
