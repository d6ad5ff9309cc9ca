"""The penalty on word vectors that move from their pretrained values (MULE, "Implementation Details")."""

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import WordRegularizer
from pipeline.models.universal import TableEmbedding


class WordRegularizerLoss(Loss[WordRegularizer]):
    """The distance of word vectors from the `initial` ones, or from those of the `previous_epoch`."""

    def terms(self, step: Step) -> Terms:
        assert isinstance(step.model.universal, TableEmbedding)
        return {"words": self.block.weight * step.model.universal.drift()}

    def after_epoch(self, model: RetrievalModel) -> None:
        """Measure later distances from the present vectors, as the authors' code does."""
        assert isinstance(model.universal, TableEmbedding)
        if self.block.regularize_toward == "previous_epoch":
            model.universal.forget_initial()
