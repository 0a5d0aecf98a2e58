// One message as a row: face, name, time, content, files, reactions, thread summary and what its reader may do.

import { picture, renderBlocks } from "./blocks.js";
import { h, link } from "./dom.js";
import { ago, emoji, mrkdwn } from "./mrkdwn.js";
import { BOT, face, personName, roster } from "./roster.js";

export const timeOf = (ts) => new Date(Number(ts) * 1000);
export const clock = (at) => at.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });

// `doing` holds the page's verbs: openThread, react, edit, remove, press.
export function renderMessage(message, { me, compact, inThread, parent }, doing) {
  const at = timeOf(message.ts);
  const classes = ["message", compact && "compact", message.is_ephemeral && "ephemeral"].filter(Boolean).join(" ");
  return h("article", { class: classes, "data-ts": message.ts, "aria-label": `${personName(message.user)}, ${clock(at)}` },
    h("div", { class: "gutter" }, compact ? h("time", {}, clock(at)) : face(message.user)),
    h("div", { class: "body" },
      message.is_ephemeral && h("div", { class: "only-you" }, "◉ Only visible to you"),
      message.subtype === "thread_broadcast" && !inThread && broadcastNote(message, parent, doing),
      !compact && byline(message, at),
      content(message, doing),
      files(message),
      reactions(message, me, doing),
      !inThread && message.reply_count > 0 && summary(message, doing)),
    !message.is_ephemeral && message.subtype !== "tombstone" && tools(message, me, inThread, doing));
}

function byline(message, at) {
  return h("div", { class: "byline" },
    h("strong", {}, personName(message.user)),
    message.user === BOT && h("span", { class: "badge" }, "APP"),
    h("time", { datetime: at.toISOString(), title: at.toLocaleString("en") }, clock(at)));
}

function broadcastNote(message, parent, doing) {
  const said = parent ? (parent.text || "a message").replace(/[*_~`]/g, "").slice(0, 60) : "a thread";
  const open = () => doing.openThread(message.thread_ts);
  return h("div", { class: "broadcast" }, "replied to a thread: ",
    h("button", { class: "link", type: "button", onclick: open }, mrkdwn(said.split("\n")[0])));
}

function content(message, doing) {
  const press = (button) => doing.press(message, button);
  const edited = message.edited && h("span", { class: "edited", title: timeOf(message.edited.ts).toLocaleString("en") }, "(edited)");
  if (message.subtype === "tombstone") return h("div", { class: "content gone" }, message.text);
  if (!message.blocks?.length) return h("div", { class: "content text" }, mrkdwn(message.text), edited && " ", edited);
  return h("div", { class: "content" }, renderBlocks(message.blocks, press), edited);
}

function files(message) {
  return (message.files ?? []).map((file) => {
    const image = { image_url: `/files/${file.id}`, alt_text: file.title, title: { type: "plain_text", text: file.title } };
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.mimetype)) return picture(image);
    return h("div", { class: "file" }, "📄 ", link(file.url_private, file.title), ` ${Math.ceil(file.size / 1024)} KB`);
  });
}

function reactions(message, me, doing) {
  if (!message.reactions?.length) return null;
  return h("div", { class: "reactions" }, message.reactions.map((reaction) => {
    const mine = reaction.users.includes(me);
    const title = `${reaction.users.map(personName).join(", ")} reacted with :${reaction.name}:`;
    const onclick = () => doing.react(message, reaction.name, mine);
    return h("button", { class: mine ? "reaction mine" : "reaction", type: "button", title, "aria-pressed": mine ? "true" : "false", onclick },
      emoji(reaction.name) ?? `:${reaction.name}:`, h("span", {}, reaction.count));
  }));
}

function summary(message, doing) {
  const count = message.reply_count === 1 ? "1 reply" : `${message.reply_count} replies`;
  const open = () => doing.openThread(message.ts);
  return h("button", { class: "summary", type: "button", onclick: open },
    (message.reply_users ?? []).map((user) => face(user, 22)),
    h("b", {}, count),
    h("span", {}, `Last reply ${ago(timeOf(message.latest_reply))}`));
}

function tools(message, me, inThread, doing) {
  const tool = (label, sign, onclick) => h("button", { class: "icon", type: "button", title: label, "aria-label": label, onclick }, sign);
  const mine = message.user === me;
  return h("div", { class: "tools" },
    ["eyes", "white_check_mark"].map((name) => tool(`React with ${name}`, roster.emoji[name], () => doing.react(message, name, false))),
    !inThread && tool("Reply in thread", "💬", () => doing.openThread(message.thread_ts ?? message.ts)),
    mine && tool("Edit message", "✏️", () => doing.edit(message)),
    mine && tool("Delete message", "🗑️", () => doing.remove(message)));
}
