"use strict";
// The address says what is shown: ?q= a sentence, ?image= an indexed image, ?picture= one that was dropped.

const by = id => document.getElementById(id);
const dropped = new Map(); // pictures of this visit; none is kept by the server
let indexes = []; // empty until the server has named them
let asking = new AbortController();

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function address(values) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value != null) parameters.set(key, value);
  return "?" + parameters;
}

const asked = () => Object.fromEntries(new URLSearchParams(location.search));
const chosen = () => ({index: by("index").value === "0" ? "" : by("index").value, beside: by("beside").value});

function go(where) {
  history.pushState(null, "", where);
  show();
}

async function fetched(path, options = {}) {
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function question(now, index, signal) {
  if (now.q) return fetched("/api/sentence" + address({q: now.q, language: now.language, index}), {signal});
  if (now.image) return fetched("/api/image" + address({image: now.image, index}), {signal});
  const picture = dropped.get(now.picture);
  if (!picture) throw new Error("The picture is not kept. Drop it again.");
  return fetched("/api/picture" + address({index}), {method: "POST", body: picture, signal});
}

function photograph(image, index) {
  return made("img", {src: "/photograph" + address({image, index}), alt: image, loading: "lazy"});
}

function tile(found, index, now) {
  const shown = found.file ? photograph(found.image, index) : made("span", {class: "without"}, found.image);
  const where = address({image: found.image, index: index || "", beside: now.beside});
  return made("li", {}, made("a", {href: where, title: found.image}, shown, made("span", {class: "score"}, found.score.toFixed(3))));
}

const language = code => new Intl.DisplayNames(["en"], {type: "language"}).of(code);

const grid = (images, index, now) => made("ul", {class: "grid"}, ...images.map(one => tile(one, index, now)));

function sentences(title, list, index, now) {
  if (!list || !list.length) return "";
  const lines = list.map(one => made("li", {},
    made("span", {class: "code"}, one.language),
    made("a", {lang: one.language, href: address({q: one.sentence, language: one.language, index: index || "", beside: now.beside})}, one.sentence),
    made("span", {class: "score"}, one.score === undefined ? "" : one.score.toFixed(3))));
  return made("section", {}, made("h3", {}, title), made("ul", {class: "sentences"}, ...lines));
}

function readAs(found) {
  let text = `${found.recognised ? "Recognised" : "Read"} as ${language(found.language)}.`;
  if (found.also.length) text += ` ${found.also.map(language).join(", ")} would know as many of its words.`;
  if (found.unknown.length) text += ` Not known: ${found.unknown.join(", ")}.`;
  return made("p", {class: "quiet read"}, text);
}

function column(found, now, index) {
  const part = made("section", {class: "column"}, made("h2", {}, indexes[index].name));
  if (now.q) part.append(readAs(found), grid(found.images, index, now));
  else {
    if (now.image) part.append(made("div", {class: "chosen"}, photograph(now.image, index)));
    part.append(made("h3", {}, "Nearest pictures"), grid(found.images, index, now));
    if (now.image) part.append(sentences("Its own sentences", found.own, index, now));
    part.append(sentences("Nearest sentences", found.sentences, index, now));
  }
  return part;
}

function fillForm(now) {
  by("query").value = now.q || "";
  by("index").value = now.index || "0";
  by("beside").value = now.beside || "";
  const languages = indexes[Number(now.index || 0)]?.languages || [];
  by("language").replaceChildren(made("option", {value: ""}, "recognised"), ...languages.map(code => made("option", {value: code}, language(code))));
  by("language").value = languages.includes(now.language) ? now.language : "";
}

function status(text, error = false) {
  by("status").textContent = text;
  by("status").className = error ? "error" : "quiet";
}

async function show() {
  if (!indexes.length) return; // shown as soon as they are known
  asking.abort();
  asking = new AbortController();
  const mine = asking, now = asked();
  fillForm(now);
  document.title = (now.q || now.image || (now.picture ? "A picture" : "")) + (location.search.length > 1 ? " – " : "") + "Search photographs";
  if (!(now.q || now.image || now.picture)) {
    const first = indexes[Number(now.index || 0)];
    by("results").replaceChildren();
    status(first ? `${first.images.toLocaleString("en")} photographs. Ask in ${first.languages.map(language).join(", ")}, or drop a picture.` : "");
    return;
  }
  status("Searching …");
  const wanted = [Number(now.index || 0), ...(now.beside ? [Number(now.beside)] : [])];
  const columns = await Promise.all(wanted.map(async index => {
    try {
      if (!indexes[index]) throw new Error(`There is no model ${index} here.`);
      return column(await question(now, index, mine.signal), now, index);
    } catch (error) {
      return made("section", {class: "column"}, made("p", {class: "error"}, error.message));
    }
  }));
  if (mine.signal.aborted) return;
  const pictured = now.picture && dropped.get(now.picture);
  if (pictured) {
    const preview = made("img", {alt: "the picture searched with"});
    preview.onload = () => URL.revokeObjectURL(preview.src);
    preview.src = URL.createObjectURL(pictured);
    columns[0].prepend(made("div", {class: "chosen"}, preview));
  }
  by("results").className = columns.length > 1 ? "beside" : "";
  by("results").replaceChildren(...columns);
  status("");
}

function searchWith(picture) {
  const key = String(dropped.size + 1);
  dropped.set(key, picture);
  go(address({picture: key, ...chosen()}));
}

// Arrow keys walk the pictures of a grid as they lie on the screen.
function walk(event) {
  const tiles = [...event.target.closest(".grid").querySelectorAll("a")], at = tiles.indexOf(event.target);
  const across = tiles.filter(one => one.offsetTop === tiles[0].offsetTop).length;
  const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across}[event.key];
  if (step && tiles[at + step]) {
    tiles[at + step].focus();
    event.preventDefault();
  }
}

