// The preview of the passage that has the focus, beside the list.

import { showPart } from "./parts.js";

const PREVIEW_MS = 120;
const wide = matchMedia("(min-width: 68rem)");
let previewing = null;
let previewTimer = 0;

// Shows the passage that a link leads to once the focus rests on it.
function previewSoon(link) {
  clearTimeout(previewTimer);
  if (wide.matches && link) previewTimer = setTimeout(() => preview(link), PREVIEW_MS);
}

async function preview(link) {
  const path = link.pathname.replace("/documents/", "/preview/") + link.search;
  const pane = document.getElementById("preview");
  if (!pane || !link.isConnected || pane.dataset.path === path) return;
  if (previewing) previewing.abort();
  previewing = new AbortController();
  try {
    await showPart(path, "preview", previewing.signal);
  } catch {
    return; // the document is still one click away
  }
  const shownPane = document.getElementById("preview");
  shownPane.dataset.path = path;
  for (const each of document.querySelectorAll(".previewed")) each.classList.remove("previewed");
  link.closest(".result")?.classList.add("previewed");
  const passage = shownPane.querySelector("#passage");
  // The picture of a page, above the text, has the passage marked.
  if (passage && !shownPane.querySelector(".page-picture")) shownPane.scrollTop = passage.offsetTop - shownPane.clientHeight / 4;
}

function previewFirst() {
  previewSoon(document.querySelector(".result .open"));
}

// Follows the focus, the clicks on excerpts and the citations of an answer.
export function startPreview() {
  document.addEventListener("shown", (event) => {
    if (event.detail === "results") previewFirst();
  });
  document.addEventListener("focusin", (event) => {
    const link = event.target.closest(".result a.open, .result a.anchor, .citations a");
    if (link) previewSoon(link);
  });
  // A picture that cannot be drawn leaves the text to itself, scrolled to the passage.
  document.addEventListener(
    "error",
    (event) => {
      if (!event.target.matches?.(".page-picture")) return;
      event.target.remove();
      document.querySelector("#preview #passage")?.scrollIntoView({ block: "center" });
    },
    true,
  );
  // The "[1]" of an answer.
  document.addEventListener("click", (event) => {
    const number = event.target.closest('.said a[href^="#cite"]');
    const link = number && document.querySelector(`${number.hash} a`);
    if (!link || !wide.matches) return;
    event.preventDefault();
    preview(link);
  });
  // A click beside the links of a passage selects it.
  document.addEventListener("click", (event) => {
    const passage = event.target.closest(".passage");
    if (!passage || event.target.closest("a, button, summary, details[open]")) return;
    if (wide.matches && !getSelection().toString()) passage.querySelector(".anchor").focus();
  });
  wide.addEventListener("change", previewFirst);
  previewFirst();
}
