"""What a user would take today: a frozen multilingual CLIP, with the same recalls on the same test split.

Its rows are context, never rows of a reproduced table: it was trained on other data, and far more of them.
"""

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.common.errors import InputError, disk_trouble, raise_together
from pipeline.common.files import atomic_write, sha256, verify_digest
from pipeline.common.progress import Progress
from pipeline.evaluation.gallery import gallery_of
from pipeline.evaluation.inputs import own_sentences
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import chance_recalls, recalls
from pipeline.images.crops import UnreadableImage, read_image
from pipeline.images.lists import read_image_list
from pipeline.words.sentence_vectors import DAMAGED, weights_digest

log = logging.getLogger("pipeline")

BATCH = 32  # photographs or sentences in one pass
SHARD = 256  # of them, saved at a time

# What the library raises for files that are missing, damaged or of another kind.
UNLOADABLE = (
    OSError, ValueError, LookupError, ImportError, RuntimeError, AttributeError, TypeError, SafetensorError,
)  # fmt: skip


class FrozenClip:
    """A model of two towers of the transformers library: CLIP, AltCLIP, Chinese CLIP, SigLIP and their kin.

    Attributes:
        name: as it was given; of a folder, its last part. parameters: how many it has. weights_sha256: digest
            of all of them, whatever files they lie in.

    Args:
        given: a folder, or a name on the Hugging Face hub.

    Raises:
        InputError: there is none, it has not two towers, or some of its weights are missing.
    """

    def __init__(self, given: str, device: torch.device):
        import transformers

        transformers.logging.disable_progress_bar()
        transformers.logging.set_verbosity_error()
        try:
            model, loaded = transformers.AutoModel.from_pretrained(
                given, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
            )
            missing = sorted({*loaded["missing_keys"], *map(str, loaded["mismatched_keys"])})
            if not (hasattr(model, "get_text_features") and hasattr(model, "get_image_features")):
                raise InputError(f"{given}: {type(model).__name__} does not embed both texts and images.")
            if missing:  # the library would draw them at random
                found = f"{len(missing)} of its weights are missing, the first {missing[0]}"
                raise InputError(f"{given}: {found}. Fetch it again.")
            self.processor = transformers.AutoProcessor.from_pretrained(given, trust_remote_code=False)
        except UNLOADABLE as error:
            if disk_trouble(error):
                raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{given}: neither a folder of a whole model with its processor nor a name on the hub that "
                f"can be fetched ({reason})."
            ) from None
        self.model: Any = model.eval().requires_grad_(False).to(device)
        self.name, self.device = Path(given).name if Path(given).is_dir() else given, device
        self.architecture = type(model).__name__
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.weights_sha256 = weights_digest(model)
        self.siglip = "siglip" in model.config.model_type
        tokenizer = self.processor.tokenizer
        # SigLIP 2 was trained on lower case (Tschannen et al. 2025); its published tokenisers keep capitals.
        self.lowers = self.siglip and type(tokenizer).__name__.startswith(("Gemma", "Siglip2"))
        positions = getattr(model.config.text_config, "max_position_embeddings", 512)
        self.longest = positions if self.siglip else min(positions, tokenizer.model_max_length)

    @torch.inference_mode()
    def embed_sentences(self, sentences: Sequence[str]) -> Tensor:
        """(B, e) unit vectors; texts longer than the model reads are cut."""
        texts = [text.lower() if self.lowers else text for text in sentences]
        # SigLIP was trained on texts of one length, whose padding is not masked.
        padding = "max_length" if self.siglip else True
        found = self.processor.tokenizer(
            texts, return_tensors="pt", padding=padding, truncation=True, max_length=self.longest
        )
        taken = ("input_ids",) if self.siglip else ("input_ids", "attention_mask")
        given = {key: found[key].to(self.device) for key in taken if key in found}
        return normalize(_pooled(self.model.get_text_features(**given)))

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Image.Image]) -> Tensor:
        """(n, e) unit vectors of decoded images."""
        found = self.processor.image_processor(images=list(images), return_tensors="pt")
        return normalize(_pooled(self.model.get_image_features(**found.to(self.device))))


def _pooled(found: Any) -> Tensor:
    """The library gives a tensor, or since version 5 an object that holds it."""
    pooled: Tensor = found if isinstance(found, Tensor) else found.pooler_output
    return pooled


def check_models(models: Sequence[str]) -> None:
    """Load every model once and let it embed a sentence and a picture.

    Raises:
        InputError: some cannot be used; every one is listed.
    """
    mistakes = []
    for name in models:
        try:
            clip = FrozenClip(name, torch.device("cpu"))
            said, seen = clip.embed_sentences(["a dog"]), clip.embed_images([Image.new("RGB", (64, 48))])
            if said.shape != seen.shape:
                mistakes.append(
                    f"{name}: embeds texts in {said.shape[1]} numbers, images in {seen.shape[1]}."
                )
            log.info("%s: %s with %s parameters", name, clip.architecture, f"{clip.parameters:,}")
        except InputError as error:
            mistakes.append(str(error))
        except (*UNLOADABLE, NotImplementedError) as error:
            mistakes.append(f"{name}: cannot embed a sentence and a picture ({error}).")
    raise_together(mistakes, "Models of `context` that cannot be used:")