document.addEventListener("keydown", event => {
  if (event.target.closest(".grid")) walk(event);
  if (event.key === "/" && !event.target.closest("input, select")) {
    by("query").focus();
    event.preventDefault();
  }
  if (event.target === by("picture-label") && (event.key === "Enter" || event.key === " ")) by("picture").click();
});
document.addEventListener("click", event => {
  const link = event.target.closest("#results a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link.getAttribute("href"));
  scrollTo(0, 0);
});
document.addEventListener("dragover", event => {
  event.preventDefault();
  document.body.classList.add("over");
});
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", event => {
  event.preventDefault();
  document.body.classList.remove("over");
  if (event.dataTransfer.files.length) searchWith(event.dataTransfer.files[0]);
});
by("picture").addEventListener("change", () => {
  if (by("picture").files.length) searchWith(by("picture").files[0]);
  by("picture").value = "";
});
by("form").addEventListener("submit", event => {
  event.preventDefault();
  go(address({q: by("query").value.trim(), language: by("language").value, ...chosen()}));
});
for (const id of ["language", "index", "beside"]) by(id).addEventListener("change", () => {
  const now = asked();
  const typed = by("query").value.trim();
  if (now.picture && !typed) go(address({picture: now.picture, ...chosen()}));
  else if (now.image && !typed) go(address({image: now.image, ...chosen()}));
  else go(address({q: typed, language: by("language").value, ...chosen()}));
});
addEventListener("popstate", show);

(async () => {
  try {
    indexes = await fetched("/api/indexes");
  } catch (error) {
    status(error.message, true);
    return;
  }
  for (const one of indexes) {
    by("index").append(made("option", {value: one.index}, one.name));
    by("beside").append(made("option", {value: one.index}, one.name));
  }
  by("beside-label").hidden = indexes.length < 2;
  const typed = by("query").value; // while they were asked for
  show();
  if (typed) by("query").value = typed;
})();
