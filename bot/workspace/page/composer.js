// The box to type in: Enter sends, Shift-Enter makes a new line, Up edits the last own message.

import { h } from "./dom.js";
import { roster } from "./roster.js";

// What people type becomes what Slack sends: entities escaped, names as tokens.
export function toSlack(typed) {
  const people = [...roster.people.values()].map((p) => [`@${p.profile.display_name}`, `<@${p.id}>`]);
  const groups = [...roster.groups.values()].map((g) => [`@${g.handle}`, `<!subteam^${g.id}>`]);
  const channels = [...roster.channels.values()].filter((c) => !c.direct).map((c) => [`#${c.name}`, `<#${c.id}>`]);
  const tokens = new Map([...people, ...groups, ...channels, ["@here", "<!here>"], ["@channel", "<!channel>"]]);
  const escaped = typed.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return escaped
    .replace(/(?<![\w@#])[@#][\w-]+/g, (word) => tokens.get(word) ?? word)
    .replace(/(?<![\w<|])https?:\/\/[^\s<>|]+/g, "<$&>");
}

// The way back, for editing.
export function fromSlack(text) {
  return text
    .replace(/<@(\w+)>/g, (_, id) => `@${roster.people.get(id)?.profile.display_name ?? id}`)
    .replace(/<!subteam\^(\w+)[^>]*>/g, (_, id) => `@${roster.groups.get(id)?.handle ?? id}`)
    .replace(/<#(\w+)[^>]*>/g, (_, id) => `#${roster.channels.get(id)?.name ?? id}`)
    .replace(/<!(here|channel)>/g, "@$1")
    .replace(/<(https?:[^>|]+)[^>]*>/g, "$1")
    .replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

export function makeComposer({ label, send, also, onUp }) {
  const box = h("textarea", { rows: 1, placeholder: label, "aria-label": label, spellcheck: "true" });
  const check = also && h("input", { type: "checkbox" });
  const button = h("button", { class: "send", type: "submit", "aria-label": "Send" }, "➤");
  const form = h("form", { class: "composer" },
    h("div", { class: "box" }, box, button),
    h("div", { class: "hint" },
      also ? h("label", {}, check, ` ${also}`) : h("span", {}, ""),
      h("span", { class: "keys" }, "Enter to send · Shift+Enter for a new line")));
  const grow = () => {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 220)}px`;
    form.classList.toggle("full", box.value.trim() !== "");
  };
  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
    if (event.key === "ArrowUp" && box.value === "" && onUp) {
      event.preventDefault();
      onUp();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = box.value.trim();
    if (!typed) return;
    box.value = "";
    grow();
    if (!(await send(toSlack(typed), Boolean(check?.checked)))) box.value = typed;
    if (check) check.checked = false;
    grow();
  });
  return { form, box, grow };
}
