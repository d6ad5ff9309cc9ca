"""Miniature published files in their real layouts: the same bytes each time, with learnable content.

Every image shows two or three of eight things, drawn from its id; its photograph has a coloured stripe for
each, and its captions name them in every language. Files are at `folder/HOST/PATH` of their URLs, data on
request at `folder/on-request`.
"""

import functools
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.datasets.tokenize import moses, tokenizer

MULTI30K = "raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data"
ANNOTATIONS = "images.cocodataset.org/annotations/annotations_trainval2014.zip"
JAPANESE = "github.com/yahoojapan/YJCaptions/raw/master/yjcaptions26k.zip"
FLICKR30K_PHOTOGRAPHS = "on-request/flickr30k/flickr30k-images.tar.gz"
COCO_CN = "on-request/coco-cn/coco-cn-version1805v1.1.tar.gz"
LANGUAGES = ("en", "de", "fr", "cs", "zh", "ja")

THINGS = {
    "en": ["a dog", "a cat", "a car", "a tree", "a house", "a bird", "a boat", "a horse"],
    "de": [
        "ein Hund",
        "eine Katze",
        "ein Auto",
        "ein Baum",
        "ein Haus",
        "ein Vogel",
        "ein Boot",
        "ein Pferd",
    ],
    "fr": [
        "un chien",
        "un chat",
        "une voiture",
        "un arbre",
        "une maison",
        "un oiseau",
        "un bateau",
        "un cheval",
    ],
    "cs": ["pes", "kočka", "auto", "strom", "dům", "pták", "loď", "kůň"],
    "zh": ["小狗", "小猫", "汽车", "大树", "房子", "小鸟", "轮船", "骏马"],
    "ja": ["犬", "猫", "車", "木", "家", "鳥", "船", "馬"],
}
SENTENCES = {
    "en": ["here we see {}.", "the picture shows {}.", "in the photograph: {}.", "{} outside.", "{} by day."],
    "de": ["hier sind {}.", "auf dem Bild: {}.", "das Foto: {}.", "{} im Freien.", "{} am Tag."],
    "fr": ["voici {}.", "sur l'image : {}.", "la photo : {}.", "{} dehors.", "{} de jour."],
    "cs": ["tady jsou {}.", "na obrázku: {}.", "fotografie: {}.", "{} venku.", "{} ve dne."],
    "zh": ["这里有{}。", "图片上有{}。", "照片：{}。", "外面有{}。", "白天有{}。"],
    "ja": [
        "ここに{}がいます。",
        "写真：{}。",
        "絵には{}があります。",
        "外に{}がいます。",
        "昼に{}がいます。",
    ],
}
AND = {"en": " and ", "de": " und ", "fr": " et ", "cs": " a ", "zh": "和", "ja": "と"}
COLOURS = ["saddlebrown", "orange", "red", "green", "gray", "blue", "white", "black"]

FLICKR30K = [str(1_000_092_795 + 7_919 * number) for number in range(60)]
MULTI30K_IMAGES = {"train": FLICKR30K[:40], "val": FLICKR30K[40:50], "test": FLICKR30K[50:]}


def mscoco_images() -> dict[str, str]:
    """Sixty images and their languages: 34 in all three, and some of each other group in both parts."""
    kinds = [("train2014", "en ja zh")] * 34 + [("train2014", "en ja")] * 8 + [("train2014", "en zh")] * 4
    kinds += [("train2014", "en")] * 4 + [("val2014", "en zh")] * 5 + [("val2014", "en")] * 5
    return {
        f"COCO_{part}_{9 + 37 * number:012d}": languages for number, (part, languages) in enumerate(kinds)
    }


def things(image: str) -> list[int]:
    """The two or three things that an image shows, by its id."""
    generator = np.random.default_rng(_number(image))
    return [int(thing) for thing in generator.choice(8, generator.integers(2, 4), replace=False)]


def caption(image: str, language: str, number: int) -> str:
    """Caption `number` (0 to 4) of an image; later ones name its things in another order."""
    shown = things(image)
    turned = shown[number % len(shown) :] + shown[: number % len(shown)]
    named = AND[language].join(THINGS[language][thing] for thing in turned)
    sentence = SENTENCES[language][number].format(named)
    return sentence[0].upper() + sentence[1:]


