"""config/schema.json, for editors: `python -m pipeline.settings.schema` generates it from the classes.

A user's file has some keys of a data set, an experiment or a table, and the other files have the rest: what a
class requires is required of the merged configuration, not of each file.
"""

import json
from pathlib import Path
from typing import Any

from pipeline.common.files import atomic_write
from pipeline.settings.configuration import Configuration

PATH = Path(__file__).parents[2] / "config" / "schema.json"
MERGED_BLOCKS = ("Configuration", "Dataset", "Experiment", "Table")  # from several files


def schema_text() -> str:
    """The JSON Schema of a configuration file."""
    schema: dict[str, Any] = Configuration.model_json_schema()
    for block in (schema, *schema["$defs"].values()):
        if block.get("title") in MERGED_BLOCKS:
            block.pop("required", None)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return _with_lines(schema)


def _with_lines(schema: dict[str, Any]) -> str:
    """JSON with a line for each block and each key of the configuration."""
    blocks = {key: json.dumps(value, ensure_ascii=False) for key, value in schema.items()}
    for key in ("$defs", "properties"):
        inner = (
            f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in schema[key].items()
        )
        blocks[key] = "{\n" + ",\n".join(inner) + "\n }"
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {text}" for key, text in blocks.items()) + "\n}\n"


if __name__ == "__main__":
    with atomic_write(PATH) as temporary:
        temporary.write_text(schema_text(), encoding="utf-8")
