"""Evidence for training: it learnt, and what it exported is whole and will be served on the states trained on.

The quick checks need no torch. The full ones load the checkpoint, compare the export with it, and let the exported
drafter predict held-out tokens through code that training does not use.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from runner.drafter import ARCHITECTURE, captured_indices, shape_complaints
from runner.hf import load_config
from runner.manifest import manifest_digest, read_manifest
from runner.protocol.errors import DataError, ProtocolError, StageError
from runner.protocol.evidence import Check
from runner.protocol.files import read_json
from runner.tensorfile import TensorInfo, read_header
from runner.train.shape import DraftShape, shape_of, stored_shape
from runner.vocab import VocabMap

PLAN, RESULT = "plan.json", "result.json"
ACCURACY = 0.05  # of the first draft step on held-out samples: below it nothing was learnt


def check_train(
    subject: Path, features: Path | None, vocab: Path | None, target: Path | None, full: bool
) -> list[Check]:
    """Look at a data folder of train. What was not given (`features`…) is not compared with."""
    try:
        result, plan = read_json(str(subject / RESULT)), read_json(str(subject / PLAN))
    except (OSError, ProtocolError) as error:
        return [Check("result", False, found=str(error), expected=f"{RESULT} and {PLAN}")]
    checks = [*_learnt(result), *_checkpoint(subject, result), *_export(subject / "draft", plan, features)]
    checks += _maps(subject, vocab, plan)
    if full and all(check.ok is not False for check in checks):
        from runner.verify import train_replay

        checks += train_replay.check(subject, int(result["exported_step"]), result, features, target)
    return checks


def pictures(subject: Path) -> list[str]:
    return [str(subject / "curve.png")] if (subject / "curve.png").is_file() else []


def _learnt(result: Mapping[str, Any]) -> Iterator[Check]:
    before, after = result.get("held_before"), result.get("held_after")
    if before and after:
        yield Check(
            "loss_fell",
            after["loss"] < before["loss"],
            found=f"{before['loss']:.3f} → {after['loss']:.3f}",
            expected="lower",
            detail="on held-out samples, weighted over draft steps",
        )
        first, last = before["accuracy"][0], after["accuracy"][0]
        yield Check(
            "accuracy",
            last > first and last >= ACCURACY,
            found=f"{first:.3f} → {last:.3f}",
            expected=f"higher, and at least {ACCURACY}",
            detail="by draft step: " + ", ".join(f"{share:.3f}" for share in after["accuracy"]),
        )
    else:
        first, last = result.get("loss_first"), result.get("loss_last")
        fell = first is not None and last is not None and last < first
        yield Check("loss_fell", fell, found=f"{first} → {last}", expected="lower", detail="on training samples")
        yield Check("accuracy", None, found=None, expected="held-out samples", detail="none were held out")
    alarms = result.get("alarms") or []
    grave = any(alarm.get("capture") for alarm in alarms)
    yield Check(
        "alarms",
        False if grave else None if alarms else True,
        found=len(alarms),
        expected=0,
        detail="; ".join(f"{alarm['kind']}: {alarm['message']}" for alarm in alarms),
    )
    skipped = result.get("skipped") or {}
    yield Check(
        "skipped",
        None if skipped else True,
        found=len(skipped),
        expected=0,
        detail="; ".join(f"{name}: {why}" for name, why in sorted(skipped.items())[:5]),
    )


def _checkpoint(subject: Path, result: Mapping[str, Any]) -> Iterator[Check]:
    path = subject / "checkpoints" / f"step-{int(result['exported_step']):09d}.safetensors"
    try:
        tensors = read_header(path)
        ok = any(name.startswith("adam.") for name in tensors) and "model.fc" in tensors
        yield Check("checkpoint", ok, found=f"{path.name}, {len(tensors)} tensors", expected="weights and optimizer")
    except DataError as error:
        yield Check("checkpoint", False, found=error.message, expected=path.name)


def _export(draft: Path, plan: Mapping[str, Any], features: Path | None) -> Iterator[Check]:
    try:
        config, tensors = load_config(draft), read_header(draft / "model.safetensors")
        shape, trained = shape_of(config), stored_shape(plan["shape"])
    except StageError as error:
        yield Check("export", False, found=error.message, expected="config.json and model.safetensors")
        return
    yield _keys(tensors, shape)
    yield _as_trained(shape, trained)
    embedding = [name for name in tensors if "embed_tokens" in name]
    yield Check(
        "embedding",
        not embedding and config.get("tie_word_embeddings") is False,
        found=", ".join(embedding) or f"none, tie_word_embeddings {config.get('tie_word_embeddings')}",
        expected="none in the file, not tied: the server shares the target's",
    )
    names = config.get("architectures")
    yield Check("architecture", names == [ARCHITECTURE], found=str(names), expected=ARCHITECTURE)
    yield _capture(config, plan, features)


def _keys(tensors: Mapping[str, TensorInfo], shape: DraftShape) -> Check:
    complaints = shape_complaints({name: info.shape for name, info in tensors.items()}, shape)
    wrong = {"d2t": "I64", "t2d": "BOOL"}
    complaints += [
        f"{n} is {tensors[n].dtype}" for n, kind in wrong.items() if n in tensors and tensors[n].dtype != kind
    ]
    return Check(
        "keys",
        not complaints,
        found=f"{len(tensors)} tensors",
        expected="all that SGLang loads, in shape",
        detail="; ".join(complaints),
    )


def _as_trained(shape: DraftShape, planned: DraftShape) -> Check:
    """Tensors of the right sizes do not tell how they are used: heads, positions, norms."""
    served, trained = asdict(shape), asdict(planned)
    differ = [name for name in served if served[name] != trained[name]]
    return Check(
        "shape",
        not differ,
        found=", ".join(f"{name} {served[name]}" for name in differ) or "as trained",
        expected=", ".join(f"{name} {trained[name]}" for name in differ) or "as trained",
        detail="what the drafter's config tells the server, beside the training plan",
    )


def _capture(config: Mapping[str, Any], plan: Mapping[str, Any], features: Path | None) -> Check:
    """The configured ids, as SGLang reads them, are the indices of the manifest; the manifest is the one trained on."""
    captured = plan["captured"]
    ids = (config.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids") or []
    served = captured_indices([int(number) for number in ids], captured["family"])
    wanted, detail, same = list(captured["indices"]), "by the training plan", True
    if features is not None:
        try:
            wanted, detail = list(read_manifest(features).capture.indices), "by the manifest"
            same = captured["manifest_digest"] in (None, manifest_digest(features))
        except StageError as error:
            return Check("capture", None, found=str(served), expected=error.message)
    if not same:
        detail = "the features are not those that were trained on: another manifest"
    return Check(
        "capture", served == wanted and same, found=f"ids {ids} capture {served}", expected=str(wanted), detail=detail
    )


def _maps(subject: Path, vocab: Path | None, plan: Mapping[str, Any]) -> Iterator[Check]:
    path = subject / "draft" / "model.safetensors"
    try:
        served = VocabMap.of(*_read_maps(path))
        trained = VocabMap.load(vocab or subject)
    except StageError as error:
        yield Check("maps", False, found=error.message, expected="d2t and t2d agree")
        return
    same = served.digest == trained.digest == plan["vocab_digest"]
    yield Check(
        "maps",
        same,
        found=f"{len(served.kept)} tokens, {served.digest[:12]}",
        expected=f"{len(trained.kept)} tokens, {trained.digest[:12]}",
        detail="" if same else "the exported map is not the one that was trained with",
    )


def _read_maps(path: Path) -> tuple[Any, Any]:
    tensors = read_header(path)
    kinds: dict[str, Any] = {"I64": np.int64, "BOOL": np.bool_}
    maps = []
    with path.open("rb") as file:
        for name in ("d2t", "t2d"):
            info = tensors.get(name)
            if info is None or info.dtype not in kinds:
                raise DataError(f"{name} is missing or of a wrong type")
            file.seek(info.start)
            maps.append(np.frombuffer(file.read(info.end - info.start), dtype=kinds[info.dtype]))
    return maps[0], maps[1]
