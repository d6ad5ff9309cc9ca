"""A small multilingual BERT, pretrained on the captions, if no published one is downloaded.

Only masked words are predicted (Devlin et al. 2019, Section 3.1), no next sentence: a caption has none.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer
from torch.nn.utils import clip_grad_norm_
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    DataCollatorForLanguageModeling,
    get_linear_schedule_with_warmup,
)

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_folder
from pipeline.common.progress import Progress
from pipeline.datasets.select import original_captions
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import BertSettings

transformers.logging.disable_progress_bar()
log = logging.getLogger("pipeline")

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WARM_UP = 0.1  # fraction of all steps


def pretrain_bert(sentences: Sequence[Path], settings: BertSettings, output: Path) -> None:
    """Pretrain a BERT and its tokeniser on the training captions of all languages; write them to a folder.

    A killed run leaves nothing and starts over: it takes a few minutes.

    Args:
        sentences: one sentence table per language.
        settings: JSON: caption_origins, max_tokens, layers, hidden_size, heads, vocabulary_size, steps,
            batch_size, learning_rate, seed, threads.
        output: folder to write, in the form of the library transformers.
    """
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    captions = training_captions(sentences, settings.caption_origins)
    tokenizer = wordpiece(captions, settings.vocabulary_size)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden_size,
        intermediate_size=4 * settings.hidden_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        max_position_embeddings=settings.max_tokens,
    )
    model = BertForMaskedLM(config)
    model.to("cuda" if torch.cuda.is_available() else "cpu")  # type: ignore[arg-type]
    log.info("BERT: %d captions, %d word pieces", len(captions), len(tokenizer))
    _fill_masks(model, tokenizer, captions, settings)
    with atomic_folder(output) as folder:
        model.bert.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def training_captions(sentences: Sequence[Path], caption_origins: Mapping[str, str]) -> list[str]:
    """The data set's own training captions of every language, in the order of the files."""
    of_files = []
    for table in map(read_sentences, sentences):
        own = original_captions(table, caption_origins.get(table["language"].iloc[0], "human"))
        of_files.append(own[own["split"] == "train"])
    captions = list(pd.concat(of_files)["caption"])
    if not captions:
        raise InputError(f"{', '.join(map(str, sentences))}: no training captions to pretrain BERT on.")
    return captions


def wordpiece(captions: Sequence[str], vocabulary: int) -> BertTokenizer:
    """A WordPiece tokeniser trained on captions; letters keep their case and accents, as in cased ML BERT."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    # The trainer numbers letters inside words at random and breaks ties by number, so they are given to it.
    texts = map(tokenizer.normalizer.normalize_str, captions)  # which sets Chinese characters apart
    words = {word for text in texts for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)}
    inside = sorted({f"##{letter}" for word in words for letter in word[1:]})
    trainer = WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=[*SPECIAL, *inside], show_progress=False, min_frequency=2
    )
    tokenizer.train_from_iterator(captions, trainer)
    return BertTokenizer(tokenizer.get_vocab(), do_lower_case=False, strip_accents=False)


def _fill_masks(
    model: BertForMaskedLM, tokenizer: BertTokenizer, captions: Sequence[str], settings: BertSettings
) -> None:
    """Train to fill in 15% of the word pieces; batches of captions drawn at random."""
    steps = settings.steps
    ids = tokenizer(list(captions), truncation=True, max_length=settings.max_tokens)["input_ids"]
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate)
    schedule = get_linear_schedule_with_warmup(optimizer, round(WARM_UP * steps), steps)
    progress = Progress("steps", steps)
    model.train()
    for _ in range(steps):
        rows = torch.randint(len(ids), (settings.batch_size,)).tolist()
        batch = collator([{"input_ids": ids[row]} for row in rows]).to(model.device)
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        progress.advance(note=f"loss {loss.item():.2f}")
