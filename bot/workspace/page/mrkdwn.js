// Slack's mrkdwn to DOM nodes: fences, quotes, lists as typed, code, bold, italics, strike, links, mentions, dates, emoji.

import { decode, h, link } from "./dom.js";
import { channelName, personName, roster } from "./roster.js";

const INLINE = new RegExp(
  [
    "`(?<code>[^`\\n]+)`",
    "<(?<token>[^<>\\n]+)>",
    ":(?<emoji>[a-z0-9_+\\-']+):",
    "(?<![\\p{L}\\p{N}*])\\*(?<bold>[^\\s*](?:[^*\\n]*[^\\s*])?)\\*(?![\\p{L}\\p{N}*])",
    "(?<![\\p{L}\\p{N}_])_(?<italic>[^\\s_](?:[^\\n]*?[^\\s_])?)_(?![\\p{L}\\p{N}_])",
    "(?<![\\p{L}\\p{N}~])~(?<strike>[^\\s~](?:[^~\\n]*[^\\s~])?)~(?![\\p{L}\\p{N}~])",
    "(?<url>https?://[^\\s<>]+[^\\s<>.,;:!?)\\]])",
    "(?<bar>[█▓▒░]{4,})",
  ].join("|"),
  "gu",
);

export function mrkdwn(text) {
  const nodes = [];
  text.split(/```\n?([\s\S]*?)\n?```/).forEach((part, i) => {
    if (i % 2) nodes.push(h("pre", {}, decode(part)));
    else if (part) nodes.push(...lines(i ? part.replace(/^\n/, "") : part));
  });
  return nodes;
}

function lines(text) {
  const nodes = [];
  let quote = [];
  const flush = () => {
    if (quote.length) nodes.push(h("blockquote", {}, ...withBreaks(quote)));
    quote = [];
  };
  let plain = [];
  const flushPlain = () => {
    if (plain.length) nodes.push(...withBreaks(plain));
    plain = [];
  };
  for (const line of text.split("\n")) {
    const quoted = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if (quoted) {
      flushPlain();
      quote.push(quoted[1]);
    } else {
      if (quote.length) flush();
      plain.push(line);
    }
  }
  flush();
  flushPlain();
  return nodes;
}

const withBreaks = (rows) => rows.flatMap((row, i) => (i ? [h("br"), ...inline(row)] : inline(row)));

export function inline(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const node = element(match.groups, match[0]);
    if (node === null) continue;
    nodes.push(decode(text.slice(end, match.index)), node);
    end = match.index + match[0].length;
  }
  nodes.push(decode(text.slice(end)));
  return nodes.filter((node) => node !== "");
}

function element(found, whole) {
  if (found.code !== undefined) return h("code", {}, decode(found.code).split(/([█▓▒░]{4,})/).map((s, i) => (i % 2 ? bar(s) : s)));
  if (found.token !== undefined) return token(found.token) ?? whole;
  if (found.emoji !== undefined) return emoji(found.emoji);
  if (found.bold !== undefined) return h("strong", {}, ...inline(found.bold));
  if (found.italic !== undefined) return h("em", {}, ...inline(found.italic));
  if (found.strike !== undefined) return h("del", {}, ...inline(found.strike));
  if (found.url !== undefined) return link(decode(found.url), decode(found.url));
  return bar(found.bar);
}

export function emoji(name) {
  const sign = roster.emoji[name];
  return sign ? h("span", { class: "emoji", role: "img", "aria-label": name, title: `:${name}:` }, sign) : null;
}

const bar = (text) => {
  const full = /^█*/.exec(text)[0];
  return h("span", { class: "bar" }, h("b", {}, full), text.slice(full.length));
};

export const mention = (label, mine = false) => h("span", { class: mine ? "mention mine" : "mention" }, label);

function token(body) {
  const [target, label] = body.split("|", 2);
  const me = document.documentElement.dataset.me;
  if (target.startsWith("@")) return mention(`@${personName(target.slice(1))}`, target.slice(1) === me);
  if (target.startsWith("#")) return mention(`#${channelName(target.slice(1))}`);
  if (target.startsWith("!subteam^")) {
    const group = roster.groups.get(target.slice(9));
    return mention(`@${group?.handle ?? label ?? target.slice(9)}`, group?.members.includes(me));
  }
  if (target.startsWith("!date^")) return date(target, label);
  if (target.startsWith("!")) return mention(`@${target.slice(1)}`, true);
  if (/^(https?:|mailto:)/.test(target)) return link(decode(target), decode(label ?? target));
  return null;
}

const DAY = { year: "numeric", month: "short", day: "numeric" };

function date(target, fallback) {
  const [, seconds, format = ""] = target.split("^");
  const at = new Date(Number(seconds) * 1000);
  if (Number.isNaN(at.valueOf())) return fallback ?? null;
  const clock = { hour: "2-digit", minute: "2-digit", hour12: false };
  const words = {
    date_num: at.toISOString().slice(0, 10),
    date: at.toLocaleDateString("en", { ...DAY, month: "long" }),
    date_long: at.toLocaleDateString("en", { ...DAY, month: "long", weekday: "long" }),
    date_short: at.toLocaleDateString("en", DAY),
    date_pretty: pretty(at, { ...DAY, month: "long" }),
    date_short_pretty: pretty(at, DAY),
    date_long_pretty: pretty(at, { ...DAY, month: "long", weekday: "long" }),
    time: at.toLocaleTimeString("en", clock),
    time_secs: at.toLocaleTimeString("en", { ...clock, second: "2-digit" }),
    ago: ago(at),
  };
  const text = format.replace(/\{(\w+)\}/g, (whole, name) => words[name] ?? whole);
  return h("time", { datetime: at.toISOString(), title: at.toString() }, decode(text));
}

function pretty(at, style) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  const names = { 0: "today", 1: "yesterday", "-1": "tomorrow" };
  return names[days] ?? at.toLocaleDateString("en", style);
}

export function ago(at) {
  const seconds = Math.round((Date.now() - at) / 1000);
  const units = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  if (unit === "second" && seconds < 45) return "just now";
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(seconds / size), unit);
}

export const plain = (text) =>
  text.split(/(:[a-z0-9_+\-']+:)/).map((part) => (part.length > 2 && emoji(part.slice(1, -1))) || decode(part));

