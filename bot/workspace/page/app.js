// The page: what is shown, where it comes from, and what happens when something changes.

import { fromSlack, makeComposer, toSlack } from "./composer.js";
import { $, h } from "./dom.js";
import { renderMessage, timeOf } from "./message.js";
import { BOT, act, face, loadEmoji, loadRoster, look, personName, roster } from "./roster.js";

const store = { messages: new Map(), ephemerals: new Map(), seq: 0, unread: new Set(), connections: 0 };
const place = { me: "", channel: "", thread: "" };
const shown = new WeakMap(); // list element -> Map(ts -> {signature, element})

const say = (text) => {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => ($("toast").hidden = true), 5000);
};

const tryTo = async (work) => {
  try {
    await work();
    return true;
  } catch (error) {
    say(`Not done: ${error.message}`);
    return false;
  }
};

// ---- data ---------------------------------------------------------------------------------------

const messagesOf = (channel) => {
  if (!store.messages.has(channel)) store.messages.set(channel, new Map());
  return store.messages.get(channel);
};

async function load() {
  await loadRoster();
  const found = await Promise.all([...roster.channels.keys()].map((id) => look(`messages?channel=${id}`)));
  store.messages.clear();
  store.seq = Math.min(...found.map((one) => one.seq));
  for (const { messages } of found) for (const m of messages) messagesOf(m.channel).set(m.ts, m);
  store.ephemerals = new Map((await look("ephemerals")).messages.map((m) => [m.ts, m]));
  store.connections = (await look("counters")).connections;
  if (place.thread) await loadThread();
}

async function loadThread() {
  const { messages } = await look(`thread?channel=${place.channel}&ts=${place.thread}`);
  for (const m of messages) messagesOf(m.channel).set(m.ts, m);
}

function listen() {
  const stream = new EventSource(`/control/stream?since=${store.seq}`);
  stream.onmessage = ({ data }) => take(JSON.parse(data));
  stream.onerror = () => {
    stream.close(); // the server may have been restarted: start from what it has now
    setTimeout(async () => ((await tryTo(load)) ? (render(), listen()) : listen()), 1500);
  };
}

async function take(change) {
  store.seq = change.seq;
  if (change.kind === "message") {
    const isNew = !messagesOf(change.channel).has(change.message.ts);
    messagesOf(change.channel).set(change.message.ts, change.message);
    if (isNew && change.message.user !== place.me && (change.channel !== place.channel || document.hidden)) {
      store.unread.add(change.channel);
    }
  } else if (change.kind === "deleted") messagesOf(change.channel).delete(change.ts);
  else if (change.kind === "ephemeral") store.ephemerals.set(change.message.ts, change.message);
  else if (change.kind === "ephemeral_deleted") store.ephemerals.delete(change.ts);
  else if (change.kind === "connections") store.connections = change.count;
  else if (change.kind === "roster") await loadRoster();
  else if (change.kind === "reload") await load();
  render();
}

// ---- what people do -----------------------------------------------------------------------------

const doing = {
  openThread: (ts) => (location.hash = `#/${place.channel}/${ts}`),
  react: (message, name, remove) => tryTo(() => act("react", { ...at(message), name, remove })),
  remove: (message) => tryTo(() => act("delete", at(message))),
  edit: (message) => startEdit(message),
  async press(message, button) {
    try {
      const { acked } = await act("click", { ...at(message), action_id: button.action_id, value: button.value });
      return acked[0] ? "" : "Pointsman did not answer in time";
    } catch (error) {
      return error.message;
    }
  },
};

const at = (message) => ({ channel: message.channel, ts: message.ts, user: place.me });

function startEdit(message) {
  const row = document.querySelector(`article[data-ts="${message.ts}"] .content`);
  const area = h("textarea", { rows: 2, "aria-label": "Edit message" });
  area.value = fromSlack(message.text);
  const stop = () => {
    shown.get($("messages"))?.delete(message.ts);
    shown.get($("replies"))?.delete(message.ts);
    render();
  };
  const save = async () => (await tryTo(() => act("edit", { ...at(message), text: toSlack(area.value.trim()) }))) && stop();
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stop();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    }
  });
  const buttons = h("div", { class: "actions" },
    h("button", { class: "button", type: "button", onclick: stop }, "Cancel"),
    h("button", { class: "button primary", type: "button", onclick: save }, "Save"));
  row.replaceChildren(h("div", { class: "editing" }, area, buttons));
  area.focus();
}

