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

from benchmarks import smalr as smalr_benchmark
from benchmarks import training as training_benchmark
from benchmarks.launches import count_step
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.models.branches import RecurrentBranch
from pipeline.models.embedding import Sizes
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import ChosenLosses, Liwe, ModelSettings, Triplets
from pipeline.training.batches import Sampler
from pipeline.training.lessons import step_loss
from pipeline.training.objective import training_terms
from pipeline.training.precision import set_precision
from pipeline.training.pretrain import pretraining_terms
from pipeline.training.settings import LessonsSettings
from pipeline.words.corpus import Corpus

META = torch.device("meta")


@pytest.fixture(autouse=True)
def _no_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a driver can pin memory."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(Tensor, "pin_memory", lambda numbers: numbers)


def test_meta_tensors_refuse_what_a_gpu_cannot_do_or_would_wait_for() -> None:
    there = torch.ones(3, device=META)
    with pytest.raises(RuntimeError, match="device"):
        there + torch.ones(3)
    with pytest.raises(RuntimeError, match="meta"):
        there.sum().item()


@pytest.mark.parametrize("branches", ["shared", "separate"])
@pytest.mark.parametrize("recurrent", ["lstm", "gru", "gru_reset_before", "mean"])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_step_stays_on_its_device_and_reads_no_number_from_it(
    experiment: dict[str, Any], branches: str, recurrent: str, repeated: bool
) -> None:
    experiment["model"] |= {"recurrent": recurrent}
    experiment["training"] |= {"repeat_captions": repeated}
    fitted = model(branches, experiment["model"]).to(META)
    terms = terms_of(fitted, corpus().to(META), batch_of(experiment), experiment)
    assert list(terms) == ["matching", "neighborhood", "classifier", "words"]
    loss = torch.stack(list(terms.values())).sum()
    loss.backward()
    assert loss.device == META
    assert {weight.grad.device for weight in fitted.parameters() if weight.grad is not None} == {META}


@pytest.mark.parametrize("similarity", ["cosine", "order"])
@pytest.mark.parametrize("hinge", ["sum", "max"])
def test_a_step_of_the_earlier_systems_reads_no_number_from_its_device(
    experiment: dict[str, Any], similarity: str, hinge: str
) -> None:
    experiment["model"] |= {"encoder": "vse", "word_vectors": "scratch", "similarity": similarity}
    experiment |= {"ranking": {"margin": 0.1, "hinge": hinge, "caption_caption": 1.0}}
    experiment |= {"matching": None, "neighborhood": None, "classifier": None}
    fitted = model("shared", experiment["model"]).to(META)
    terms = terms_of(fitted, corpus().to(META), batch_of(experiment), experiment)
    assert list(terms) == ["caption_image", "caption_caption", "words"]
    assert {term.device for term in terms.values()} == {META}
    torch.stack(list(terms.values())).sum().backward()


def test_a_step_of_pretraining_reads_no_number_from_its_device(experiment: dict[str, Any]) -> None:
    embedding = universal(model("shared", experiment["model"])).to(META)
    triplets = Triplets(**experiment["triplets"])
    terms = pretraining_terms(embedding, corpus().to(META), batch_of(experiment), triplets)
    assert terms["neighborhood"].device == META
    terms["neighborhood"].backward()


Step = tuple[nn.Module, Callable[[], dict[str, Tensor]]]  # a model, and the terms of a step of it


def corpus_on(device: torch.device) -> Corpus:
    """The corpus in float32, on a device."""
    made = corpus()
    made.features = made.features.float()
    return made.to(device)


