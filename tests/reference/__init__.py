"""One plain reading of the papers, from captions and features to recalls, for tests and benchmarks alike.

MULE (AAAI 2020), SMALR (ECCV 2020) and *Lessons* (CoNLL 2018), with the models that they compare with. What
the papers leave open is as docs/mule.md, docs/smalr.md and docs/lessons.md have it. It imports
nothing from the project: what the project computes fast, it computes again as the equation is written.

Tests run it in float64. Gradients are autograd's. Random choices are arguments: the batches, the weights
that training begins with, the entries that words explore and the masked words; there is no dropout.
`batches` checks which batches may be drawn at all.

Sizes in comments: n images and B sentences of a batch, W words of the longest, V words of a language,
d size of the universal embedding, e of the multimodal one, L languages.
"""
