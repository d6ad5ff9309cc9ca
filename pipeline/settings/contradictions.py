"""Contradictions between keys of a configuration that are each valid."""

import difflib
import re
from collections.abc import Iterator

from pipeline.datasets.languages import CODES, unknown_code, without_tokenizer
from pipeline.datasets.sources import names, source_named
from pipeline.settings.experiments import (
    OTHER_TABLES,
    POINTS,
    Settings,
    every_language,
    expanded,
    feature_sets,
    one_for_each,
    overlaid,
    stand_ins,
)
from pipeline.settings.hub import context_name
from pipeline.settings.lessons import selection_contradictions

# How many known names a message lists.
LISTED = 30

# What else stands in results/, and in work/{scale}.
_OTHER_RESULTS = {"claims", "counts", "report", "translation-quality", "context"}
_OTHER_RESULTS |= {"figure3", "figure4", *POINTS}
_RESULT_FOLDERS = {"comparison", "compare", "demo", "flickr8k", "paper"}
_WORK_FOLDERS = {"checkpoints", "partial", "tensorboard", "text"}


def contradictions(settings: Settings) -> Iterator[str]:
    """Every contradiction, as a line that names the keys and says what to do."""
    for dataset, data in settings["datasets"].items():
        yield from _dataset_contradictions(f"datasets.{dataset}", data)
        if (other := stand_ins(settings)[data["stands_for"]]) != dataset:
            yield f"datasets.{dataset}.stands_for: {other} stands for {data['stands_for']} too; only one can"
    yield from _borrowed_contradictions(settings)
    yield from _unknown_languages(settings)
    yield from _provider_contradictions(settings["translation"])
    yield from _captions_counted_twice(settings)
    yield from _feature_contradictions(settings)
    yield from _context_contradictions(settings)
    yield from _bert_contradictions(settings["bert"]["pretraining"])
    for name, experiment in settings["experiments"].items():
        own = overlaid(settings, experiment.get("settings", {}))
        if "longest_word" in experiment.get("settings", {}).get("liwe", {}):
            yield (
                f"experiments.{name}.settings.liwe.longest_word: words are spelled once for all experiments; "
                "set liwe.longest_word instead"
            )
        yield from _vector_contradictions(f"experiments.{name}", own["model"], experiment)
        yield from _encoder_contradictions(f"experiments.{name}", own["model"], experiment)
        yield from _hybrid_contradictions(f"experiments.{name}", own["model"], experiment)
        yield from _size_contradictions(f"experiments.{name}", own, experiment)
    yield from selection_contradictions(settings)
    for name in settings["report"]:
        if name not in (known := [*settings["tables"], *OTHER_TABLES, *POINTS]):
            yield f"report: no table {name!r}{meant(name, known)}"
    yield from _taken_names(settings)
    yield from _unknown_columns(settings)
    yield from _row_numbers_given_twice(settings)
    yield from _unknown_experiments(settings)
    yield from _consistency_contradictions(settings)


def _provider_contradictions(translation: Settings) -> Iterator[str]:
    """Pairs are of two languages; each provider has the keys that it needs."""
    for pair in translation["pairs"]:
        if pair[:2] == pair[3:]:
            yield f"translation.pairs.{pair}: a language and itself; expected two, such as en-de"
    pairs = {f"pairs.{pair}": provider for pair, provider in translation["pairs"].items()}
    for key, provider in {**pairs, "default": translation["default"] or {}}.items():
        where = f"translation.{key}"
        if unknown := set(re.findall(r"\{[^}]*\}", provider.get("model", ""))) - {"{source}", "{target}"}:
            found = ", ".join(sorted(unknown))
            yield f"{where}.model: found {found}, expected {{source}} and {{target}} alone"
        if provider.get("provider") == "files" and "origin" not in provider:
            yield f"{where}: provider files needs `origin`, such as google"
        if key == "default":
            yield from _of_one_pair(where, provider)
        if provider.get("provider") == "marian" and "model" not in provider:
            yield f"{where}: provider marian needs `model`, a folder or a name on the hub"
        if provider.get("provider") == "libre" and "url" not in provider:
            yield f"{where}: provider libre needs `url`, the address of your server"


