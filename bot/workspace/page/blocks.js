// Block Kit to DOM nodes. A block that the page does not know is shown as its JSON, never dropped.

import { h, link } from "./dom.js";
import { mrkdwn, plain } from "./mrkdwn.js";
import { markdown, richText } from "./richtext.js";

export const textOf = (text) => (text?.type === "mrkdwn" ? mrkdwn(text.text) : plain(text?.text ?? ""));

export function renderBlocks(blocks, press) {
  return blocks.map((block) => (RENDER[block.type] ?? unknown)(block, press));
}

const RENDER = {
  section: (block, press) =>
    h("div", { class: "section" },
      h("div", { class: "grow" },
        block.text && h("div", { class: "text" }, textOf(block.text)),
        block.fields && h("div", { class: "fields" }, block.fields.map((field) => h("div", {}, textOf(field))))),
      block.accessory && element(block.accessory, press)),
  header: (block) => h("h3", { class: "header" }, textOf(block.text)),
  divider: () => h("hr"),
  context: (block, press) => h("div", { class: "context" }, block.elements.map((e) => element(e, press))),
  actions: (block, press) => h("div", { class: "actions" }, block.elements.map((e) => element(e, press))),
  image: (block) => picture(block),
  rich_text: richText,
  markdown: (block) => markdown(block.text),
  table,
  plan,
  task_card: (block) => h("ol", { class: "plan tasks" }, task(block)),
};

const unknown = (block) =>
  h("details", { class: "unknown" }, h("summary", {}, block.type), h("pre", {}, JSON.stringify(block, null, 1)));

function element(part, press) {
  if (part.type === "button") return button(part, press);
  if (part.type === "image") return h("img", { class: "small", src: source(part), alt: part.alt_text });
  return h("span", { class: "text" }, textOf(part));
}

function button(part, press) {
  if (part.url) {
    const anchor = link(part.url, textOf(part.text));
    anchor.className = "button";
    return anchor;
  }
  const styles = ["button", part.style].filter(Boolean).join(" ");
  const attributes = { class: styles, type: "button", "aria-label": part.accessibility_label, "data-action": part.action_id };
  const made = h("button", attributes, textOf(part.text));
  made.addEventListener("click", async () => {
    if (part.confirm && !(await confirmed(part.confirm))) return;
    made.disabled = true;
    made.classList.add("busy");
    const problem = await press(part);
    made.disabled = false;
    made.classList.remove("busy");
    if (problem) made.after(h("span", { class: "problem", role: "alert" }, `⚠ ${problem}`));
  });
  return made;
}

function confirmed(confirm) {
  return new Promise((resolve) => {
    const style = confirm.style === "danger" ? "button danger" : "button primary";
    const dialog = h("dialog", { class: "confirm" },
      h("form", { method: "dialog" },
        h("h3", {}, textOf(confirm.title)),
        h("div", { class: "text" }, textOf(confirm.text)),
        h("div", { class: "actions" },
          h("button", { class: "button", value: "" }, textOf(confirm.deny)),
          h("button", { class: style, value: "yes" }, textOf(confirm.confirm)))));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const source = (image) => image.image_url ?? (image.slack_file.url || `/files/${image.slack_file.id}`);

export function picture(image) {
  const src = source(image);
  const local = new URL(src, location.href).origin === location.origin;
  const shown = local
    ? h("a", { href: src, target: "_blank", rel: "noopener" }, h("img", { src, alt: image.alt_text }))
    : link(src, image.alt_text); // nothing is loaded from other sites
  return h("figure", {}, image.title && h("figcaption", {}, textOf(image.title)), shown);
}

function table(block) {
  const align = (i) => `align-${block.column_settings?.[i]?.align ?? "left"}`;
  const cell = (part, i, tag) => h(tag, { class: align(i) }, cellText(part));
  const [head, ...rows] = block.rows;
  return h("div", { class: "scroll" },
    h("table", {},
      h("thead", {}, h("tr", {}, head.map((part, i) => cell(part, i, "th")))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((part, i) => cell(part, i, "td")))))));
}

function cellText(part) {
  return part.type === "rich_text" ? richText(part) : plain(part.text);
}

const SIGNS = { pending: "", in_progress: "", complete: "✓", error: "✕" };
const SAID = { pending: "pending", in_progress: "in progress", complete: "complete", error: "failed" };

function plan(block) {
  return h("section", { class: "plan" },
    h("div", { class: "plan-title" }, plain(block.title)),
    h("ol", { class: "tasks" }, (block.tasks ?? []).map(task)));
}

function task(part) {
  const sources = (part.sources ?? []).map((s) => link(s.url, s.text ?? s.url));
  return h("li", { class: `task ${part.status}` },
    h("span", { class: "sign", role: "img", "aria-label": SAID[part.status] }, SIGNS[part.status]),
    h("div", { class: "grow" },
      h("div", { class: "task-title" }, plain(part.title)),
      part.details && h("div", { class: "task-details" }, richText(part.details)),
      part.output && h("div", { class: "task-output" }, richText(part.output)),
      sources.length > 0 && h("div", { class: "task-sources" }, sources)));
}