const editLast = (messages) => {
  const mine = messages.filter((m) => m.user === place.me && !m.is_ephemeral).at(-1);
  if (mine) startEdit(mine);
};

// ---- what is shown ------------------------------------------------------------------------------

const isReply = (m) => m.thread_ts && m.thread_ts !== m.ts;
const mineOnly = () => [...store.ephemerals.values()].filter((m) => m.visible_to === place.me && m.channel === place.channel);
const inOrder = (messages) => messages.sort((a, b) => (a.ts < b.ts ? -1 : 1));

const roots = () => inOrder([
  ...[...messagesOf(place.channel).values()].filter((m) => !isReply(m) || m.subtype === "thread_broadcast"),
  ...mineOnly().filter((m) => !m.thread_ts || !messagesOf(place.channel).has(m.thread_ts)),
]);

const replies = () => inOrder([
  ...[...messagesOf(place.channel).values()].filter((m) => m.ts === place.thread || m.thread_ts === place.thread),
  ...mineOnly().filter((m) => m.thread_ts === place.thread),
]);

function dayOf(ts) {
  const date = timeOf(ts);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 86_400_000);
  return ["Today", "Yesterday"][days] ?? date.toLocaleDateString("en", { weekday: "long", month: "long", day: "numeric" });
}

// Rows whose message did not change keep their element, so focus, selection and open menus survive an update.
function renderList(list, messages, inThread) {
  const before = shown.get(list) ?? new Map();
  const after = new Map();
  const nearEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const rows = [];
  let previous = null;
  for (const message of messages) {
    const day = dayOf(message.ts);
    if (!inThread && (!previous || dayOf(previous.ts) !== day)) rows.push(h("div", { class: "day" }, h("span", {}, day)));
    const close = previous && previous.user === message.user && message.ts - previous.ts < 300;
    const compact = Boolean(close && !message.is_ephemeral && !previous.is_ephemeral && !message.subtype && !(inThread && previous.ts === place.thread));
    const parent = messagesOf(place.channel).get(message.thread_ts);
    const view = { me: place.me, compact, inThread, parent };
    const signature = JSON.stringify([message, place.me, compact]);
    const kept = before.get(message.ts);
    const element = kept?.signature === signature ? kept.element : renderMessage(message, view, doing);
    after.set(message.ts, { signature, element });
    rows.push(element);
    if (inThread && message.ts === place.thread) rows.push(threadRule(message));
    previous = message;
  }
  shown.set(list, after);
  list.replaceChildren(...rows);
  const grew = after.size > before.size;
  if (nearEnd || before.size === 0) {
    const toEnd = () => (list.scrollTop = list.scrollHeight);
    toEnd();
    for (const image of list.querySelectorAll("img")) if (!image.complete) image.addEventListener("load", toEnd, { once: true });
  }
  else if (grew && !inThread) $("newer").hidden = false;
}

const threadRule = (parent) => {
  const count = parent.reply_count ?? 0;
  return h("div", { class: "rule" }, h("span", {}, count === 1 ? "1 reply" : `${count} replies`));
};

function render() {
  document.documentElement.dataset.me = place.me;
  const channel = roster.channels.get(place.channel);
  const name = channel.direct ? otherSide(channel) : channel.name;
  store.unread.delete(document.hidden ? "" : place.channel);
  document.title = `${store.unread.size ? "● " : ""}${channel.direct ? "" : "#"}${name}`;
  $("room-name").textContent = channel.direct ? name : `# ${name}`;
  $("room-topic").textContent = channel.topic;
  $("room-members").replaceChildren(...channel.members.map((id) => face(id, 24)), h("span", {}, channel.members.length));
  $("presence").textContent = store.connections ? "pointsman is connected" : "pointsman is offline";
  $("presence").classList.toggle("on", store.connections > 0);
  renderSide();
  renderList($("messages"), roots(), false);
  $("thread").hidden = !place.thread;
  document.body.classList.toggle("threaded", Boolean(place.thread));
  if (place.thread) {
    $("thread-room").textContent = channel.direct ? name : `# ${name}`;
    renderList($("replies"), replies(), true);
  }
}

