"use strict";
// The URL says what is shown: ?image= an indexed image, ?picture= a dropped picture, ?q= a sentence, else the first screen. A view keeps the keys that come later in this list, which its link back leads to.

const byId = id => document.getElementById(id);
const pageTitle = document.title;
const droppedPictures = new Map(); // pictures of this visit; the server keeps none
const examples = new Map(); // by index, what the first screen shows on this visit
let indexes = []; // empty until the server has listed them
let pending = new AbortController();

function createElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function queryString(values) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value != null) parameters.set(key, value);
  return "?" + parameters;
}

const address = values => "./" + queryString(values).replace(/^\?$/, "");
const currentQuery = () => Object.fromEntries(new URLSearchParams(location.search));
const selectedIndexes = () => ({index: byId("index").value === "0" ? "" : byId("index").value, compare: byId("compare").value});

// Go to a URL of this page, and move the focus to where a reader continues; without `focus` it stays.
async function navigate(url, focus) {
  history.pushState(null, "", url);
  if (await show() && focus) document.querySelector(focus)?.focus({preventScroll: true});
}

async function fetchJson(path, options = {}) {
  const response = await fetch(path, options);
  const values = await response.json().catch(() => ({})); // a proxy answers in HTML
  if (!response.ok) throw new Error(values.error || `The server answered ${response.status} ${response.statusText}.`);
  return values;
}

function indexOf(number) {
  if (!indexes[number]) throw new Error(`There is no model ${number} here.`);
  return indexes[number];
}

async function fetchResults(query, number, signal) {
  const {index} = indexOf(number);
  if (query.image) return fetchJson("api/image" + queryString({image: query.image, index}), {signal});
  if (!query.picture) return fetchJson("api/sentence" + queryString({q: query.q, language: query.language, index}), {signal});
  const picture = droppedPictures.get(query.picture);
  if (!picture) throw new Error("The picture is no longer available. Drop it again.");
  return fetchJson("api/picture" + queryString({index}), {method: "POST", body: picture, signal});
}

const inLanguage = ({language}) => ({lang: language, dir: "auto"});

// In place of a picture: its caption, or its id.
function textOf({image, caption}) {
  return createElement("span", {class: "no-file", ...caption && inLanguage(caption)}, caption ? caption.sentence : image);
}

function photograph(result, index) {
  const {image, caption} = result;
  const picture = createElement("img", {
    src: "photograph" + queryString({image, index}), loading: "lazy", alt: caption ? caption.sentence : image, ...caption && inLanguage(caption)});
  picture.onerror = () => picture.replaceWith(textOf(result)); // its file has left the folder
  return picture;
}

function tile(result, index, query) {
  const content = result.file ? photograph(result, index) : textOf(result);
  const {q, language, picture, compare} = query;
  const href = address({image: result.image, picture, q, language, index: index || "", compare});
  const score = result.score === undefined ? "" : createElement("span", {class: "score"}, result.score.toFixed(3));
  return createElement("li", {}, createElement("a", {href, title: result.image}, content, score));
}

const anyOf = new Intl.ListFormat("en", {type: "disjunction"});
const languageName = code => new Intl.DisplayNames(["en"], {type: "language"}).of(code);

const grid = (images, index, query) => createElement("ul", {class: "grid"}, ...images.map(result => tile(result, index, query)));

function sentenceList(title, results, index, query) {
  if (!results || !results.length) return "";
  const items = results.map(({sentence, language, score}) => createElement("li", {},
    createElement("span", {class: "code"}, language),
    createElement("a", {...inLanguage({language}), href: address({q: sentence, language, index: index || "", compare: query.compare})}, sentence),
    createElement("span", {class: "score"}, score === undefined ? "" : score.toFixed(3))));
  return createElement("section", {}, createElement("h3", {}, title), createElement("ul", {class: "sentences"}, ...items));
}

function languageNote(results) {
  const note = createElement("p", {class: "quiet language-note"}, `${results.detected ? "Detected" : "Read"} as ${languageName(results.language)}.`);
  if (results.alternatives.length) note.append(` ${results.alternatives.map(languageName).join(", ")} would know as many of its words.`);
  if (results.unknown_words.length) {
    const words = createElement("span", inLanguage(results));
    for (const word of results.words) {
      words.append(words.childNodes.length ? " " : "", results.unknown_words.includes(word) ? createElement("s", {}, word) : word);
    }
    note.append(" Read without the words that the model does not know: ", words, ".");
    // Few screen readers announce struck-through text.
    note.append(createElement("span", {class: "for-screen-readers"}, ` Unknown words: ${results.unknown_words.join(", ")}.`));
  }
  return note;
}