def write_multi30k(folder: Path, images: Mapping[str, Sequence[str]] = MULTI30K_IMAGES) -> None:
    """Text of Multi30K's tasks 1 and 2: lists of images, raw captions, and tokens."""
    data = folder / MULTI30K
    for split, of_split in images.items():
        first = "test_2016_flickr" if split == "test" else split
        second = "test_2016" if split == "test" else split
        names = [f"{image}.jpg" for image in of_split]
        _write_lines(data / f"task1/image_splits/{first}.txt", names)
        _write_lines(data / f"task2/image_splits/{second}_images.txt", names)
        for language in ("en", "de", "fr", "cs"):
            lines = [caption(image, language, 0) for image in of_split]
            _write_lines(data / f"task1/raw/{first}.{language}.gz", lines)
            _write_lines(data / f"task1/tok/{first}.lc.norm.tok.{language}", _tokens(lines, language))
        for language in ("en", "de"):
            for number in range(5):
                lines = [caption(image, language, number) for image in of_split]
                _write_lines(data / f"task2/raw/{second}.{number + 1}.{language}.gz", lines)
                tokens = data / f"task2/tok/{second}.lc.norm.tok.{number + 1}.{language}"
                _write_lines(tokens, _tokens(lines, language))


def write_mscoco(folder: Path, images: Mapping[str, str] | None = None) -> None:
    """MSCOCO's annotations, YJ Captions and COCO-CN of images with their languages ("en ja zh")."""
    images = mscoco_images() if images is None else images
    files = {}
    for part in ("train2014", "val2014"):
        of_part = [image for image in images if part in image]
        files[f"annotations/captions_{part}.json"] = {
            "images": [
                {"file_name": f"{image}.jpg", "height": 48, "width": 64, "id": _number(image)}
                for image in of_part
            ],
            "annotations": _annotations(of_part, "en"),
        }
    _write_zip(folder / ANNOTATIONS, {name: _json(content) for name, content in files.items()})
    japanese = [image for image, languages in images.items() if "ja" in languages]
    content = {"annotations": _annotations(japanese, "ja")}
    _write_zip(folder / JAPANESE, {"yjcaptions26k_clean.json": _json(content)})
    write_coco_cn(folder / COCO_CN, [image for image, languages in images.items() if "zh" in languages])


def write_coco_cn(path: Path, images: Sequence[str]) -> None:
    """COCO-CN's archive: every tenth image has two captions, the first tenth five translations as well."""
    tenth = max(1, len(images) // 10)
    own = [
        (image, number) for place, image in enumerate(images) for number in range(2 if place % 10 == 0 else 1)
    ]
    translated = [(image, number) for image in images[:tenth] for number in range(5)]
    files = {
        "coco-cn_train.txt": images[2 * tenth :],
        "coco-cn_val.txt": images[tenth : 2 * tenth],
        "coco-cn_test.txt": images[:tenth],
        "imageid.human-written-caption.txt": [f"{i}#{n}\t{caption(i, 'zh', n)}" for i, n in own],
        "imageid.manually-translated-caption.txt": [f"{i}#{n}\t{caption(i, 'zh', n)}" for i, n in translated],
    }
    inner = path.name.removesuffix(".tar.gz")
    contents = {}
    for name, lines in files.items():
        contents[f"{inner}/._{name}"] = b"\x00\x05\x16\x07"  # macOS's own, as in the published archive
        contents[f"{inner}/{name}"] = "".join(f"{line}\n" for line in lines).encode()
    _write_tar(path, contents)


def write_photographs(path: Path, images: Iterable[str], layout: str) -> None:
    """Tiny photographs in an archive as published.

    layout: flickr30k (flickr30k-images.tar.gz with its folder), train2014 or val2014 (MSCOCO's ZIP files).
    """
    inner = "flickr30k-images" if layout == "flickr30k" else layout
    contents = {f"{inner}/{image}.jpg": photograph(image) for image in images}
    (_write_tar if path.name.endswith(".tar.gz") else _write_zip)(path, contents)


def photograph(image: str) -> bytes:
    """A JPEG of 64 x 48 pixels: for each thing a stripe in its colour, and a little noise."""
    shown = things(image)
    picture = Image.new("RGB", (len(shown), 1))
    for place, thing in enumerate(shown):
        picture.paste(COLOURS[thing], (place, 0, place + 1, 1))
    pixels = np.asarray(picture.resize((64, 48), Image.Resampling.NEAREST)).astype(int)
    noisy = pixels + np.random.default_rng(_number(image)).integers(-9, 10, pixels.shape)
    written = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype("uint8")).save(written, "JPEG", quality=85)
    return written.getvalue()