def _of_one_pair(where: str, provider: Settings) -> Iterator[str]:
    """What serves one language alone would give captions in it for every other."""
    if provider.get("provider") == "marian" and "{target}" not in provider.get("model", "{target}"):
        yield (
            f"{where}.model: found {provider['model']}, which serves one target language only; write "
            "{target} where its code stands, or put the model under translation.pairs"
        )
    if "prefix" in provider:
        yield (
            f"{where}.prefix: found {provider['prefix']!r}, which serves one language only; put it under "
            "translation.pairs"
        )


def _captions_counted_twice(settings: Settings) -> Iterator[str]:
    """Published translations are trained on beside a data set's own captions, so they must be others."""
    translation = settings["translation"]
    named = {pair[3:] for pair in translation["pairs"] if pair[:2] == "en"}
    for dataset, data in settings["datasets"].items():
        providers = {f"pairs.{pair}": (pair[3:], given) for pair, given in translation["pairs"].items()}
        others = [code for code in data["languages"] if code != "en" and code not in named]
        providers |= {f"default ({code})": (code, translation["default"] or {}) for code in others}
        for key, (target, provider) in providers.items():
            own = data["caption_origins"].get(target, "human")
            published = provider.get("provider") == "files" and target in data["languages"]
            if published and provider.get("origin") == own:
                yield (
                    f"translation.{key}.origin: found {own}, whose captions are {dataset}'s own in "
                    f"{target!r} already; name another origin or provider"
                )


def _bert_contradictions(pretraining: Settings) -> Iterator[str]:
    """The numbers of a layer are divided among its heads."""
    size, heads = pretraining["hidden_size"], pretraining["heads"]
    if size % heads:
        yield f"bert.pretraining.hidden_size: found {size}, expected a multiple of heads, {heads}"


def _feature_contradictions(settings: Settings) -> Iterator[str]:
    """Crops fit the image; the feature sets that experiments name are there, if only as null."""
    for set_name, images in feature_sets(settings).items():
        where = f"images.sets.{set_name}" if set_name else "images"
        if images["crop"] > images["resize"]:
            yield f"{where}.crop: larger than {where}.resize, so crops do not fit the image"
    known = list(settings["images"]["sets"])
    for name, experiment in settings["experiments"].items():
        chosen = experiment.get("features")
        if chosen is not None and chosen not in known:
            yield f"experiments.{name}.features: no set {chosen!r} in images.sets{meant(chosen, known)}"


def _context_contradictions(settings: Settings) -> Iterator[str]:
    """Models of context are told apart by their names."""
    first: dict[str, str] = {}
    for place, model in enumerate(settings["context"]):
        name = context_name(model)
        if first.setdefault(name, model) != model:
            yield (
                f"context.{place}: {model} would be called {name}, as {first[name]} is; rename the folder or "
                "link to it"
            )


def _encoder_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """LIWE and VSE have no universal embedding; order embeddings are compared by the ranking loss alone."""
    if model["similarity"] == "order" and not experiment.get("ranking"):
        yield f"{where}: similarity order is for the ranking loss; set ranking: true"
    if model["word_vectors"] == "scratch" and experiment.get("vectors", "fasttext") != "fasttext":
        yield f"{where}.vectors: found {experiment['vectors']!r}, which word_vectors scratch does not read"
    yield from _reduction_contradictions(where, model, experiment)
    if (model["encoder"] == "liwe") != (experiment.get("vectors") == "characters"):
        yield f"{where}: encoder liwe and vectors characters go together; set both or neither"
    if model["encoder"] == "embn":
        return
    if model["encoder"] == "liwe":
        yield from _liwe_contradictions(where, model, experiment)
        return
    if model["recurrent"] not in ("lstm", "gru"):
        yield f"{where}: encoder vse reads words one by one; set settings.model.recurrent: gru (or lstm)"
    for key in ("neighborhood", "classifier", "pretraining"):
        if experiment.get(key):
            yield f"{where}.{key}: encoder vse has no universal embedding to train by it"


