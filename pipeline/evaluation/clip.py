"""Zero-shot baselines: frozen multilingual CLIP models, evaluated on the same test split.

Their recalls are context, never rows of a reproduced table: the models were trained on other and far more
data.
"""

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.common.array_files import load_arrays, save_arrays
from pipeline.common.errors import InputError, disk_message, raise_together
from pipeline.common.files import atomic_write, sha256
from pipeline.common.inputs import check_paths
from pipeline.common.pretrained import UNLOADABLE, vectors_digest
from pipeline.common.progress import Progress
from pipeline.common.torch_files import short_reason, weights_digest
from pipeline.evaluation.gallery import gallery_of
from pipeline.evaluation.inputs import original_sentences
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import chance_recalls, recalls
from pipeline.evaluation.settings import ContextSettings
from pipeline.images.crops import UnreadableImage, read_image
from pipeline.images.lists import read_image_list

Item = TypeVar("Item")
Input = TypeVar("Input")

log = logging.getLogger("pipeline")

BATCH = 32  # photographs or sentences in one pass
SHARD = 256  # photographs or sentences saved at a time


class FrozenClip:
    """A two-tower model of the transformers library: CLIP, AltCLIP, Chinese CLIP, SigLIP and the like.

    Attributes:
        name: the given name; of a folder, its last part. parameters: their number. weights_sha256: digest
            of all weights, whatever files they are in.

    Args:
        model: a folder, or a name on the Hugging Face hub.

    Raises:
        InputError: the model is missing, does not have two towers, or lacks some of its weights.
    """

    def __init__(self, model: str, device: torch.device):
        self.model, self.processor = _load(model)
        self.model.eval().requires_grad_(False).to(device)
        self.name, self.device = Path(model).name if Path(model).is_dir() else model, device
        self.architecture = type(self.model).__name__
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.weights_sha256 = weights_digest(self.model)
        self.siglip = "siglip" in self.model.config.model_type
        tokenizer = self.processor.tokenizer
        # SigLIP 2 was trained on lower case (Tschannen et al. 2025); its published tokenisers keep capitals.
        self.lower_case = self.siglip and type(tokenizer).__name__.startswith(("Gemma", "Siglip2"))
        positions = getattr(self.model.config.text_config, "max_position_embeddings", 512)
        self.max_tokens = positions if self.siglip else min(positions, tokenizer.model_max_length)

    @torch.inference_mode()
    def embed_sentences(self, sentences: Sequence[str]) -> Tensor:
        """(B, e) unit vectors; longer texts than the model reads are truncated."""
        texts = [text.lower() if self.lower_case else text for text in sentences]
        # SigLIP was trained on texts of one length, whose padding is not masked.
        padding = "max_length" if self.siglip else True
        tokens = self.processor.tokenizer(
            texts, return_tensors="pt", padding=padding, truncation=True, max_length=self.max_tokens
        )
        keys = ("input_ids",) if self.siglip else ("input_ids", "attention_mask")
        inputs = {key: tokens[key].to(self.device) for key in keys if key in tokens}
        return normalize(_features(self.model.get_text_features(**inputs)))

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Image.Image]) -> Tensor:
        """(n, e) unit vectors of decoded images."""
        pixels = self.processor.image_processor(images=list(images), return_tensors="pt")
        return normalize(_features(self.model.get_image_features(**pixels.to(self.device))))


def _load(model: str) -> tuple[Any, Any]:
    """A two-tower model and its processor."""
    import transformers

    check_paths(Path(model).glob("*"))
    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    try:
        network, report = transformers.AutoModel.from_pretrained(
            model, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
        )
        if not (hasattr(network, "get_text_features") and hasattr(network, "get_image_features")):
            raise InputError(f"{model}: {type(network).__name__} does not embed both texts and images.")
        missing = sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])})
        if missing:  # the library would initialise them at random
            raise InputError(
                f"{model}: {len(missing)} of its weights are missing, the first {missing[0]}. Fetch it again."
            )
        return network, transformers.AutoProcessor.from_pretrained(model, trust_remote_code=False)
    except UNLOADABLE as error:
        if disk_message(error):
            raise
        raise InputError(
            f"{model}: neither a folder of a whole model with its processor nor a name on the hub that "
            f"can be fetched ({short_reason(error)})."
        ) from None


def _features(output: Any) -> Tensor:
    """The library returns a tensor or, since version 5, an object that holds it."""
    features: Tensor = output if isinstance(output, Tensor) else output.pooler_output
    return features


def check_models(models: Sequence[str]) -> None:
    """Check that frozen models can be used: each is loaded once, and embeds a sentence and a picture.

    Args:
        models: folders, or names on the Hugging Face hub.

    Raises:
        InputError: some models cannot be used; all of them are listed.
    """
    mistakes = []
    for name in models:
        try:
            clip = FrozenClip(name, torch.device("cpu"))
            sentence, image = clip.embed_sentences(["a dog"]), clip.embed_images([Image.new("RGB", (64, 48))])
            if sentence.shape != image.shape:
                mistakes.append(
                    f"{name}: embeds texts in {sentence.shape[1]} numbers, images in {image.shape[1]}."
                )
            log.info("%s: %s with %s parameters", name, clip.architecture, f"{clip.parameters:,}")
        except InputError as error:
            mistakes.append(str(error))
        except (*UNLOADABLE, NotImplementedError) as error:
            mistakes.append(f"{name}: cannot embed a sentence and a picture ({error}).")
    raise_together(mistakes, "Models of `context` that cannot be used:")