const otherSide = (channel) => (channel.direct === place.me ? personName(BOT) : personName(channel.direct));

function renderSide() {
  const row = (channel, label, mark) => {
    const current = channel.id === place.channel;
    const classes = [current && "current", store.unread.has(channel.id) && "unread"].filter(Boolean).join(" ");
    return h("li", {}, h("a", { href: `#/${channel.id}`, class: classes, "aria-current": current ? "page" : null }, mark, label));
  };
  const mine = [...roster.channels.values()].filter((c) => c.members.includes(place.me));
  $("channels").replaceChildren(...mine.filter((c) => !c.direct).map((c) => row(c, c.name, h("span", { class: "hash" }, "#"))));
  $("directs").replaceChildren(...mine.filter((c) => c.direct).map((c) => row(c, otherSide(c), face(BOT, 20))));
  $("me-face").replaceChildren(face(place.me, 32));
}

// ---- moving about -------------------------------------------------------------------------------

async function go() {
  const [, channel, thread] = location.hash.split("/");
  const mine = [...roster.channels.values()].filter((c) => c.members.includes(place.me));
  const known = mine.find((c) => c.id === channel);
  const moved = place.channel !== (known ?? mine[0]).id;
  place.channel = (known ?? mine[0]).id;
  place.thread = known && /^\d+\.\d+$/.test(thread ?? "") ? thread : "";
  if (place.thread) await tryTo(loadThread);
  if (moved) shown.delete($("messages"));
  shown.delete($("replies"));
  render();
  makeComposers();
  $("newer").hidden = true;
}

function makeComposers() {
  const channel = roster.channels.get(place.channel);
  const label = channel.direct ? otherSide(channel) : `#${channel.name}`;
  const post = (more) => (text, also) =>
    tryTo(() => act("post", { channel: place.channel, user: place.me, text, reply_broadcast: also, ...more }));
  const main = makeComposer({ label: `Message ${label}`, send: post({}), onUp: () => editLast(roots()) });
  $("composer").replaceChildren(main.form);
  if (place.thread) {
    const also = channel.direct ? "" : `Also send to ${label}`;
    const send = post({ thread_ts: place.thread });
    const reply = makeComposer({ label: "Reply…", send, also, onUp: () => editLast(replies()) });
    $("thread-composer").replaceChildren(reply.form);
  }
  (place.thread ? $("thread-composer") : $("composer")).querySelector("textarea").focus({ preventScroll: true });
}

async function become(user) {
  place.me = user;
  localStorage.setItem("me", user);
  if (![...roster.channels.values()].some((c) => c.direct === user)) await act("direct", { user });
  await loadRoster();
  await go();
}

async function start() {
  await loadEmoji();
  await load();
  const people = [...roster.people.values()].filter((p) => !p.is_bot);
  $("me").replaceChildren(...people.map((p) => h("option", { value: p.id }, `${p.real_name} · ${p.profile.title}`)));
  const asks = new URLSearchParams(location.search);
  const asked = asks.get("as") ?? localStorage.getItem("me");
  $("me").value = roster.people.has(asked) ? asked : people[0].id;
  $("me").addEventListener("change", () => become($("me").value));
  $("thread-close").addEventListener("click", () => (location.hash = `#/${place.channel}`));
  $("newer").addEventListener("click", () => ($("messages").scrollTop = $("messages").scrollHeight));
  $("messages").addEventListener("scroll", ({ target }) => {
    if (target.scrollHeight - target.scrollTop - target.clientHeight < 80) $("newer").hidden = true;
  });
  addEventListener("hashchange", go);
  addEventListener("visibilitychange", render);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && place.thread && !event.target.closest(".editing, dialog")) location.hash = `#/${place.channel}`;
  });
  await become($("me").value);
  if (!asks.has("still")) listen(); // a picture taken under virtual time would wait for ever for an open stream
}

start();
