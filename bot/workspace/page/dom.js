// Building elements: strings only ever become text nodes, so nothing that people or hosts say is read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

export const $ = (id) => document.getElementById(id);

const SAFE = /^(https?:|mailto:)/i;

export function link(href, ...children) {
  if (!SAFE.test(href)) return h("span", {}, ...children);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

export const decode = (text) => text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]);