// The link back: from an indexed image to the dropped picture, from either to the sentence, else to the first screen.
function backLink({image, picture, q, language, index, compare}) {
  if (!image && !picture) return "";
  const dropped = image && picture;
  const href = address({picture: dropped && picture, q, language, index, compare});
  const target = dropped ? "the dropped picture" : q ? createElement("q", {dir: "auto"}, q) : "the first screen";
  return createElement("p", {class: "back"}, createElement("a", {href}, "← Back to ", target));
}

function column(results, query, index) {
  const section = createElement("section", {class: "column"}, createElement("h2", {tabindex: -1}, indexes[index].name));
  const shown = grid(results.images, index, query);
  if (query.image || query.picture) {
    if (query.image) section.append(createElement("div", {class: "query-image"}, results.file ? photograph(results, index) : textOf(results)));
    section.append(createElement("h3", {}, results.images.length ? "Nearest pictures" : "No other picture is indexed"), shown);
    if (query.image) section.append(sentenceList("Its captions", results.captions, index, query));
    section.append(sentenceList("Nearest sentences", results.sentences, index, query));
  } else section.append(languageNote(results), shown);
  return section;
}

const kindOf = (count, kind) => count === 1 ? kind.slice(0, -1) : kind; // photographs, scenes, images

function summary({name, kind, images, sentences, mean_recall: recalls}) {
  const counts = `${images.toLocaleString("en")} ${kindOf(images, kind)}`;
  const captions = sentences ? ` with ${sentences.toLocaleString("en")} caption${sentences === 1 ? "" : "s"}` : "";
  const scores = Object.entries(recalls).map(([code, recall]) => `${languageName(code)} ${recall.toFixed(1)}`);
  return createElement("p", {class: "quiet summary"}, createElement("strong", {}, name), ` · ${counts}${captions} · mR (mean recall, %) on its test split: ${scores.join(", ")}`);
}

function fetchExamples(index) {
  if (!examples.has(index)) {
    examples.set(index, fetchJson("api/examples" + queryString({index})));
    examples.get(index).catch(() => examples.delete(index));
  }
  return examples.get(index);
}

async function firstScreen(query, numbers) {
  const section = createElement("section", {class: "first"}, ...numbers.map(number => summary(indexOf(number))));
  const {index, images, kind} = indexOf(numbers[0]);
  const shown = await fetchExamples(index);
  const heading = createElement("h2", {tabindex: -1}, images > shown.images.length ? `Some of the ${kind}` : `The ${kindOf(images, kind)}`);
  const headline = createElement("div", {class: "line"}, heading);
  if (images > shown.images.length) {
    const others = createElement("button", {type: "button", id: "others"}, "Show others");
    others.onclick = async () => {
      examples.delete(index);
      await show();
      byId("others")?.focus();
    };
    headline.append(others);
  }
  section.append(headline, grid(shown.images, index, query));
  if (shown.queries.length) {
    const lists = createElement("div", {class: "languages"});
    for (const code of new Set(shown.queries.map(({language}) => language))) {
      const links = shown.queries.filter(({language}) => language === code).map(({sentence}) => createElement("li", {},
        createElement("a", {...inLanguage({language: code}), href: address({q: sentence, index: query.index, compare: query.compare})}, sentence)));
      lists.append(createElement("section", {}, createElement("h3", {}, languageName(code)), createElement("ul", {}, ...links)));
    }
    section.append(createElement("h2", {}, "Captions to search with"), lists);
  }
  return section;
}

function fillForm(query) {
  byId("query").value = query.q || "";
  byId("index").value = query.index || "0";
  byId("compare").value = query.compare || "";
  const {languages = [], reads_photographs: readsPhotographs} = indexes[Number(query.index || 0)] || {};
  const options = languages.map(code => createElement("option", {value: code}, languageName(code)));
  byId("language").replaceChildren(createElement("option", {value: ""}, "detect"), ...options);
  byId("language").value = languages.includes(query.language) ? query.language : "";
  const names = languages.length > 5 ? `any of ${languages.length} languages` : anyOf.format(languages.map(languageName));
  byId("query").placeholder = names ? `A sentence in ${names}` : "A sentence";
  byId("picture-label").hidden = !readsPhotographs;
  byId("home").href = address({index: query.index, compare: query.compare});
}

function showStatus(text, error = false) {
  byId("status").textContent = text;
  byId("status").className = error ? "error" : "quiet";
}

