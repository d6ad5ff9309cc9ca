"""What a user would take today: a frozen multilingual CLIP, with the same recalls on the same test split.

Its rows are context, never rows of a reproduced table: it was trained on other data, and far more of them.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.errors import InputError, raise_together
from pipeline.files import written_beside
from pipeline.images.crops import UnreadableImage, read_image
from pipeline.images.lists import read_image_list
from pipeline.models.branches import unit
from pipeline.progress import Progress
from pipeline.retrieval.gallery import gallery_of
from pipeline.retrieval.inputs import own_sentences
from pipeline.retrieval.ranks import both_ranks
from pipeline.retrieval.recall import recalls

log = logging.getLogger("pipeline")

BATCH = 32


class FrozenClip:
    """A model of two towers of the transformers library: CLIP, AltCLIP, Chinese CLIP, SigLIP and their kin.

    Args:
        name: a folder, or a name on the Hugging Face hub.

    Raises:
        InputError: there is none, or it has not two towers.
    """

    def __init__(self, name: str, device: torch.device):
        import transformers

        transformers.logging.disable_progress_bar()
        try:
            model = transformers.AutoModel.from_pretrained(name, dtype=torch.float32)
            if not (hasattr(model, "get_text_features") and hasattr(model, "get_image_features")):
                raise InputError(f"--models {name}: {type(model).__name__} embeds no texts and images alike.")
            self.processor = transformers.AutoProcessor.from_pretrained(name)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"--models {name}: neither a folder of a model with its processor nor a name on the hub that "
                f"can be fetched ({str(error).splitlines()[0]})."
            ) from None
        self.model: Any = model.eval().requires_grad_(False).to(device)
        self.name, self.device = Path(name).name, device
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        positions = getattr(model.config.text_config, "max_position_embeddings", 512)
        self.longest = min(positions, self.processor.tokenizer.model_max_length)

    @torch.inference_mode()
    def embed_sentences(self, sentences: Sequence[str]) -> Tensor:
        """(B, e) unit vectors; texts longer than the model reads are cut."""
        # SigLIP was trained on texts that are all padded to the same length.
        padding = "max_length" if "siglip" in self.model.config.model_type else True
        found = self.processor.tokenizer(
            list(sentences), return_tensors="pt", padding=padding, truncation=True, max_length=self.longest
        )
        taken = {key: found[key].to(self.device) for key in ("input_ids", "attention_mask") if key in found}
        return unit(_pooled(self.model.get_text_features(**taken)))

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Any]) -> Tensor:
        """(n, e) unit vectors of decoded images."""
        pixels = self.processor.image_processor(images=list(images), return_tensors="pt")["pixel_values"]
        return unit(_pooled(self.model.get_image_features(pixel_values=pixels.to(self.device))))


def _pooled(found: Any) -> Tensor:
    """The library gives a tensor, or since version 5 an object that holds it."""
    pooled: Tensor = found if isinstance(found, Tensor) else found.pooler_output
    return pooled


def write_context(
    models: Sequence[str],
    sentences: Sequence[Path],
    images: Path,
    settings: Mapping[str, Any],
    output: Path,
    device: str = "cpu",
) -> None:
    """Write recalls, parameters and embedding speed of frozen models on a test split, a row a language.

    Args:
        models: folders or names on the hub. sentences: caption tables. images: the list of the images' files.
        settings: `dataset`, `languages`, `caption_origins`.

    Raises:
        InputError: a model is not to be had, or photographs do not decode.
    """
    own = own_sentences(sentences, settings)
    tests = {language: table[table["split"] == "test"] for language, table in own.items()}
    names = sorted(set().union(*(table["image"] for table in tests.values())))
    listed = read_image_list(images)
    missing = [name for name in names if name not in listed]
    raise_together(missing[:20], f"{images}: {len(missing)} test images are not in it, the first:")
    rows = []
    for name in models:
        clip = FrozenClip(name, torch.device(device))
        seen, images_a_second = _embedded(
            clip.embed_images, _decoded([listed[one] for one in names]), len(names)
        )
        for language, table in tests.items():
            found, speed = _recalls(clip, table, names, seen)
            rows.append(
                {
                    "model": clip.name,
                    "dataset": settings["dataset"],
                    "language": language,
                    **{metric: round(value, 6) for metric, value in found.items()},
                    "images": table["image"].nunique(),
                    "sentences": len(table),
                    "parameters": clip.parameters,
                    "images_per_second": round(images_a_second, 2),
                    "sentences_per_second": round(speed, 2),
                    "device": device,
                }
            )
    with written_beside(output) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False, lineterminator="\n")


def _recalls(
    clip: FrozenClip, table: pd.DataFrame, names: Sequence[str], seen: Tensor
) -> tuple[dict[str, float], float]:
    row = {image: number for number, image in enumerate(names)}
    ordered = table.assign(row=table["image"].map(row)).sort_values("row", kind="stable")
    said, speed = _embedded(clip.embed_sentences, _chunks(list(ordered["caption"])), len(ordered))
    gallery = gallery_of(ordered["row"].to_numpy(np.int64))
    candidates = seen[torch.from_numpy(gallery.rows)]
    return recalls(both_ranks(candidates, said, torch.from_numpy(gallery.image_of))), speed


def _embedded(
    embed: Callable[[Sequence[Any]], Tensor], batches: Iterator[Sequence[Any]], count: int
) -> tuple[Tensor, float]:
    """Vectors on the CPU, and how many were embedded a second, decoding left out."""
    found, spent, progress = [], 0.0, Progress("embeddings", count)
    for batch in batches:
        begun = time.perf_counter()
        found.append(embed(batch).cpu())
        spent += time.perf_counter() - begun
        progress.advance(len(batch))
    return torch.cat(found), count / spent


def _chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[begin : begin + BATCH] for begin in range(0, len(items), BATCH))


def _decoded(paths: Sequence[Path]) -> Iterator[Sequence[Any]]:
    for part in _chunks(paths):
        try:
            yield [read_image(path) for path in part]
        except UnreadableImage as error:
            raise InputError(f"A photograph does not decode: {error}. Replace its file.") from None