def smalr_step(settings: dict[str, Any], device: torch.device) -> Step:
    """All terms of SMALR."""
    settings["model"] |= {"recurrent": "gru"}
    settings["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    settings |= {"masking": {"mask_probability": 0.2, "weight": 1.0, "matching": 1.0}, "embedding": "hybrid"}
    made = smalr_model(settings).float().to(device)
    there = corpus_on(device)
    return made, lambda: terms_of(made, there, batch_of(settings), settings)


def liwe_step(settings: dict[str, Any], device: torch.device) -> Step:
    """LIWE, of words of four random letters."""
    liwe = Liwe(character_dim=3, max_word_length=4, layers=[5, 4])
    settings["model"] |= {"encoder": "liwe", "hidden_size": 6}
    others = dict.fromkeys(ChosenLosses.model_fields)
    settings |= {**others, "liwe": liwe.model_dump(), "languages": list(EACH)}
    made = RetrievalModel(
        block_of(ModelSettings, settings), Sizes(dict.fromkeys(EACH, WORDS + 1), 4, 9, shared=9)
    )
    made.to(device)
    there = corpus_on(device)
    return made, lambda: terms_of(made, there, batch_of(settings), settings, step=3)


def lessons_settings(settings: dict[str, Any], **lessons: Any) -> LessonsSettings:
    values = {**settings, "c2c": True, "stop_on": ["en"], "lessons": lessons}
    return block_of(LessonsSettings, values)


def lessons_step(settings: dict[str, Any], device: torch.device) -> Step:
    """Both tasks of *Lessons* with either hinge; captions in pairs have the published code's lengths."""
    settings["model"] |= {"encoder": "vse", "word_vectors": "scratch"}
    made, there = model("shared", settings["model"]).float().to(device), corpus_on(device)
    captions = there.languages[made.languages[0]]

    def terms() -> dict[str, Tensor]:
        found = {}
        for hinge in ("max", "sum"):
            chosen = lessons_settings(settings, hinge=hinge, lengths_in_pairs="reversed")
            for task, rows in (("images", np.arange(6)), ("pairs", np.arange(6).reshape(3, 2))):
                loss = step_loss(made, captions, there.features, rows, chosen)
                found[f"{hinge} {task}"] = loss
        return found

    return made, terms


OF_OTHER_PAPERS = pytest.mark.parametrize("step", [smalr_step, liwe_step, lessons_step])


@OF_OTHER_PAPERS
def test_a_step_of_the_other_papers_reads_no_number_from_its_device(
    experiment: dict[str, Any], step: Callable[..., Step]
) -> None:
    fitted, terms = step(experiment, META)
    found = terms()
    assert {term.device for term in found.values()} == {META}
    torch.stack(list(found.values())).sum().backward()
    with_gradient = {name for name, weight in fitted.named_parameters() if weight.grad is not None}
    assert {name.partition(".")[0] for name in with_gradient} >= {"branches", "image_branch"}
    assert {weight.grad.device for weight in fitted.parameters() if weight.grad is not None} == {META}


def mule_launches(images: int) -> int:
    """Launches of MULE full, in four languages with two sentences per image or one."""
    sizes = {"images": images, "hidden": 8, "universal": 512, "corpus_images": images}
    return sum(training_benchmark.launches("mule", Namespace(precision="float32", **sizes)))


def smalr_launches(images: int) -> int:
    """Launches of SMALR in ten languages."""
    settings, there = smalr_benchmark.settings_of(images), smalr_benchmark.captions(images).to(META)
    fitted = smalr_benchmark.smalr(settings).to(META)
    drawn = Sampler(there, [np.arange(images)], settings.training, 0).batch(0)
    counts = count_step(lambda: training_terms(fitted, there, drawn, settings, 0, 0.5), fitted)
    return sum(part.total for part in counts)


@pytest.mark.parametrize(("launches", "most"), [(mule_launches, 313), (smalr_launches, 658)])
def test_a_gpu_gets_few_operators_whatever_the_size_of_the_batch(
    launches: Callable[[int], int], most: int
) -> None:
    """Forward and backward; one hinge and one word table at a time, they would be 1,306 and 6,808."""
    assert launches(12) == launches(30) <= most


def test_a_gpu_is_given_few_operators_for_lessons_too(experiment: dict[str, Any]) -> None:
    """Four steps: against images and between captions, with either hinge."""
    fitted, terms = lessons_step(experiment, META)
    assert sum(part.total for part in count_step(terms, fitted)) <= 4 * 123


def test_sentences_are_embedded_on_the_device_of_the_corpus(experiment: dict[str, Any]) -> None:
    fitted, made = model("shared", experiment["model"]).to(META), corpus().to(META)
    assert embed_images(fitted, made).device == META
    for language, each in EACH.items():
        embedded = embed_sentences(fitted, language, made.languages[language])
        assert (embedded.device, len(embedded)) == (META, IMAGES * each)


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
@pytest.mark.parametrize("recurrent", ["lstm", "gru", "gru_reset_before"])
def test_a_gpu_is_never_waited_for_within_a_step(
    experiment: dict[str, Any], precision: str, recurrent: str
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    gpu = torch.device("cuda")
    experiment["model"] |= {"recurrent": recurrent}
    experiment["training"] |= {"precision": precision}
    made = corpus()
    made.features = made.features.float()
    made, fitted = made.to(gpu), model("shared", experiment["model"]).float().to(gpu)
    optimizer = torch.optim.Adam(fitted.parameters(), lr=1e-4, fused=True)
    states: list[torch.dtype] = []
    branch = fitted.branches["shared"]
    assert isinstance(branch, RecurrentBranch)
    branch.recurrent.register_forward_hook(lambda layer, given, found: states.append(found[0].data.dtype))
    set_precision(precision, gpu)
    try:
        for checked in ("default", "error"):  # the first step loads libraries
            torch.cuda.set_sync_debug_mode(checked)
            terms = terms_of(fitted, made, batch_of(experiment), experiment)
            torch.stack(list(terms.values())).sum().backward()
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        set_precision("float32", gpu)
    assert {term.dtype for term in terms.values()} == {torch.float32}
    assert states == [torch.float32] * 2


@OF_OTHER_PAPERS
def test_a_gpu_is_never_waited_for_within_a_step_of_the_other_papers(
    experiment: dict[str, Any], step: Callable[..., Step]
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    fitted, terms = step(experiment, torch.device("cuda"))
    optimizer = torch.optim.Adam(fitted.parameters(), lr=1e-4, fused=True)
    try:
        for checked in ("default", "error"):
            torch.cuda.set_sync_debug_mode(checked)
            torch.stack(list(terms().values())).sum().backward()
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
