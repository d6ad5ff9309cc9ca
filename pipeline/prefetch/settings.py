"""The models of the Hugging Face hub that jobs would download."""

from pydantic import Field

from pipeline.common.block import Block


class MarianModel(Block):
    """A translation model: its name, and its commit or tag."""

    name: str
    revision: str | None = None


class HubModels(Block):
    """Names of models by their purpose."""

    backbones: list[str] = Field(default=[], description="names of timm")
    bert: str | None = Field(default=None, description="name on the hub")
    marian: list[MarianModel] = Field(default=[], description="translation models")
