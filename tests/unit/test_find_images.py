"""Each image of a caption table has exactly one file, or the others are listed."""

import csv
from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.common.photographs import is_photograph
from pipeline.images.find import find_images
from pipeline.images.lists import read_image_list


def write_image_list(
    folders: list[Path], images: list[str], hint: str, output: Path, flickr_names: bool = False
) -> None:
    """Find the images that a split lists."""
    split = output.with_name("split.csv")
    lines = [f'"{image}",train\n' for image in dict.fromkeys(images)]
    split.write_text("".join(["image,split\n", *lines]), encoding="utf-8")
    find_images(folders, split, output, hint, flickr_names)


def test_files_are_found_by_id_below_several_folders(tmp_path: Path) -> None:
    for name in (
        "a/1.jpg",
        "a/deep/2_693b08cb0e.JPG",
        "b/3.png",
        "b/3_other.jpg",
        "b/notes_4.txt",
        "b/@eaDir/1.jpg",
        "b/.thumbnails/3.png",
        "b/._3.png",
        "b/é, ü.png",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "1.gif").symlink_to("nothing")
    output = tmp_path / "images.csv"
    write_image_list([tmp_path / "a", tmp_path / "b"], ["3", "1", "é, ü", "2", "1"], "", output, True)
    found = read_image_list(output)
    assert list(found) == ["1", "2", "3", "é, ü"]
    assert [path.name for path in found.values()] == ["1.jpg", "2_693b08cb0e.JPG", "3.png", "é, ü.png"]
    assert all(path.exists() for path in found.values())


def test_a_photograph_is_known_by_its_ending() -> None:
    rare, usual = ("avif", "bmp", "pgm", "pnm", "ppm", "tif", "tiff"), ("gif", "jfif", "jpe", "jpeg", "jpg")
    for ending in (*rare, *usual, "png", "webp"):
        assert is_photograph(f"a.b.{ending}") and is_photograph(f"A.{ending.upper()}"), ending
    assert not is_photograph("a.txt") and not is_photograph("jpg")


def test_missing_and_ambiguous_files_are_listed_together(tmp_path: Path) -> None:
    folder, output = tmp_path / "photographs", tmp_path / "images.csv"
    folder.mkdir()
    for name in ("1_a.jpg", "1_b.jpg", "2.jpg"):
        (folder / name).touch()
    images = ["1", "2", *(f"x{i:02d}" for i in range(30))]
    with pytest.raises(InputError) as caught:
        write_image_list([folder], images, "Ask the university.", output, flickr_names=True)
    message = str(caught.value)
    assert "31 of 32 images do not have exactly one file (all in" in message
    assert "Ask the university." in message
    assert "1: 2 files" in message and "x06: no file" in message and "and 23 more" in message
    assert not output.exists()
    with open(tmp_path / "missing.csv", newline="") as file:
        assert [row["image"] for row in csv.DictReader(file)] == [image for image in images if image != "2"]

    write_image_list([folder], ["2"], "", output)
    assert output.exists() and not (tmp_path / "missing.csv").exists()


def test_ids_that_a_program_has_changed_are_named_with_their_file(tmp_path: Path) -> None:
    """COCO's numbers through pandas or a spreadsheet, names through an address, capitals through Windows."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    for name in ("000000391895.png", "000000000042.png", "two dogs.jpg", "Cat.JPG"):
        (folder / name).touch()
    with pytest.raises(InputError) as caught:
        write_image_list(
            [folder], ["391895", "42.0", "two%20dogs", "cat", "bird"], "", tmp_path / "images.csv"
        )
    for image, name in {"391895": "000000391895.png", "42.0": "000000000042.png", "cat": "Cat.JPG"}.items():
        assert f"{image}: no file; is it {folder / name}?" in str(caught.value)
    assert f"two%20dogs: no file; is it {folder / 'two dogs.jpg'}?" in str(caught.value)
    assert "bird: no file\n" in f"{caught.value}\n"


def test_no_file_is_guessed_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "photographs").mkdir()
    for name in ("cat_and_dog.png", "dog.png"):
        (tmp_path / "photographs" / name).touch()
    with pytest.raises(InputError, match="cat: no file"):
        write_image_list([tmp_path / "photographs"], ["cat", "dog"], "", tmp_path / "images.csv")
    write_image_list([tmp_path / "photographs"], ["cat_and_dog", "dog"], "", tmp_path / "images.csv")
    assert list(read_image_list(tmp_path / "images.csv")) == ["cat_and_dog", "dog"]