// The section that shows the result, or the error that prevented it.
async function sectionOf(drawing) {
  try {
    return await drawing;
  } catch (error) {
    return createElement("section", {class: "column"}, createElement("p", {class: "error"}, error.message));
  }
}

// Show what the URL says; returns whether nothing else was requested in the meantime.
async function show() {
  if (!indexes.length) return false; // called again when they are listed
  pending.abort();
  pending = new AbortController();
  const {signal} = pending, query = currentQuery();
  fillForm(query);
  const name = query.image || (query.picture ? "A picture" : query.q);
  document.title = (name ? `${name} – ` : "") + pageTitle;
  if (name) showStatus("Searching …");
  const numbers = [Number(query.index || 0), ...(query.compare ? [Number(query.compare)] : [])];
  const columns = name ? numbers.map(async number => column(await fetchResults(query, number, signal), query, number)) : [firstScreen(query, numbers)];
  const sections = await Promise.all(columns.map(sectionOf));
  if (signal.aborted) return false;
  if (query.picture && !query.image && droppedPictures.has(query.picture)) {
    const preview = createElement("img", {alt: "the query picture"});
    preview.onload = () => URL.revokeObjectURL(preview.src);
    preview.src = URL.createObjectURL(droppedPictures.get(query.picture));
    sections[0].prepend(createElement("div", {class: "query-image"}, preview));
  }
  byId("results").className = sections.length > 1 ? "two-columns" : "";
  byId("results").replaceChildren(backLink(query), ...sections);
  showStatus("");
  return true;
}

function searchWithPicture(picture) {
  const key = String(droppedPictures.size + 1);
  droppedPictures.set(key, picture);
  const {q, language} = currentQuery();
  navigate(address({picture: key, q, language, ...selectedIndexes()}));
}

// Arrow keys move the focus between the pictures of a grid as they are laid out on the screen.
function moveFocus(event) {
  const tiles = [...event.target.closest(".grid").querySelectorAll("a")].filter(tile => tile.offsetParent), position = tiles.indexOf(event.target);
  const perRow = tiles.filter(tile => tile.offsetTop === tiles[0].offsetTop).length;
  const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow}[event.key];
  if (step && tiles[position + step]) {
    tiles[position + step].focus();
    event.preventDefault();
  }
}

document.addEventListener("keydown", event => {
  if (event.target.closest(".grid")) moveFocus(event);
  if (event.key === "/" && !event.target.closest("input, select")) {
    byId("query").focus();
    event.preventDefault();
  }
  if (event.target === byId("picture-label") && (event.key === "Enter" || event.key === " ")) byId("picture").click();
});
document.addEventListener("click", event => {
  const link = event.target.closest("#results a, #home");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  history.replaceState({left: link.getAttribute("href")}, "");
  navigate(link.getAttribute("href"), ".back a, #results h2");
  scrollTo(0, 0);
});
document.addEventListener("dragover", event => {
  event.preventDefault();
  document.body.classList.add("drop-target");
});
document.addEventListener("dragleave", () => document.body.classList.remove("drop-target"));
document.addEventListener("drop", event => {
  event.preventDefault();
  document.body.classList.remove("drop-target");
  if (event.dataTransfer.files.length) searchWithPicture(event.dataTransfer.files[0]);
});
byId("picture").addEventListener("change", () => {
  if (byId("picture").files.length) searchWithPicture(byId("picture").files[0]);
  byId("picture").value = "";
});
byId("form").addEventListener("submit", event => {
  event.preventDefault();
  navigate(address({q: byId("query").value.trim(), language: byId("language").value, ...selectedIndexes()}));
});
for (const id of ["language", "index", "compare"]) byId(id).addEventListener("change", () => {
  const {image, picture, q = ""} = currentQuery(), text = byId("query").value.trim();
  const stays = text === q && !(text && id === "language"); // a language is chosen for the sentence
  navigate(address({...stays && {image, picture}, q: text, language: byId("language").value, ...selectedIndexes()}));
});
addEventListener("popstate", async () => {
  const {left} = history.state || {};
  if (await show() && left) [...document.querySelectorAll("#results a")].find(link => link.getAttribute("href") === left)?.focus();
});

(async () => {
  try {
    indexes = await fetchJson("api/indexes");
  } catch (error) {
    showStatus(error.message, true);
    return;
  }
  for (const {index, name} of indexes) {
    byId("index").append(createElement("option", {value: index}, name));
    byId("compare").append(createElement("option", {value: index}, name));
  }
  for (const label of ["index-label", "compare-label"]) byId(label).hidden = indexes.length < 2;
  const text = byId("query").value; // typed while the server listed the indexes
  show();
  if (text) byId("query").value = text;
})();
