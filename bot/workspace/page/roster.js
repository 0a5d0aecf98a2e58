// People, channels and groups as the page knows them, the emoji list, and calls to the control plane.

import { h } from "./dom.js";

export const roster = { people: new Map(), channels: new Map(), groups: new Map(), emoji: {} };
export const BOT = "U0BOT";

export async function look(path) {
  const response = await fetch(`/control/${path}`);
  if (!response.ok) throw new Error((await response.json()).error);
  return response.json();
}

export async function act(name, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`/control/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.replaceAll("_", " "));
  return answer;
}

export async function loadRoster() {
  const found = await look("roster");
  for (const key of ["people", "channels", "groups"]) {
    roster[key] = new Map(found[key].map((one) => [one.id, one]));
  }
}

export async function loadEmoji() {
  roster.emoji = await (await fetch("/page/emoji.json")).json();
}

export const personName = (id) => roster.people.get(id)?.profile.display_name ?? (id === "USLACKBOT" ? "deleted" : id);

export const channelName = (id) => {
  const channel = roster.channels.get(id);
  return channel ? channel.name : id;
};

// golden-angle steps keep neighbours in the roster apart
const hue = (id) => Math.round(24 + [...roster.people.keys()].indexOf(id) * 137.5) % 360;

export function face(id, size = 36) {
  const name = roster.people.get(id)?.real_name ?? "?";
  const initials = name.split(/\s+/).map((word) => word[0]).slice(0, 2).join("");
  const element = id === BOT
    ? h("img", { class: "face", src: "/page/icon.svg", alt: "" })
    : h("span", { class: "face", "aria-hidden": "true" }, initials);
  element.style.setProperty("--hue", hue(id));
  element.style.setProperty("--size", `${size}px`);
  return element;
}