def _hybrid_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """The hybrid embedding is begun by its own pretraining; MASK is one of its entries."""
    if experiment.get("embedding", "universal") == "universal":
        if experiment.get("masking"):
            yield f"{where}.masking: the universal embedding has no MASK; set embedding: hybrid"
        return
    if experiment.get("pretraining"):
        yield f"{where}.pretraining: embedding hybrid pretrains an assignment of words instead; leave it out"
    if experiment.get("vectors") == "bert":
        yield f"{where}.vectors: found 'bert'; embedding hybrid reads vectors of words"
    for key, value in (("encoder", "embn"), ("word_vectors", "pretrained"), ("universal_mean", "words")):
        if model[key] != value:
            yield f"{where}: embedding hybrid needs model.{key}: {value}; found {model[key]!r}"


def _size_contradictions(where: str, own: Settings, experiment: Settings) -> Iterator[str]:
    """A word explores no more entries than there are."""
    best, entries = own["assignment"]["best"], own["hybrid"]["entries"]
    if experiment.get("embedding") == "hybrid" and best > entries:
        yield f"{where}: assignment.best is {best}, of hybrid.entries there are {entries}; take fewer"


def _reduction_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """A smaller vocabulary is of FastText's vectors; words are read as English where English is."""
    reduction = experiment.get("reduction", "")
    if reduction and experiment.get("vectors", "fasttext") != "fasttext":
        yield f"{where}.reduction: found {reduction!r} with vectors {experiment['vectors']}, not fasttext"
    if not reduction.startswith("dictionary"):
        return
    named = experiment.get("languages", ["en"])
    if experiment.get("one_per_language") or (named != "all" and "en" not in named):
        yield f"{where}.reduction: {reduction} reads words as English, which the model has to have"
    if model["universal_mean"] != "words":
        yield f"{where}: {reduction} needs settings.model.universal_mean: words"


def _liwe_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """LIWE has one branch for all languages and a loss of its own."""
    if experiment["branches"] != "shared":
        yield f"{where}.branches: found {experiment['branches']!r}; encoder liwe has one for all languages"
    if model["similarity"] != "cosine":
        yield f"{where}: encoder liwe compares by cosine; set settings.model.similarity: cosine"
    for key in ("neighborhood", "classifier", "pretraining", "ranking"):
        if experiment.get(key):
            yield f"{where}.{key}: encoder liwe has a loss of its own (settings liwe); leave it out"


def _vector_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """Sentence vectors need a branch that reads them, and there are none of translations."""
    if model["recurrent"] == "mlp" and experiment.get("vectors") != "bert":
        yield f"{where}: recurrent mlp reads sentence vectors; set vectors: bert"
    if experiment.get("vectors") != "bert":
        return
    if model["recurrent"] not in ("mlp", "mean"):
        yield f"{where}: vectors bert has no words to read one by one; set settings.model.recurrent: mlp"
    if experiment["captions"] != "human":
        yield f"{where}.captions: found {experiment['captions']!r}; vectors bert are of human captions alone"


def _dataset_contradictions(where: str, data: Settings) -> Iterator[str]:
    name, source = data["source"], source_named(data["source"])
    for key in source.needs:
        if key not in data:
            yield f"{where}: {key!r} is missing, which source {name} needs"
    if source.splits and data.get("split", next(iter(source.splits))) not in source.splits:
        yield f"{where}.split: found {data['split']!r}, expected {' or '.join(source.splits)}"
    if "{language}" in data.get("captions", "") and "split" not in data:
        yield f"{where}.captions: a file for each language needs `split`, a CSV file of columns image, split"
    others = {key for other in names() for key in (*source_named(other).needs, *source_named(other).accepts)}
    for key in sorted((others - {*source.needs, *source.accepts}) & set(data)):
        yield f"{where}.{key}: source {name} has no such key"
    grouped = {code for group in data["groups"] for code in group}
    for key, named in (("caption_origins", data["caption_origins"]), ("groups", grouped)):
        for code in sorted(set(named) - set(data["languages"])):
            yield f"{where}.{key}: {code!r} is not among its languages {data['languages']}"
    yield from _translated_contradictions(where, data)
    if (data.get("test_images") is None) != (data.get("val_images") is None):
        yield f"{where}: test_images and val_images go together; give both or neither"


