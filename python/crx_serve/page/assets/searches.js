// Recent and saved searches. They are kept in this browser alone, and no server is told of them.

import { ROOT, element } from "./parts.js";

const RECENT = { key: "crx-recent", title: "Recent searches", most: 10 };
const SAVED = { key: "crx-saved", title: "Saved searches", most: 50 };

// Returns the searches of a list, newest first: the query of the URL of each.
function read(list) {
  try {
    const found = JSON.parse(localStorage.getItem(list.key));
    return found.filter((each) => typeof each === "string" && new URLSearchParams(each).get("q"));
  } catch {
    return []; // nothing is kept, or it may not be read
  }
}

function write(list, searches) {
  try {
    localStorage.setItem(list.key, JSON.stringify(searches.slice(0, list.most)));
  } catch {
    // The browser keeps nothing for this page.
  }
}

function add(list, search) {
  write(list, [search, ...read(list).filter((each) => each !== search)]);
}

function remove(list, search) {
  write(list, read(list).filter((each) => each !== search));
}

// Returns the search that the page shows, without the number of its passages; "" for none.
function shownSearch() {
  const fields = new URLSearchParams(location.search);
  fields.delete("n");
  return fields.get("q") ? fields.toString() : "";
}

export function rememberSearch() {
  const search = shownSearch();
  if (search) add(RECENT, search);
}

// Returns a search as a text: the query, then its filters.
function describe(search) {
  const { q, ...filters } = Object.fromEntries(new URLSearchParams(search));
  return [q, ...Object.values(filters)].join(" · ");
}

function item(list, search) {
  const made = element("li", {});
  const label = describe(search);
  made.append(
    element("a", { href: `${ROOT}?${search}`, dir: "auto" }, label),
    element("button", { type: "button", "aria-label": `Forget ${label}` }, "×"),
  );
  made.querySelector("button").addEventListener("click", () => {
    remove(list, search);
    showSearches();
  });
  return made;
}

function card(list) {
  const searches = read(list);
  if (!searches.length) return "";
  const made = element("section", { class: "card searches" });
  const items = element("ol", {});
  items.append(...searches.map((search) => item(list, search)));
  made.append(element("h3", {}, list.title), items);
  if (list === RECENT) {
    const all = element("button", { type: "button", class: "plain" }, "Forget all");
    all.addEventListener("click", () => {
      write(list, []);
      showSearches();
    });
    made.append(all);
  }
  return made;
}

// Shows the searches on the first page.
function showSearches() {
  for (const each of document.querySelectorAll(".searches")) each.remove();
  document.querySelector(".home .cards")?.prepend(card(SAVED), card(RECENT));
}

// Offers to save the search that is shown, or to forget it.
function offerToSave() {
  const summary = document.querySelector(".found .summary");
  const search = shownSearch();
  if (!summary || !search) return;
  const button = element("button", { type: "button", class: "plain save" });
  const label = () => {
    button.textContent = read(SAVED).includes(search) ? "★ Saved" : "☆ Save this search";
  };
  button.addEventListener("click", () => {
    (read(SAVED).includes(search) ? remove : add)(SAVED, search);
    label();
  });
  label();
  summary.after(button);
}

function show() {
  showSearches();
  offerToSave();
}

export function startSearches() {
  // The address is that of the passages a moment after they are shown.
  document.addEventListener("shown", (event) => {
    if (event.detail === "results") setTimeout(show);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest(".result a")) rememberSearch();
  });
  show();
}