def write_context(
    model: str,
    sentences: Sequence[Path],
    images: Path,
    settings: Mapping[str, Any],
    partial: Path,
    output: Path,
) -> None:
    """Write recalls, parameters and embedding speed of a frozen model on a test split, a row a language.

    Args:
        model: folder or name on the hub. sentences: caption tables. images: the list of the images' files.
        settings: `scale`, `dataset`, `languages`, `caption_origins`, `threads`. partial: folder from which
            a killed run resumes.

    Raises:
        InputError: the model is not to be had, or photographs are missing or do not decode.
    """
    own = own_sentences(sentences, settings)
    tests = {language: table[table["split"] == "test"] for language, table in own.items()}
    names = sorted(set().union(*(table["image"] for table in tests.values())))
    listed = read_image_list(images)
    missing = [name for name in names if name not in listed]
    raise_together(missing[:20], f"{images}: {len(missing)} test images are not in it, the first:")
    clip = FrozenClip(model, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    kept = Kept(partial, clip)
    seen, images_a_second = kept.images([listed[name] for name in names])
    place = {name: row for row, name in enumerate(names)}
    rows = []
    for language, table in tests.items():
        ordered = table.assign(row=table["image"].map(place)).sort_values("row", kind="stable")
        said, sentences_a_second = kept.sentences(list(ordered["caption"]), language)
        rows.append(
            {
                "model": clip.name,
                "scale": settings["scale"],
                "dataset": settings["dataset"],
                "language": language,
                **_measured(seen, said, ordered["row"].to_numpy(np.int64)),
                "architecture": clip.architecture,
                "parameters": clip.parameters,
                "images_per_second": round(images_a_second, 2),
                "sentences_per_second": round(sentences_a_second, 2),
                "device": _device_name(),
                "weights_sha256": clip.weights_sha256,
            }
        )
    with atomic_write(output) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False, lineterminator="\n")
    shutil.rmtree(partial, ignore_errors=True)


def _measured(seen: Tensor, said: Tensor, image_of: NDArray[np.int64]) -> dict[str, float | int]:
    """Recalls as `evaluate` computes them, what chance gives, and how many candidates there are."""
    gallery = gallery_of(image_of)
    found = recalls(
        both_ranks(seen[torch.from_numpy(gallery.rows)], said, torch.from_numpy(gallery.image_of))
    )
    return {
        **{metric: round(value, 6) for metric, value in found.items()},
        "chance_mR": round(chance_recalls(len(gallery.rows), gallery.image_of)["mR"], 6),
        "images": len(gallery.rows),
        "sentences": len(said),
    }


class Kept:
    """Vectors of a model, saved shard by shard in a folder, from which a killed run takes them again."""

    def __init__(self, folder: Path, clip: FrozenClip):
        self.folder, self.clip = folder, clip

    def images(self, paths: Sequence[Path]) -> tuple[Tensor, float]:
        """(n, e) of photographs, and how many were embedded a second, decoding left out."""

        def embedded(batch: Sequence[Path]) -> tuple[Tensor, float]:
            return _timed(self.clip.embed_images, _decoded(batch))

        return self._all(paths, embedded, sha256, "images")

    def sentences(self, texts: Sequence[str], language: str) -> tuple[Tensor, float]:
        """(B, e) of sentences, and how many were embedded a second."""

        def embedded(batch: Sequence[str]) -> tuple[Tensor, float]:
            return _timed(self.clip.embed_sentences, batch)

        return self._all(texts, embedded, str, f"sentences ({language})")

    def _all(
        self,
        items: Sequence[Any],
        embedded: Callable[[Any], tuple[Tensor, float]],
        identity: Callable[[Any], str],
        what: str,
    ) -> tuple[Tensor, float]:
        vectors, spent, progress = [], 0.0, Progress(what, len(items))
        for begin in range(0, len(items), SHARD):
            shard = items[begin : begin + SHARD]
            parts = [what, self.clip.weights_sha256, *map(identity, shard)]
            path = self.folder / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.npz"
            if (saved := _saved(path)) is None:
                batches = [embedded(shard[first : first + BATCH]) for first in range(0, len(shard), BATCH)]
                saved = torch.cat([one for one, _ in batches]), sum(seconds for _, seconds in batches)
                with atomic_write(path) as temporary, open(temporary, "wb") as file:
                    np.savez(file, vectors=saved[0].numpy(), seconds=saved[1])
            vectors.append(saved[0])
            spent += saved[1]
            progress.advance(len(shard))
        return torch.cat(vectors), len(items) / spent


def _saved(path: Path) -> tuple[Tensor, float] | None:
    if not path.exists():
        return None
    try:
        with np.load(verify_digest(path), allow_pickle=False) as file:
            return torch.from_numpy(file["vectors"]), float(file["seconds"])
    except DAMAGED as error:
        if disk_trouble(error):
            raise
        log.warning("%s: damaged, computed again: %s", path, error)
        return None


def _timed(embed: Callable[[Any], Tensor], batch: Sequence[Any]) -> tuple[Tensor, float]:
    begun = time.perf_counter()
    found = embed(batch).cpu()
    return found, time.perf_counter() - begun


def _decoded(paths: Sequence[Path]) -> list[Image.Image]:
    images, mistakes = [], []
    for path in paths:
        try:
            images.append(read_image(path))
        except UnreadableImage as error:
            mistakes.append(f"{path}: {error}")
    raise_together(mistakes, "Photographs that cannot be decoded; replace their files:")
    return images


def _device_name() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"
