"""A training step on PyTorch's meta device: what can be tested of a GPU's step without a GPU.

Meta tensors have sizes but no numbers. A product with a CPU's tensor fails, as on a GPU, and so does reading
a number, for which the CPU would wait for a GPU.
"""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from run_stages import block_of
from small import EACH, IMAGES, WORDS, batch_of, corpus, model, smalr_model, terms_of, universal
from torch import Tensor, nn

from benchmarks import training as benchmark
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.models.embedding import Sizes
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import ChosenLosses, Liwe, ModelSettings, Triplets
from pipeline.training.lessons import step_loss
from pipeline.training.pretrain import pretraining_terms
from pipeline.training.settings import LessonsSettings

META = torch.device("meta")


@pytest.fixture(autouse=True)
def _no_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a driver can pin memory."""
    monkeypatch.setattr(Tensor, "pin_memory", lambda numbers: numbers)


Step = tuple[nn.Module, dict[str, Tensor]]  # a model, and the terms of a step of it


def mule_step(settings: dict[str, Any]) -> Step:
    made = model("shared", settings["model"]).to(META)
    return made, terms_of(made, corpus().to(META), batch_of(settings), settings)


def repeated_step(settings: dict[str, Any]) -> Step:
    """A branch for each language, without recurrence; images repeat captions."""
    settings["model"] |= {"recurrent": "mean"}
    settings["training"] |= {"repeat_captions": True}
    made = model("separate", settings["model"]).to(META)
    return made, terms_of(made, corpus().to(META), batch_of(settings), settings)


def order_step(settings: dict[str, Any]) -> Step:
    settings["model"] |= {"encoder": "vse", "word_vectors": "scratch", "similarity": "order"}
    settings |= {"ranking": {"margin": 0.1, "hinge": "max", "caption_caption": 1.0}}
    settings |= {"matching": None, "neighborhood": None, "classifier": None}
    return mule_step(settings)


def smalr_step(settings: dict[str, Any]) -> Step:
    """All terms of SMALR."""
    settings["model"] |= {"recurrent": "gru"}
    settings["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    settings |= {"masking": {"mask_probability": 0.2, "weight": 1.0, "matching": 1.0}, "embedding": "hybrid"}
    made = smalr_model(settings).to(META)
    return made, terms_of(made, corpus().to(META), batch_of(settings), settings)


def liwe_step(settings: dict[str, Any]) -> Step:
    """LIWE, of words of four random letters."""
    settings["model"] |= {"encoder": "liwe", "hidden_size": 6}
    liwe = Liwe(character_dim=3, max_word_length=4, layers=[5, 4])
    settings |= {**dict.fromkeys(ChosenLosses.model_fields), "liwe": liwe.model_dump(), "languages": [*EACH]}
    sizes = Sizes(dict.fromkeys(EACH, WORDS + 1), 4, 9, shared=9)
    made = RetrievalModel(block_of(ModelSettings, settings), sizes).double().to(META)
    return made, terms_of(made, corpus().to(META), batch_of(settings), settings, step=3)


def lessons_step(settings: dict[str, Any]) -> Step:
    """Both tasks of *Lessons*; captions in pairs have the published code's lengths."""
    settings["model"] |= {"encoder": "vse", "word_vectors": "scratch"}
    made, there = model("shared", settings["model"]).to(META), corpus().to(META)
    lessons = {"lengths_in_pairs": "reversed"}
    chosen = block_of(LessonsSettings, {**settings, "c2c": True, "stop_on": ["en"], "lessons": lessons})
    captions = there.languages[made.languages[0]]
    tasks = {"images": np.arange(6), "pairs": np.arange(6).reshape(3, 2)}
    return made, {
        task: step_loss(made, captions, there.features, rows, chosen) for task, rows in tasks.items()
    }


STEPS = [mule_step, repeated_step, order_step, smalr_step, liwe_step, lessons_step]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_stays_on_its_device_and_reads_no_number_from_it(
    experiment: dict[str, Any], step: Callable[..., Step]
) -> None:
    fitted, terms = step(experiment)
    assert {term.device for term in terms.values()} == {META}
    torch.stack(list(terms.values())).sum().backward()
    with_gradient = {name for name, weight in fitted.named_parameters() if weight.grad is not None}
    assert {name.partition(".")[0] for name in with_gradient} >= {"branches", "image_branch"}
    assert {weight.grad.device for weight in fitted.parameters() if weight.grad is not None} == {META}


def test_a_step_of_pretraining_reads_no_number_from_its_device(experiment: dict[str, Any]) -> None:
    embedding = universal(model("shared", experiment["model"])).to(META)
    triplets = Triplets(**experiment["triplets"])
    terms = pretraining_terms(embedding, corpus().to(META), batch_of(experiment), triplets)
    assert terms["neighborhood"].device == META
    terms["neighborhood"].backward()


def test_sentences_are_embedded_on_the_device_of_the_corpus(experiment: dict[str, Any]) -> None:
    fitted, made = model("shared", experiment["model"]).to(META), corpus().to(META)
    assert embed_images(fitted, made).device == META
    for language, each in EACH.items():
        embedded = embed_sentences(fitted, language, made.languages[language])
        assert (embedded.device, len(embedded)) == (META, IMAGES * each)


@pytest.mark.parametrize(("name", "most"), [("mule", 400), ("smalr", 700)])
def test_a_gpu_gets_few_operators_whatever_the_size_of_the_batch(name: str, most: int) -> None:
    """Forward and backward; one hinge and one word table at a time, they would be 1,306 and 6,808."""

    def launches(images: int) -> int:
        sizes = {"images": images, "hidden": 8, "corpus_images": images}
        return benchmark.launches(name, Namespace(precision="float32", **sizes))

    assert launches(12) == launches(30) <= most