def evaluate_clip(
    model: str,
    sentences: Sequence[Path],
    images: Path,
    settings: ContextSettings,
    partial: Path,
    output: Path,
    code: str = "",
) -> None:
    """Write recalls, parameters and embedding speed of a frozen model on a test split, one row per language.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        sentences: own captions, tokenised.
        images: output of `find-images`.
        settings: JSON: scale, dataset, languages, caption_origins, threads.
        partial: folder from which a killed run resumes.
        output: CSV to write.
        code: digest of this code; vectors of other code are not resumed.

    Raises:
        InputError: the model cannot be loaded, or photographs are missing or do not decode.
    """
    torch.set_num_threads(settings.threads)
    originals = original_sentences(sentences, settings.languages, settings.caption_origins)
    tests = {language: table[table["split"] == "test"] for language, table in originals.items()}
    names = sorted(set().union(*(table["image"] for table in tests.values())))
    files = read_image_list(images)
    missing = [name for name in names if name not in files]
    raise_together(missing[:20], f"{images}: {len(missing)} test images are not in it, the first:")
    clip = FrozenClip(model, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    cache = EmbeddingCache(partial, clip, code)
    image_vectors, images_per_second = cache.images([files[name] for name in names])
    row_of = {name: row for row, name in enumerate(names)}
    rows = []
    for language, table in tests.items():
        by_row = table.assign(row=table["image"].map(row_of)).sort_values("row", kind="stable")
        sentence_vectors, sentences_per_second = cache.sentences(list(by_row["caption"]), language)
        rows.append(
            {
                "model": clip.name,
                "scale": settings.scale,
                "dataset": settings.dataset,
                "language": language,
                **_recalls(image_vectors, sentence_vectors, by_row["row"].to_numpy(np.int64)),
                "architecture": clip.architecture,
                "parameters": clip.parameters,
                "images_per_second": round(images_per_second, 2),
                "sentences_per_second": round(sentences_per_second, 2),
                "device": _device_name(),
                "weights_sha256": clip.weights_sha256,
            }
        )
    with atomic_write(output) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False, lineterminator="\n")
    shutil.rmtree(partial, ignore_errors=True)


def _recalls(images: Tensor, sentences: Tensor, image_of: NDArray[np.int64]) -> dict[str, float | int]:
    """Recalls as `evaluate` computes them, mR of a random order, and the number of candidates."""
    gallery = gallery_of(image_of)
    candidates = images[torch.from_numpy(gallery.rows)]
    values = recalls(both_ranks(candidates, sentences, torch.from_numpy(gallery.image_of)))
    return {
        **{metric: round(value, 6) for metric, value in values.items()},
        "chance_mR": round(chance_recalls(len(gallery.rows), gallery.image_of)["mR"], 6),
        "images": len(gallery.rows),
        "sentences": len(sentences),
    }


class EmbeddingCache:
    """Vectors of a model, saved shard by shard in a folder, from which a killed run resumes.

    code: digest of the code that embeds.
    """

    def __init__(self, folder: Path, clip: FrozenClip, code: str = ""):
        self.folder, self.clip = folder, clip
        self.content = [code, vectors_digest(clip.weights_sha256, clip.model.config, clip.processor)]

    def images(self, paths: Sequence[Path]) -> tuple[Tensor, float]:
        """(n, e) of photographs, and how many were embedded per second, decoding not counted."""
        return self._all(paths, self.clip.embed_images, _decode, sha256, "images")

    def sentences(self, texts: Sequence[str], language: str) -> tuple[Tensor, float]:
        """(B, e) of sentences, and how many were embedded per second."""
        return self._all(texts, self.clip.embed_sentences, list, str, f"sentences ({language})")

    def _all(
        self,
        items: Sequence[Item],
        embed: Callable[[Sequence[Input]], Tensor],
        prepare: Callable[[Sequence[Item]], Sequence[Input]],
        identity: Callable[[Item], str],
        name: str,
    ) -> tuple[Tensor, float]:
        vectors, seconds, progress = [], 0.0, Progress(name, len(items))
        for first in range(0, len(items), SHARD):
            shard = items[first : first + SHARD]
            content = [name, *self.content, *map(identity, shard)]
            path = self.folder / f"{hashlib.sha256(chr(0).join(content).encode()).hexdigest()[:32]}.npz"
            if (arrays := load_arrays(path, "vectors", "seconds")) is None:
                batches = [shard[start : start + BATCH] for start in range(0, len(shard), BATCH)]
                embedded, times = zip(
                    *(_embed_and_time(embed, prepare(batch)) for batch in batches), strict=True
                )
                arrays = [torch.cat(embedded).numpy(), np.array(sum(times))]
                save_arrays(path, vectors=arrays[0], seconds=arrays[1])
            vectors.append(torch.from_numpy(arrays[0]))
            seconds += float(arrays[1])
            progress.advance(len(shard))
        return torch.cat(vectors), len(items) / seconds


def _embed_and_time(
    embed: Callable[[Sequence[Input]], Tensor], batch: Sequence[Input]
) -> tuple[Tensor, float]:
    """Vectors of a batch on the CPU, and the seconds that embedding took."""
    start = time.perf_counter()
    vectors = embed(batch).cpu()
    return vectors, time.perf_counter() - start


def _decode(paths: Sequence[Path]) -> list[Image.Image]:
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
