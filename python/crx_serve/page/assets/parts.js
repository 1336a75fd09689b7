// Parts of the page: elements that are made here, and those that the server renders anew.

// The path of the server, which a proxy may serve below one of its own.
export const ROOT = new URL("..", import.meta.url).pathname;

// Replaces the element of this id by the one that the server sends.
export async function showPart(url, id, signal) {
  const response = await fetch(url, { signal });
  const sent = new DOMParser().parseFromString(await response.text(), "text/html");
  const part = sent.getElementById(id);
  if (!part) throw new Error(`${url}: no #${id}`);
  document.getElementById(id).replaceWith(part);
  document.dispatchEvent(new CustomEvent("shown", { detail: id }));
}

export function element(name, attributes, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
