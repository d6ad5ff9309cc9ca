"""Small frozen multilingual CLIPs of the real architectures, with random weights, in folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

SAID = {
    "en": ["a dog in the snow", "a red car", "two birds"],
    "de": ["ein Hund im Schnee", "ein Auto", "Vögel"],
}
TOWER = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {**TOWER, "vocab_size": 100, "max_position_embeddings": 40}
VISION = {**TOWER, "image_size": 32, "patch_size": 16}
PIXELS: dict[str, Any] = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A tokeniser of the words of `SAID` and of digits."""
    pieces = Tokenizer(models.Unigram())
    pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=special, unk_token="<unk>")
    digits = [" ".join("0123456789")]  # or captions of different images would be equal
    pieces.train_from_iterator([*digits, *(text for texts in SAID.values() for text in texts)] * 3, trainer)
    ends = [(token, pieces.token_to_id(token)) for token in ("<s>", "</s>")]
    pieces.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", model_max_length=32,
    )  # fmt: skip


def altclip(folder: Path) -> None:
    """Reads several languages by an XLM-R."""
    config = transformers.AltCLIPConfig(
        text_config={**TEXT, "project_dim": 12}, vision_config=VISION, projection_dim=12
    )
    transformers.AltCLIPModel(config).save_pretrained(folder)
    reads = transformers.CLIPImageProcessor(**PIXELS)
    transformers.AltCLIPProcessor(reads, tokenizer()).save_pretrained(folder)


def chinese_clip(folder: Path) -> None:
    config = transformers.ChineseCLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=12)
    transformers.ChineseCLIPModel(config).save_pretrained(folder)
    reads = transformers.ChineseCLIPImageProcessor(**PIXELS)
    transformers.ChineseCLIPProcessor(reads, tokenizer()).save_pretrained(folder)


def siglip(folder: Path) -> None:
    """SigLIP, and SigLIP 2 at one resolution."""
    config = transformers.SiglipConfig(text_config={**TEXT, "projection_size": 16}, vision_config=VISION)
    transformers.SiglipModel(config).save_pretrained(folder)
    reads = transformers.SiglipImageProcessor(size={"height": 32, "width": 32})
    transformers.SiglipProcessor(reads, tokenizer()).save_pretrained(folder)


def siglip2(folder: Path) -> None:
    """SigLIP 2 that reads pictures of any shape (NaFlex)."""
    vision = {**TOWER, "num_patches": 16, "patch_size": 16}
    config = transformers.Siglip2Config(text_config={**TEXT, "projection_size": 16}, vision_config=vision)
    transformers.Siglip2Model(config).save_pretrained(folder)
    reads = transformers.Siglip2ImageProcessor(patch_size=16, max_num_patches=16)
    letters = {letter: number + 5 for number, letter in enumerate("abcdefghijklmnopqrstuvwxyzVAö▁")}
    special = {token: number for number, token in enumerate(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"])}
    reads_texts = transformers.Siglip2Tokenizer(vocab={**special, **letters}, merges=[])
    transformers.Siglip2Processor(reads, reads_texts).save_pretrained(folder)


KINDS: dict[str, Callable[[Path], None]] = {
    "AltCLIP": altclip,
    "ChineseCLIP": chinese_clip,
    "SigLIP": siglip,
    "SigLIP2": siglip2,
}


def write_model(kind: str, folder: Path) -> Path:
    """Write a model of some kind, with its processor, to a folder."""
    torch.manual_seed(0)
    KINDS[kind](folder)
    return folder
