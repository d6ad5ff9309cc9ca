"""The estimate of docs/full-size.md: operations and steps worked out by hand, and the page's tables."""

from pathlib import Path

import pytest

from benchmarks import cost
from pipeline import settings as configuration
from pipeline.images.settings import Images
from pipeline.settings import Configuration

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def paper() -> Configuration:
    return configuration.load({"scale": "paper"}, ROOT / "config")


def test_a_resnet50_takes_the_published_operations() -> None:
    """4.09 billion multiply-adds at 224 pixels (He et al. 2016: 3.8, stride on the 1x1 convolution)."""
    images = Images(backbone="resnet50.tv_in1k", crop=224, crops=1)
    assert cost.image_flops(images) == pytest.approx(2 * 4.09e9, rel=0.01)
    assert cost.image_flops(images.model_copy(update={"crops": 10})) == 10 * cost.image_flops(images)


@pytest.mark.parametrize(
    ("dataset", "experiment", "steps"),
    [
        ("multi30k", "mule-full", 322),
        ("multi30k", "embn-fr", 64),
        ("multi30k", "embn-human+mt-en", 773),
        ("multi30k", "embn-human+mt-de", 644),
        ("multi30k", "embn-human+mt-cs", 386),
        ("mscoco", "mule-full", 1347),
    ],
)
def test_an_epoch_has_the_steps_of_the_authors_code(
    paper: Configuration, dataset: str, experiment: str, steps: int
) -> None:
    chosen = paper.experiments_on(dataset)[experiment]
    assert max(cost.sentences(dataset, chosen).values()) // 450 == steps


def test_a_step_of_one_language_by_hand(paper: Configuration) -> None:
    """450 images with two captions each: words, LSTM, sentences, three matrices of cosines, images."""
    chosen = paper.experiments_on("multi30k")["embn-en"]
    counts = cost.batch("multi30k", chosen, paper.training)
    assert counts == {"en": 900}
    words = 900 * cost.WORDS * (300 * 512 + 4 * 1024 * (512 + 1024))
    sentences = 900 * 1024 * 512
    cosines = 900 * (450 + 900) * 512
    images = 450 * 2048 * (2 * 2048 + 3 * 512)
    assert cost.step_flops(paper, counts, chosen) == pytest.approx(
        2 * (3 * (words + sentences + cosines) + images)
    )
    assert cost.training_flops(paper, "multi30k", "embn-en") == pytest.approx(
        20 * 322 * cost.step_flops(paper, counts, chosen)
    )


def test_groups_of_images_share_a_batch(paper: Configuration) -> None:
    chosen = paper.experiments_on("mscoco")["mule-full"]
    counts = cost.batch("mscoco", chosen, paper.training)
    assert counts == {"en": 900, "ja": pytest.approx(300), "zh": pytest.approx(150)}


def test_the_page_shows_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["cost"])
    cost.main()
    page = (ROOT / "docs" / "full-size.md").read_text(encoding="utf-8")
    for line in capsys.readouterr().out.splitlines():
        assert line in page
