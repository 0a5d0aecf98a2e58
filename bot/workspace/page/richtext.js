// rich_text blocks to DOM nodes, and the standard Markdown of markdown blocks (the part that cards use).

import { h, link } from "./dom.js";
import { emoji, inline, mention } from "./mrkdwn.js";
import { channelName, personName, roster } from "./roster.js";

const STYLES = { bold: "strong", italic: "em", strike: "del", code: "code" };

export const richText = (block) => h("div", { class: "rich" }, block.elements.map(container));

function container(element) {
  const inner = () => element.elements.map(leaf);
  switch (element.type) {
    case "rich_text_list": {
      const items = element.elements.map((item) => h("li", {}, item.elements.map(leaf)));
      const list = h(element.style === "ordered" ? "ol" : "ul", {}, items);
      list.style.marginInlineStart = `${(element.indent ?? 0) * 1.5}em`;
      return list;
    }
    case "rich_text_quote":
      return h("blockquote", {}, inner());
    case "rich_text_preformatted":
      return h("pre", {}, inner());
    default:
      return h("div", {}, inner());
  }
}

function leaf(element) {
  switch (element.type) {
    case "text": {
      const rows = element.text.split("\n").flatMap((row, i) => (i ? [h("br"), row] : [row]));
      const on = Object.keys(STYLES).filter((style) => element.style?.[style]);
      return on.reduce((nodes, style) => [h(STYLES[style], {}, nodes)], rows);
    }
    case "link":
      return link(element.url, element.text ?? element.url);
    case "user":
      return mention(`@${personName(element.user_id)}`);
    case "usergroup":
      return mention(`@${roster.groups.get(element.usergroup_id)?.handle ?? element.usergroup_id}`);
    case "channel":
      return mention(`#${channelName(element.channel_id)}`);
    case "broadcast":
      return mention(`@${element.range}`);
    case "emoji":
      return emoji(element.name) ?? `:${element.name}:`;
    default:
      return element.fallback ?? element.text ?? "";
  }
}

export function markdown(text) {
  const nodes = [];
  text.split(/```[^\n]*\n([\s\S]*?)```/).forEach((part, i) => {
    if (i % 2) nodes.push(h("pre", {}, part.replace(/\n$/, "")));
    else part.split(/\n{2,}/).filter((p) => p.trim()).forEach((p) => nodes.push(paragraph(p.trim())));
  });
  return h("div", { class: "rich markdown" }, nodes);
}

function paragraph(text) {
  const rows = text.split("\n");
  const heading = /^#{1,6} (.*)$/.exec(rows[0]);
  if (heading && rows.length === 1) return h("h4", {}, span(heading[1]));
  if (heading) return [paragraph(rows[0]), paragraph(rows.slice(1).join("\n"))];
  if (rows.every((row) => /^\s*[-*] /.test(row))) return h("ul", {}, rows.map((row) => h("li", {}, span(row.trim().slice(2)))));
  if (rows.every((row) => /^\s*\d+\. /.test(row))) return h("ol", {}, rows.map((row) => h("li", {}, span(row.replace(/^\s*\d+\. /, "")))));
  if (rows.every((row) => row.startsWith(">"))) return h("blockquote", {}, span(rows.map((r) => r.replace(/^> ?/, "")).join("\n")));
  if (rows.length > 1 && rows.every((row) => row.startsWith("|")) && /^\|[\s:|-]+\|$/.test(rows[1])) return markdownTable(rows);
  return h("p", {}, rows.flatMap((row, i) => (i ? [h("br"), span(row)] : [span(row)])));
}

function markdownTable(rows) {
  const cells = (row) => row.split("|").slice(1, -1).map((cell) => span(cell.trim()));
  const [head, , ...body] = rows;
  const line = (row, tag) => h("tr", {}, cells(row).map((cell) => h(tag, {}, cell)));
  return h("table", {}, h("thead", {}, line(head, "th")), h("tbody", {}, body.map((row) => line(row, "td"))));
}

// the inline marks of Markdown that differ from mrkdwn, brought into its form
function span(text) {
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const code = escaped.split(/(`[^`]+`)/).map((part, i) => (i % 2 ? part : part
    .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, "<$2|$1>")
    .replace(/\*\*(.+?)\*\*/g, "\u0001$1\u0001")
    .replace(/(?<![\w*])\*(?!\s)([^*\n]+?)\*(?![\w*])/g, "_$1_")
    .replace(/~~(.+?)~~/g, "~$1~")
    .replaceAll("\u0001", "*")));
  return inline(code.join(""));
}
