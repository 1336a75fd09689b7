// What the page does beyond links and forms: search as you type, keys, copying, streamed answers.
// It inserts only what the server has rendered, or text.
import { ROOT, element, showPart } from "./parts.js";
import { startPreview } from "./preview.js";
import { rememberSearch, startSearches } from "./searches.js";

const DEBOUNCE_MS = 60;
// How long nothing is typed before passages are reranked.
const SETTLED_MS = 400;
const BUSY_STATE_MS = 2000;
const IDLE_STATE_MS = 30000;

const form = document.getElementById("search");
const input = document.getElementById("q");

// Search as you type.

let timer = 0;
let running = null;
let shown = form ? formQuery() : "";

function formQuery() {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim()) fields.set(name, value.trim());
  }
  return fields.toString();
}

function searchSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => search("&quick=1"), DEBOUNCE_MS);
}

// Returns when the passages of the form as it is now are shown, or a later search has begun.
async function search(speed = "") {
  clearTimeout(timer);
  const query = formQuery();
  const results = document.getElementById("results");
  if (query === shown && (speed || !("quick" in results.dataset))) return;
  if (running) running.abort();
  const controller = new AbortController();
  running = controller;
  document.body.classList.add("searching");
  try {
    await showPart(`${ROOT}results?${query}${speed}`, "results", controller.signal);
    if (query !== shown) closeAnswer();
    shown = query;
    history.replaceState(null, "", query ? `${ROOT}?${query}` : ROOT);
    document.title = input.value.trim() ? `${input.value.trim()} - crx` : "crx";
    if ("quick" in document.getElementById("results").dataset) timer = setTimeout(settle, SETTLED_MS);
  } catch (error) {
    if (error.name !== "AbortError") showFailure("The server does not answer.");
  } finally {
    if (running === controller) {
      running = null;
      document.body.classList.remove("searching");
    }
  }
}

// Reranks what was found while typing, unless someone reads it already.
function settle() {
  if (document.activeElement === input && scrollY === 0) search();
}

function showFailure(message) {
  const note = document.createElement("p");
  note.className = "note";
  note.setAttribute("role", "alert");
  note.textContent = message;
  document.getElementById("results").replaceChildren(note);
  shown = "";
}

// Sets the fields of the form to those of a URL, such as that of a filter.
function fillForm(fields) {
  for (const field of form.elements) {
    if (!field.name) continue;
    const value = fields.get(field.name) ?? "";
    if (field.matches("select") && ![...field.options].some((each) => each.value === value)) {
      field.append(new Option(value));
    }
    field.value = value;
  }
  for (const [name, value] of fields) {
    if (form.elements[name]) continue;
    const hidden = element("input", { type: "hidden", name });
    hidden.value = value;
    form.append(hidden);
  }
}

if (form) {
  document.addEventListener("click", (event) => {
    const chip = event.target.closest("a.chip");
    if (!chip || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    fillForm(new URL(chip.href).searchParams);
    search();
  });
  input.addEventListener("input", (event) => {
    // Half a word of an input method is not searched for.
    if (!event.isComposing) searchSoon();
  });
  input.addEventListener("compositionend", searchSoon);
  form.querySelector(".filters").addEventListener("input", searchSoon);
  form.querySelector(".filters").addEventListener("change", searchSoon);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (event.submitter && event.submitter.id === "ask") {
      await ask();
    } else {
      await search();
      rememberSearch();
      move(1);
    }
  });
}

if (form) {
  startPreview();
  startSearches();
}

// Answers, as server-sent events.

let answering = null;

function closeAnswer() {
  if (answering) answering.abort();
  answering = null;
  document.getElementById("answer")?.remove();
}

async function ask() {
  if (!input.value.trim()) return;
  await search();
  rememberSearch();
  closeAnswer();
  const results = document.getElementById("results");
  // A search that failed says why.
  if (results.dataset.where === undefined) return;
  const { question } = results.dataset;
  const controller = new AbortController();
  answering = controller;
  const answer = element("section", { id: "answer", "aria-label": "Answer" });
  const said = element("div", { class: "said", dir: "auto", "aria-live": "polite" });
  const citations = element("ol", { class: "citations" });
  said.setAttribute("aria-busy", "true");
  answer.append(said, citations);
  results.before(answer);
  const body = { question, index: results.dataset.index };
  const where = JSON.parse(results.dataset.where);
  if (Object.keys(where).length) body.where = where;
  const delay = element("p", { class: "note", role: "status" });
  const receive = {
    delay: (data) => {
      delay.textContent = data.text;
      answer.append(delay);
    },
    delta: (data) => {
      delay.remove();
      said.append(data.text);
    },
    citation: (data) => citations.append(citationItem(data, question)),
    done: (data) => {
      linkCitations(said, data);
      for (const note of data.notes) answer.append(element("p", { class: "note" }, note));
    },
    error: (data) => {
      delay.remove();
      answer.append(element("p", { class: "note" }, data.error.message));
    },
  };
  try {
    await readEvents(`${ROOT}v1/ask`, body, controller.signal, receive);
  } catch (error) {
    if (error.name !== "AbortError") {
      answer.append(element("p", { class: "note" }, "The answer was cut off."));
    }
  } finally {
    said.setAttribute("aria-busy", "false");
  }
}

