"""Commits of published weights on the Hugging Face hub, where a name may get other weights."""

COMMITS = {
    "bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "google-bert/bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "timm/resnet50.tv_in1k": "78f3ecfdb38e06d9b8397f662e7ab8fee96026fa",
}
