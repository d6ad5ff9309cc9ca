"""The JSON Schema of a configuration file: `python -m pipeline.settings.schema` prints it, for editors.

A user's file has some keys of a data set, an experiment or a table, and the other files have the rest: what a
class requires is required of the merged configuration, not of each file.
"""

import json
from typing import Any

from pipeline.settings.configuration import Configuration

MERGED_BLOCKS = ("Configuration", "Dataset", "Experiment", "Table", "Row")  # from several files


def schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file."""
    schema: dict[str, Any] = Configuration.model_json_schema()
    for block in (schema, *schema["$defs"].values()):
        if block.get("title") in MERGED_BLOCKS:
            block.pop("required", None)
    return schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"}


if __name__ == "__main__":
    print(json.dumps(schema(), ensure_ascii=False, indent=1))