async function readEvents(url, body, signal, receive) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    receive.error(await response.json());
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (waiting + part.value).split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n");
      receive[name.slice("event: ".length)](JSON.parse(data.slice("data: ".length)));
    }
  }
}

function citationItem(cited, question) {
  const span = new URLSearchParams({ start: cited.start, end: cited.end, q: question });
  const url = `${ROOT}documents/${encodeURIComponent(cited.id)}?${span}#passage`;
  const item = element("li", { id: `cite${cited.number}`, value: cited.number });
  item.append(element("a", { href: url, dir: "auto" }, cited.title || cited.uri), ` ${place(cited)}`);
  return item;
}

function place(cited) {
  const range = (unit, [first, last]) =>
    first === last ? `${unit} ${first}` : `${unit}s ${first}–${last}`;
  if (cited.pages) return range("page", cited.pages);
  if (cited.anchor) return range(cited.anchor.kind, [cited.anchor.first, cited.anchor.last]);
  return cited.lines ? range("line", cited.lines) : "";
}

// Makes each "[2]" of the finished answer a link to its passage.
function linkCitations(said, answer) {
  const numbers = new Set(answer.citations.map((cited) => cited.number));
  const pieces = answer.text.split(/(\[[\d\s,;–—-]+\])/).map((piece, at) => {
    const number = Number(piece.match(/\d+/)?.[0]);
    const isCitation = at % 2 === 1 && numbers.has(number);
    return isCitation ? element("a", { href: `#cite${number}` }, piece) : piece;
  });
  said.replaceChildren(...pieces);
}

// Keys.

function move(step) {
  const links = [...document.querySelectorAll(".result .open")].filter((link) => link.checkVisibility());
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest(".result").contains(document.activeElement));
  const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  next.focus({ preventScroll: true });
  next.closest(".result").scrollIntoView({ block: "nearest" });
}

function goBack() {
  const back = document.getElementById("back");
  if (back) {
    location.assign(back.href);
  } else if (document.activeElement === input) {
    input.value = "";
    searchSoon();
  } else if (input) {
    input.focus();
    input.select();
    scrollTo({ top: 0 });
  }
}

function focusSearch() {
  if (!input) {
    location.assign(ROOT);
    return;
  }
  input.focus();
  input.select();
}

function openOriginal() {
  const link = document.activeElement.closest(".result")?.querySelector("a.original")
    ?? document.querySelector("a.original");
  if (link) location.assign(link.href);
}

// Arrows move between passages, and scroll where there are none.
function arrow(step) {
  return document.querySelector(".result") ? () => move(step) : null;
}

const KEYS = {
  "/": () => focusSearch,
  j: () => () => move(1),
  k: () => () => move(-1),
  o: () => openOriginal,
  "?": () => () => document.getElementById("keys")?.showModal(),
  ArrowDown: () => arrow(1),
  ArrowUp: () => arrow(-1),
};

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    focusSearch();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.shiftKey && event.key.startsWith("Arrow")) return;
  const typing = event.target.matches("input, select, textarea");
  const scrolls = event.key.startsWith("Arrow") && event.target.closest("#preview");
  let action = null;
  if (event.key === "Escape") action = goBack;
  else if (event.key === "ArrowDown" && event.target === input) action = arrow(1);
  else if (!typing && !scrolls) action = KEYS[event.key]?.();
  if (!action) return;
  event.preventDefault();
  action();
});

// Copying of citations.

document.documentElement.classList.add("scripted");

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    // Browsers lend the clipboard to https and this machine only; "Why this hit" has the text.
    button.textContent = "Copy it from “Cite as”";
  }
  setTimeout(() => (button.textContent = "Copy citation"), 2000);
});

// What a search lacks now, while that changes.

function watchState() {
  const state = document.getElementById("state");
  if (!state) return;
  const wait = state.hasAttribute("data-busy") ? BUSY_STATE_MS : IDLE_STATE_MS;
  setTimeout(async () => {
    if (!document.hidden) await showPart(`${ROOT}state`, "state").catch(() => {});
    watchState();
  }, wait);
}

watchState();

// A link to lines, as other programs make it (#L30-35), to text that is not on this page.

function showLines() {
  const lines = location.hash.match(/^#L(\d+)(?:-(\d+))?$/);
  if (!lines || !document.body.classList.contains("document")) return;
  if (!lines[2] && document.getElementById(`L${lines[1]}`)) return;
  const fields = new URLSearchParams({ lines: `${lines[1]}-${lines[2] || lines[1]}` });
  location.replace(`${location.pathname}?${fields}#passage`);
}

addEventListener("hashchange", showLines);
showLines();
