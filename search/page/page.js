"use strict";
// The URL says what is shown: ?q= a sentence, ?image= an indexed image, ?picture= a dropped picture.

const byId = id => document.getElementById(id);
const droppedPictures = new Map(); // pictures of this visit; the server keeps none
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

const currentQuery = () => Object.fromEntries(new URLSearchParams(location.search));
const selectedIndexes = () => ({index: byId("index").value === "0" ? "" : byId("index").value, compare: byId("compare").value});

function navigate(url) {
  history.pushState(null, "", url);
  show();
}

async function fetchJson(path, options = {}) {
  const response = await fetch(path, options);
  const values = await response.json();
  if (!response.ok) throw new Error(values.error);
  return values;
}

function fetchResults(query, index, signal) {
  if (query.q) return fetchJson("api/sentence" + queryString({q: query.q, language: query.language, index}), {signal});
  if (query.image) return fetchJson("api/image" + queryString({image: query.image, index}), {signal});
  const picture = droppedPictures.get(query.picture);
  if (!picture) throw new Error("The picture is no longer available. Drop it again.");
  return fetchJson("api/picture" + queryString({index}), {method: "POST", body: picture, signal});
}

function photograph(image, index) {
  return createElement("img", {src: "photograph" + queryString({image, index}), alt: image, loading: "lazy"});
}

function tile(result, index, query) {
  const content = result.file ? photograph(result.image, index) : createElement("span", {class: "no-file"}, result.image);
  const href = queryString({image: result.image, index: index || "", compare: query.compare});
  const score = createElement("span", {class: "score"}, result.score.toFixed(3));
  return createElement("li", {}, createElement("a", {href, title: result.image}, content, score));
}

const languageName = code => new Intl.DisplayNames(["en"], {type: "language"}).of(code);

const grid = (images, index, query) => createElement("ul", {class: "grid"}, ...images.map(result => tile(result, index, query)));

function sentenceList(title, results, index, query) {
  if (!results || !results.length) return "";
  const items = results.map(({sentence, language, score}) => createElement("li", {},
    createElement("span", {class: "code"}, language),
    createElement("a", {lang: language, href: queryString({q: sentence, language, index: index || "", compare: query.compare})}, sentence),
    createElement("span", {class: "score"}, score === undefined ? "" : score.toFixed(3))));
  return createElement("section", {}, createElement("h3", {}, title), createElement("ul", {class: "sentences"}, ...items));
}

function languageNote(results) {
  let text = `${results.detected ? "Detected" : "Read"} as ${languageName(results.language)}.`;
  if (results.alternatives.length) text += ` ${results.alternatives.map(languageName).join(", ")} would know as many of its words.`;
  if (results.unknown_words.length) text += ` Unknown words: ${results.unknown_words.join(", ")}.`;
  return createElement("p", {class: "quiet language-note"}, text);
}

function column(results, query, index) {
  const section = createElement("section", {class: "column"}, createElement("h2", {}, indexes[index].name));
  if (query.q) section.append(languageNote(results), grid(results.images, index, query));
  else {
    if (query.image) section.append(createElement("div", {class: "query-image"}, photograph(query.image, index)));
    section.append(createElement("h3", {}, "Nearest pictures"), grid(results.images, index, query));
    if (query.image) section.append(sentenceList("Its captions", results.captions, index, query));
    section.append(sentenceList("Nearest sentences", results.sentences, index, query));
  }
  return section;
}

function fillForm(query) {
  byId("query").value = query.q || "";
  byId("index").value = query.index || "0";
  byId("compare").value = query.compare || "";
  const languages = indexes[Number(query.index || 0)]?.languages || [];
  const options = languages.map(code => createElement("option", {value: code}, languageName(code)));
  byId("language").replaceChildren(createElement("option", {value: ""}, "detected"), ...options);
  byId("language").value = languages.includes(query.language) ? query.language : "";
}

function showStatus(text, error = false) {
  byId("status").textContent = text;
  byId("status").className = error ? "error" : "quiet";
}

async function show() {
  if (!indexes.length) return; // called again when they are listed
  pending.abort();
  pending = new AbortController();
  const {signal} = pending, query = currentQuery();
  fillForm(query);
  document.title = (query.q || query.image || (query.picture ? "A picture" : "")) + (location.search.length > 1 ? " – " : "") + "Search photographs";
  if (!(query.q || query.image || query.picture)) {
    const first = indexes[Number(query.index || 0)];
    byId("results").replaceChildren();
    showStatus(first ? `${first.images.toLocaleString("en")} photographs. Search in ${first.languages.map(languageName).join(", ")}, or drop a picture.` : "");
    return;
  }
  showStatus("Searching …");
  const numbers = [Number(query.index || 0), ...(query.compare ? [Number(query.compare)] : [])];
  const columns = await Promise.all(numbers.map(async index => {
    try {
      if (!indexes[index]) throw new Error(`There is no model ${index} here.`);
      return column(await fetchResults(query, index, signal), query, index);
    } catch (error) {
      return createElement("section", {class: "column"}, createElement("p", {class: "error"}, error.message));
    }
  }));
  if (signal.aborted) return;
  const picture = query.picture && droppedPictures.get(query.picture);
  if (picture) {
    const preview = createElement("img", {alt: "the query picture"});
    preview.onload = () => URL.revokeObjectURL(preview.src);
    preview.src = URL.createObjectURL(picture);
    columns[0].prepend(createElement("div", {class: "query-image"}, preview));
  }
  byId("results").className = columns.length > 1 ? "two-columns" : "";
  byId("results").replaceChildren(...columns);
  showStatus("");
}

function searchWithPicture(picture) {
  const key = String(droppedPictures.size + 1);
  droppedPictures.set(key, picture);
  navigate(queryString({picture: key, ...selectedIndexes()}));
}

// Arrow keys move the focus between the pictures of a grid as they are laid out on the screen.
function moveFocus(event) {
  const tiles = [...event.target.closest(".grid").querySelectorAll("a")], position = tiles.indexOf(event.target);
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
  const link = event.target.closest("#results a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  navigate(link.getAttribute("href"));
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
  navigate(queryString({q: byId("query").value.trim(), language: byId("language").value, ...selectedIndexes()}));
});
for (const id of ["language", "index", "compare"]) byId(id).addEventListener("change", () => {
  const query = currentQuery();
  const text = byId("query").value.trim();
  if (query.picture && !text) navigate(queryString({picture: query.picture, ...selectedIndexes()}));
  else if (query.image && !text) navigate(queryString({image: query.image, ...selectedIndexes()}));
  else navigate(queryString({q: text, language: byId("language").value, ...selectedIndexes()}));
});
addEventListener("popstate", show);

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
  byId("compare-label").hidden = indexes.length < 2;
  const text = byId("query").value; // typed while the server listed the indexes
  show();
  if (text) byId("query").value = text;
})();