def _translated_contradictions(where: str, data: Settings) -> Iterator[str]:
    """Languages that are translated from English have no captions of their own; English has."""
    translated = data["translated_languages"]
    for code in sorted(set(translated) & set(data["languages"])):
        yield f"{where}.translated_languages: {code!r} is among its languages too; name it in one of them"
    if translated and "en" not in data["languages"]:
        yield f"{where}.translated_languages: translations are from English, which its languages lack"
    for code in sorted(set(data["borrowed_translations"]) - set(translated)):
        yield f"{where}.borrowed_translations: {code!r} is not among its translated_languages {translated}"


def _borrowed_contradictions(settings: Settings) -> Iterator[str]:
    """The other data set is there, and has captions in the language."""
    for name, data in settings["datasets"].items():
        for code, borrowed in data["borrowed_translations"].items():
            where, other = f"datasets.{name}.borrowed_translations.{code}.dataset", borrowed["dataset"]
            if other not in settings["datasets"] or other == name:
                known = [dataset for dataset in settings["datasets"] if dataset != name]
                yield f"{where}: no other data set {other!r}{meant(other, known)}"
            elif code not in settings["datasets"][other]["languages"]:
                yield f"{where}: {other} has no captions in {code!r}"


def _unknown_languages(settings: Settings) -> Iterator[str]:
    named = {}
    for name, data in settings["datasets"].items():
        for key in ("languages", "translated_languages"):
            named[f"datasets.{name}.{key}"] = data[key]
    for name, experiment in settings["experiments"].items():
        asked = experiment.get("languages", [])
        named[f"experiments.{name}.languages"] = [] if asked == "all" else asked
        named[f"experiments.{name}.selection"] = list(experiment.get("selection", {}))
    for name, table in settings["tables"].items():
        for column, languages in table["columns"].items():
            named[f"tables.{name}.columns.{column}"] = languages
    for pair in settings["translation"]["pairs"]:
        named[f"translation.pairs.{pair}"] = pair.split("-")
    for where, codes in named.items():
        yield from (f"{where}: {said}" for said in map(unknown_code, codes) if said)
        if where.startswith("datasets."):
            lacking = filter(None, map(without_tokenizer, sorted(codes)))
            yield from (f"{where}: {mistake}; leave it out" for mistake in lacking)


def _taken_names(settings: Settings) -> Iterator[str]:
    """No name is that of another result, of rows of a table, of a folder of the work, or of another model."""
    for name in settings["tables"]:
        if name in {*OTHER_TABLES, *_OTHER_RESULTS} or name.partition("/")[0] in _RESULT_FOLDERS:
            yield f"tables.{name}: the name of another result; give the table another"
        if re.search(r"-row\d+([+]\d+)*$", name):
            yield f"tables.{name}: a name that ends so stands for rows of a table; give the table another"
    for name in sorted(_WORK_FOLDERS & set(settings["datasets"])):
        yield f"datasets.{name}: the name of a folder of work/{{scale}}; give the data set another"
    for name in settings["experiments"]:
        if "-vs-" in name:
            yield f"experiments.{name}: -vs- stands between the names of results/compare; give it another"
        base, _, code = name.rpartition("-")
        if base in one_for_each(settings) and code in CODES:
            yield f"experiments.{name}: the model of {base} for {code!r} has this name; give it another"


