"""Twelve places, drawn with gradients, simple shapes and grain; each drawing differs a little."""

from collections.abc import Callable
from random import Random

import numpy as np
from PIL import Image, ImageDraw

from pipeline.demo.concepts import Colour

WIDTH, HEIGHT = 272, 240


def draw_background(name: str, random: Random) -> Image.Image:
    """An RGB picture of WIDTH x HEIGHT pixels."""
    picture = _PAINTERS[name](random)
    grain = np.random.default_rng(random.getrandbits(32)).normal(0, 5, (HEIGHT, WIDTH, 1))
    pixels = np.asarray(picture, dtype=np.float64) + grain
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _vary(random: Random, colour: Colour, by: int = 14) -> Colour:
    shift = random.randint(-by, by)
    red, green, blue = (max(0, min(255, part + shift + random.randint(-by // 2, by // 2))) for part in colour)
    return red, green, blue


def _layers(random: Random, horizon: float, *stops: Colour) -> Image.Image:
    """Two gradients, above and below a horizon (a share of the height), each between two colours."""
    above, below, top, bottom = (np.array(_vary(random, stop)) for stop in stops)
    line = round(HEIGHT * (horizon + random.uniform(-0.03, 0.03)))
    sky = np.linspace(above, below, line)
    ground = np.linspace(top, bottom, HEIGHT - line)
    rows = np.concatenate([sky, ground])[:, None, :].repeat(WIDTH, axis=1)
    return Image.fromarray(rows.astype(np.uint8))


def _strokes(picture: Image.Image, random: Random, top: int, count: int, colour: Colour, size: int) -> None:
    """Short upright strokes below `top`: grass, foam, crumbs of texture."""
    draw = ImageDraw.Draw(picture)
    for _ in range(count):
        x, y = random.randrange(WIDTH), random.randrange(top, HEIGHT)
        draw.line((x, y, x + random.randint(-2, 2), y - size), fill=_vary(random, colour, 25))


def _waves(picture: Image.Image, random: Random, top: int, bottom: int, colour: Colour) -> None:
    draw = ImageDraw.Draw(picture)
    for y in range(top, bottom, 9):
        for _ in range(5):
            x, width = random.randrange(-20, WIDTH), random.randint(14, 40)
            draw.arc((x, y - 4, x + width, y + 5), 200, 340, fill=_vary(random, colour), width=2)


def _clouds(picture: Image.Image, random: Random, count: int) -> None:
    draw = ImageDraw.Draw(picture)
    for _ in range(count):
        x, y = random.randrange(WIDTH), random.randrange(8, 55)
        for part in range(4):
            dx, dy = part * 12 + random.randint(-4, 4), random.randint(-5, 5)
            draw.ellipse((x + dx, y + dy, x + dx + 26, y + dy + 16), fill=(246, 248, 250))


def _beach(random: Random) -> Image.Image:
    picture = _layers(random, 0.52, (120, 190, 240), (60, 150, 200), (240, 220, 160), (225, 195, 130))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 78, WIDTH, 125), fill=_vary(random, (40, 130, 190)))
    _waves(picture, random, 84, 122, (200, 230, 245))
    draw.line(
        [(x, 126 + random.randint(-3, 3)) for x in range(0, WIDTH + 9, 9)], fill=(250, 250, 245), width=5
    )
    x = random.randint(20, WIDTH - 40)
    draw.ellipse((x, 12, x + 30, 42), fill=(255, 240, 140))
    _strokes(picture, random, 135, 220, (205, 170, 110), 1)
    return picture


def _meadow(random: Random) -> Image.Image:
    picture = _layers(random, 0.42, (130, 195, 245), (210, 235, 250), (125, 190, 75), (70, 145, 45))
    _clouds(picture, random, 2)
    _strokes(picture, random, 112, 700, (75, 150, 50), 6)
    draw = ImageDraw.Draw(picture)
    for _ in range(45):
        x, y = random.randrange(WIDTH), random.randrange(115, HEIGHT)
        draw.ellipse(
            (x, y, x + 4, y + 4), fill=random.choice([(250, 250, 250), (250, 220, 60), (230, 90, 120)])
        )
    return picture


def _street(random: Random) -> Image.Image:
    picture = _layers(random, 0.5, (170, 200, 225), (200, 205, 210), (120, 120, 124), (80, 80, 85))
    draw, x = ImageDraw.Draw(picture), -random.randint(0, 30)
    while x < WIDTH:
        width, height = random.randint(38, 62), random.randint(70, 105)
        wall = _vary(
            random, random.choice([(185, 110, 85), (205, 180, 145), (160, 160, 165), (190, 140, 100)])
        )
        draw.rectangle((x, 125 - height, x + width, 125), fill=wall, outline=(70, 60, 55))
        for wx in range(x + 6, x + width - 10, 14):
            for wy in range(133 - height, 112, 19):
                draw.rectangle((wx, wy, wx + 8, wy + 11), fill=(90, 120, 150), outline=(240, 240, 240))
        x += width
    draw.rectangle((0, 122, WIDTH, 136), fill=_vary(random, (175, 172, 168)))
    for dash in range(-random.randint(0, 40), WIDTH, 52):
        draw.rectangle((dash, 186, dash + 30, 192), fill=(240, 240, 235))
    return picture


def _firs(picture: Image.Image, random: Random, count: int, base: int, colour: Colour) -> None:
    draw = ImageDraw.Draw(picture)
    for _ in range(count):
        x, y, height = random.randrange(WIDTH), base + random.randint(-8, 8), random.randint(35, 70)
        for part in range(3):
            top, wide = y - height + part * height // 5, height // 7 * (part + 1)
            green = _vary(random, colour)
            draw.polygon([(x, top), (x - wide, top + height // 2), (x + wide, top + height // 2)], fill=green)


def _snow(random: Random) -> Image.Image:
    picture = _layers(random, 0.5, (175, 190, 210), (215, 225, 235), (250, 252, 255), (222, 232, 244))
    _firs(picture, random, 7, 118, (120, 150, 150))
    draw = ImageDraw.Draw(picture)
    for x in (-60, 60, 170):
        draw.ellipse((x, 108 + random.randint(0, 8), x + 190, 190), fill=_vary(random, (244, 248, 253), 4))
    for _ in range(130):
        x, y = random.randrange(WIDTH), random.randrange(HEIGHT)
        draw.ellipse((x, y, x + 3, y + 3), fill=(255, 255, 255))
    return picture


def _forest(random: Random) -> Image.Image:
    picture = _layers(random, 0.6, (40, 85, 50), (90, 130, 70), (95, 80, 50), (65, 60, 35))
    draw = ImageDraw.Draw(picture)
    for _ in range(120):
        x, y, r = random.randrange(WIDTH), random.randrange(-10, 75), random.randint(8, 22)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=_vary(random, (45, 105, 45), 22))
    for _ in range(13):
        x, width, foot = random.randrange(WIDTH), random.randint(7, 16), random.randint(138, 165)
        draw.rectangle((x, 20, x + width, foot), fill=_vary(random, (80, 55, 35)))
        draw.line((x + 2, 20, x + 2, foot), fill=(50, 35, 22), width=2)
    _strokes(picture, random, 150, 350, (75, 110, 45), 7)
    return picture


def _city(random: Random) -> Image.Image:
    picture = _layers(random, 0.68, (12, 14, 45), (50, 45, 95), (45, 45, 60), (28, 28, 40))
    draw = ImageDraw.Draw(picture)
    for _ in range(40):
        x, y = random.randrange(WIDTH), random.randrange(70)
        draw.point((x, y), fill=(255, 255, 230))
    moon = random.randint(20, WIDTH - 40)
    draw.ellipse((moon, 14, moon + 22, 36), fill=(245, 240, 205))
    for x in range(-8, WIDTH, 30):
        top = random.randint(35, 110)
        draw.rectangle((x, top, x + 29, 164), fill=_vary(random, (28, 28, 48), 8))
        for wx in range(x + 4, x + 26, 8):
            for wy in range(top + 6, 158, 10):
                if random.random() < 0.55:
                    draw.rectangle((wx, wy, wx + 4, wy + 5), fill=_vary(random, (250, 210, 100), 25))
    return picture


def _desert(random: Random) -> Image.Image:
    picture = _layers(random, 0.45, (250, 190, 110), (252, 225, 165), (225, 160, 85), (200, 125, 60))
    draw = ImageDraw.Draw(picture)
    sun = random.randint(20, WIDTH - 70)
    draw.ellipse((sun, 20, sun + 46, 66), fill=(255, 245, 190))
    for index, y in enumerate((100, 125, 155, 190)):
        left, shade = (
            random.randint(-120, 0),
            _vary(random, (222 - 12 * index, 150 - 12 * index, 78 - 8 * index), 8),
        )
        for x in range(left, WIDTH, 210):
            draw.chord((x, y, x + 300, y + 130), 180, 360, fill=shade)
    return picture


def _sea(random: Random) -> Image.Image:
    picture = _layers(random, 0.35, (130, 195, 240), (215, 235, 248), (30, 110, 170), (10, 60, 120))
    _clouds(picture, random, 3)
    _waves(picture, random, 96, HEIGHT, (130, 190, 225))
    return picture


def _living_room(random: Random) -> Image.Image:
    wall = random.choice([(225, 205, 175), (200, 215, 195), (220, 195, 195)])
    picture = _layers(random, 0.62, wall, wall, (165, 115, 70), (140, 90, 50))
    draw = ImageDraw.Draw(picture)
    for x in range(0, WIDTH, 16):
        draw.line((x, 0, x, 142), fill=_vary(random, wall, 6), width=4)
    for x in range(-120, WIDTH + 120, 28):
        draw.line((WIDTH // 2 + (x - WIDTH // 2) // 2, 150, x, HEIGHT), fill=(110, 70, 40))
    draw.rectangle((0, 142, WIDTH, 150), fill=(245, 240, 232))
    x = random.choice([16, 180])
    draw.rectangle((x, 22, x + 70, 96), fill=(165, 210, 240), outline=(250, 250, 248), width=6)
    draw.line((x + 35, 22, x + 35, 96), fill=(250, 250, 248), width=4)
    x = 196 - x + 20
    draw.rectangle(
        (x, 34, x + 46, 72), fill=_vary(random, (90, 130, 110), 40), outline=(120, 80, 40), width=4
    )
    draw.ellipse(
        (30, 188, WIDTH - 30, 234), fill=_vary(random, (170, 60, 60), 25), outline=(235, 210, 170), width=3
    )
    return picture


def _stage(random: Random) -> Image.Image:
    picture = _layers(random, 0.7, (45, 15, 30), (75, 20, 40), (150, 100, 60), (105, 65, 35))
    draw = ImageDraw.Draw(picture)
    light = Image.new("RGB", picture.size, (255, 225, 150))
    mask = Image.new("L", picture.size, 0)
    for _ in range(3):
        top, foot = random.randint(40, WIDTH - 40), random.randint(40, WIDTH - 40)
        ImageDraw.Draw(mask).polygon([(top, 0), (foot - 45, 200), (foot + 45, 200)], fill=85)
    for x in (*range(-8, 44, 13), *range(WIDTH - 44, WIDTH + 8, 13)):
        draw.rectangle((x, 0, x + 12, 178), fill=_vary(random, (165, 25, 35), 16))
    for x in range(0, WIDTH, 34):
        draw.pieslice((x, -22, x + 34, 26), 0, 180, fill=(190, 35, 45), outline=(225, 180, 70))
    picture.paste(light, mask=mask)
    return picture


def _mountains(random: Random) -> Image.Image:
    picture = _layers(random, 0.62, (110, 175, 235), (205, 228, 245), (105, 150, 85), (75, 115, 60))
    draw = ImageDraw.Draw(picture)
    for centre in (30, 130, 235):
        x, top = centre + random.randint(-25, 25), random.randint(18, 55)
        draw.polygon([(x, top), (x - 110, 152), (x + 110, 152)], fill=_vary(random, (105, 110, 125)))
        cap = (152 - top) // 3
        points = [(x, top), (x - cap, top + cap), (x - cap // 3, top + cap - 9), (x + 4, top + cap + 4)]
        draw.polygon([*points, (x + cap // 2, top + cap - 8), (x + cap, top + cap)], fill=(248, 250, 252))
    _firs(picture, random, 9, 160, (50, 95, 60))
    return picture


def _field(random: Random) -> Image.Image:
    picture = _layers(random, 0.36, (150, 160, 175), (120, 125, 140), (60, 165, 70), (50, 150, 60))
    draw = ImageDraw.Draw(picture)
    for _ in range(650):  # the stands
        x, y = random.randrange(WIDTH), random.randrange(18, 74)
        crowd = random.choice([(210, 60, 60), (60, 90, 190), (240, 240, 240), (235, 190, 60)])
        draw.ellipse((x, y, x + 4, y + 4), fill=crowd)
    draw.rectangle((0, 74, WIDTH, 86), fill=(235, 235, 240))
    for index, x in enumerate(range(-40, WIDTH + 40, 40)):
        if index % 2:
            draw.polygon([(x, 87), (x + 40, 87), (x + 55, HEIGHT), (x - 5, HEIGHT)], fill=(85, 185, 85))
    draw.line((0, 112, WIDTH, 112), fill=(245, 250, 245), width=3)
    x = random.randint(60, 200)
    draw.line((x, 87, x + random.randint(-40, 40), HEIGHT), fill=(245, 250, 245), width=3)
    draw.ellipse((x - 60, 135, x + 60, 205), outline=(245, 250, 245), width=3)
    return picture


_PAINTERS: dict[str, Callable[[Random], Image.Image]] = {
    painter.__name__.removeprefix("_"): painter
    for painter in (
        _beach, _meadow, _street, _snow, _forest, _city,
        _desert, _sea, _living_room, _stage, _mountains, _field,
    )
}  # fmt: skip
