"""What fixes the draft model's tensors and their use, readable without torch."""

from dataclasses import dataclass
from typing import Any

from runner.protocol.errors import DataError, StageError

VARIANTS = ("default", "linear", "llama3", "yarn")
_OTHER_NORMS = ("norm_before_fc", "use_aux_norm", "norm_output")  # of SGLang 0.5.23's drafter


@dataclass(frozen=True, kw_only=True)
class Rope:
    """`theta` and `scaling` as they stand in a Hugging Face config (`scaling` without rope_theta; {} for plain)."""

    theta: float
    scaling: dict[str, Any]
    max_positions: int

    @property
    def variant(self) -> str:
        return str(self.scaling.get("rope_type") or self.scaling.get("type") or "default")


def read_rope(config: dict[str, Any], choice: str = "target") -> Rope:
    """The RoPE settings of a text config, in the old (`rope_theta`, `rope_scaling`) or the new spelling.

    Raises StageError for a variant whose served form is not known to equal the trained one.
    """
    scaling = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    theta = float(scaling.pop("rope_theta", None) or config.get("rope_theta") or 10000.0)
    if scaling.get("rope_type", scaling.get("type")) == "default" or choice == "default":
        scaling = {}
    rope = Rope(theta=theta, scaling=scaling, max_positions=int(config.get("max_position_embeddings") or 2048))
    partial = float(config.get("partial_rotary_factor") or 1.0)
    deepseek = any(scaling.get(key) for key in ("mscale", "mscale_all_dim"))
    if rope.variant not in VARIANTS or partial != 1.0 or deepseek:
        raise StageError(
            f"RoPE of the target ({scaling or {'partial_rotary_factor': partial}}) has no equal in SGLang's drafter",
            "--rope default trains and exports plain RoPE with the target's theta",
        )
    return rope


@dataclass(frozen=True, kw_only=True)
class DraftShape:
    """Everything that fixes the draft model's tensors and their use."""

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    draft_vocab_size: int
    rms_norm_eps: float
    rope: Rope
    num_aux: int = 3
    fc_norm: bool = False  # each captured state is divided by its root mean square before fc

    @property
    def q_width(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        return self.num_kv_heads * self.head_dim


def stored_shape(stored: dict[str, Any]) -> DraftShape:
    """As a training plan keeps it; what came later has its default. Raises DataError for other fields."""
    try:
        return DraftShape(**{**stored, "rope": Rope(**stored["rope"])})
    except (KeyError, TypeError) as error:
        raise DataError(f"no shape of a drafter in the training plan ({error!r})") from error


def shape_of(config: dict[str, Any]) -> DraftShape:
    """The shape that a served config describes. Raises DataError for a missing field, or a norm unknown here."""
    for name in _OTHER_NORMS:
        if config.get(name) or (config.get("eagle_config") or {}).get(name):
            raise DataError(f"the drafter's config asks for {name}, which is not known here")
    try:
        ids = (config.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids")
        return DraftShape(
            hidden_size=config["hidden_size"],
            intermediate_size=config["intermediate_size"],
            num_heads=config["num_attention_heads"],
            num_kv_heads=config["num_key_value_heads"],
            head_dim=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            vocab_size=config["vocab_size"],
            draft_vocab_size=config["draft_vocab_size"],
            rms_norm_eps=config["rms_norm_eps"],
            rope=read_rope(config),
            num_aux=len(ids) if ids else 3,
            fc_norm=bool(config.get("fc_norm")),
        )
    except KeyError as error:
        raise DataError(f"the drafter's config has no {error}") from error