def _unknown_columns(settings: Settings) -> Iterator[str]:
    known = {"multi30k", "mscoco", *stand_ins(settings)}
    for name, table in settings["tables"].items():
        for column, languages in table["columns"].items():
            if column not in known and column in settings["datasets"]:
                paper = settings["datasets"][column]["stands_for"]
                yield f"tables.{name}.columns.{column}: stands for {paper}; call the column {paper}"
            elif column not in known:
                yield f"tables.{name}.columns: no data set {column!r}{meant(column, sorted(known))}"
            elif "paper" not in table and column in settings["datasets"]:
                for code in sorted(set(languages) - set(every_language(settings, column))):
                    yield f"tables.{name}.columns.{column}: the data set has no language {code!r}"
        for place, row in enumerate(table["rows"]):
            yield from _unknown_columns_of_row(f"tables.{name}.rows.{place}.columns", table["columns"], row)


def _unknown_columns_of_row(where: str, columns: Settings, row: Settings) -> Iterator[str]:
    """A row has no columns but its table's."""
    for column, languages in row.get("columns", {}).items():
        if column not in columns:
            yield f"{where}: no column {column!r} in the table{meant(column, list(columns))}"
        for code in sorted(set(languages) - set(columns.get(column, languages))):
            yield f"{where}.{column}: the table has no language {code!r} of it"


def _row_numbers_given_twice(settings: Settings) -> Iterator[str]:
    """A row is known by its number: two with the same could not be told apart in the table."""
    for name, table in settings["tables"].items():
        first: dict[int, int] = {}
        for place, row in enumerate(table["rows"]):
            if first.setdefault(row["row"], place) != place:
                yield (
                    f"tables.{name}.rows.{place}.row: found {row['row']}, which is the number of "
                    f"rows.{first[row['row']]} too; give each row a number of its own"
                )


def _unknown_experiments(settings: Settings) -> Iterator[str]:
    known = {
        *settings["experiments"],
        *(name for data in settings["datasets"] for name in expanded(settings, data)),
    }
    for name, table in settings["tables"].items():
        for number, row in enumerate(table["rows"]):
            where = f"tables.{name}.rows.{number}.experiment"
            if row["experiment"] not in known:
                yield f"{where}: no experiment {row['experiment']!r}{meant(row['experiment'], list(known))}"
            elif row.get("consistency") and row.get("queries"):
                yield f"tables.{name}.rows.{number}: leave `queries` out, consistency asks own ones"
            elif row.get("queries") == "translated" and not _of_one_language(row["experiment"], settings):
                yield f"{where}: translated queries need a model of one language, such as embn-en"


def _of_one_language(name: str, settings: Settings) -> bool:
    """Whether it is the model of one language of an experiment that has one for each."""
    base, _, code = name.rpartition("-")
    of_each = settings["experiments"].get(base, {}).get("one_per_language", False)
    return of_each and code in CODES and name not in settings["experiments"]


def _consistency_contradictions(settings: Settings) -> Iterator[str]:
    """Queries and their translations are scored by models of several languages.

    That a data set has but one language of a paper's model is no mistake in the paper's table.
    """
    of = {column: expanded(settings, dataset) for column, dataset in stand_ins(settings).items()}
    for name, table in settings["tables"].items():
        for number, row in enumerate(table["rows"]):
            if not row.get("consistency"):
                continue
            chosen = row["experiment"]
            single = settings["experiments"].get(chosen, {}).get("one_per_language")
            made = [of[column].get(chosen) for column in table["columns"] if column in of]
            alone = "paper" not in table and any(found and len(found["languages"]) < 2 for found in made)
            if single or alone or _of_one_language(chosen, settings):
                yield (
                    f"tables.{name}.rows.{number}.consistency: {chosen} has one language; a query "
                    "and its translations need a model of two or more"
                )


def meant(key: str, known: list[str]) -> str:
    """End of a message about an unknown name: a similar known one, or the known ones, at most `LISTED`."""
    close = difflib.get_close_matches(str(key), known, 1)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f", did you mean {close[0]!r}?" if close else f"; known are {', '.join(known[:LISTED])}{more}"