def write_vectors(path: Path, words: Collection[str], dimension: int = 300) -> None:
    """FastText's text format: a header `words dimension`, then one word and its vector per line."""
    generator = np.random.default_rng(0)
    lines = [f"{len(words)} {dimension}"]
    for word in words:
        lines.append(f"{word} {' '.join(f'{value:.4f}' for value in generator.normal(0, 0.1, dimension))}")
    _write_lines(path, lines)


def write_dictionary(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """MUSE's dictionary format: one English word and its translation per line."""
    _write_lines(path, [f"{english} {other}" for english, other in pairs])


def words(language: str) -> list[str]:
    """The words of all captions in a language, as the pipeline splits them."""
    split = tokenizer(language)
    sentences = (
        caption(image, language, number) for image in [*FLICKR30K, *mscoco_images()] for number in range(5)
    )
    return sorted({word for sentence in sentences for word in split(sentence)})


def pairs(language: str) -> list[tuple[str, str]]:
    """English words and their translations: the eight things, without articles."""
    of = {code: [named.split()[-1].lower() for named in THINGS[code]] for code in ("en", language)}
    return list(zip(of["en"], of[language], strict=True))


def write_everything(folder: Path, dimension: int = 300) -> dict[str, Any]:
    """Write all of the above; returns the images and the paths of the data on request."""
    coco = mscoco_images()
    write_multi30k(folder)
    write_mscoco(folder, coco)
    write_photographs(folder / FLICKR30K_PHOTOGRAPHS, FLICKR30K, "flickr30k")
    for part in ("train2014", "val2014"):
        of_part = [image for image in coco if part in image]
        write_photographs(folder / f"images.cocodataset.org/zips/{part}.zip", of_part, part)
    facebook = folder / "dl.fbaipublicfiles.com"
    for language in LANGUAGES:
        vectors = facebook / f"fasttext/vectors-crawl/cc.{language}.300.vec.gz"
        write_vectors(vectors, [",", ".", "</s>", *words(language)], dimension)
        if language not in ("zh", "ja"):  # MUSE published no aligned vectors for these
            write_vectors(facebook / f"arrival/vectors/wiki.multi.{language}.vec", words(language), dimension)
        if language != "en":
            write_dictionary(facebook / f"arrival/dictionaries/en-{language}.txt", pairs(language))
    for language in ("ar", "af", "ko", "ru"):  # no captions in these are published
        vectors = facebook / f"fasttext/vectors-crawl/cc.{language}.300.vec.gz"
        write_vectors(vectors, words("en"), dimension)
        write_vectors(facebook / f"arrival/vectors/wiki.multi.{language}.vec", words("en"), dimension)
        write_dictionary(facebook / f"arrival/dictionaries/en-{language}.txt", pairs("de"))
    return {
        "multi30k": MULTI30K_IMAGES,
        "mscoco": coco,
        "flickr30k_photographs": folder / FLICKR30K_PHOTOGRAPHS,
        "coco_cn": folder / COCO_CN,
    }


def _number(image: str) -> int:
    return int(image.rpartition("_")[2])


def _annotations(images: Iterable[str], language: str) -> list[dict[str, Any]]:
    each = [(image, number) for image in images for number in range(5)]
    return [
        {"image_id": _number(image), "id": place, "caption": caption(image, language, number)}
        for place, (image, number) in enumerate(each)
    ]


@functools.cache
def _moses(language: str) -> Any:
    return moses(language)


def _tokens(lines: list[str], language: str) -> list[str]:
    return [" ".join(_moses(language)(line)).replace("'", "&apos;") for line in lines]


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def _write_zip(path: Path, contents: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _write_tar(path: Path, contents: Mapping[str, bytes]) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as file:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mtime = 1_526_000_000  # May 2018; any fixed time gives the same bytes
            file.addfile(member, io.BytesIO(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(written.getvalue(), mtime=0))
