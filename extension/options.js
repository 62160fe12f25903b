"use strict";

const [form, address, token, said] = ["form", "address", "token", "said"].map((id) =>
  document.getElementById(id),
);
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

async function save() {
  const given = new URL(address.value.trim());
  if (!["http:", "https:"].includes(given.protocol) || given.username) {
    return "Give an address such as http://127.0.0.1:8000.";
  }
  if (given.protocol === "http:" && token.value && !LOOPBACK.has(given.hostname)) {
    return "Everybody on the way could read the token. Use an https address.";
  }
  const origins = [`${given.protocol}//${given.hostname}/*`];
  if (!(await chrome.permissions.request({ origins }))) {
    return "Without this permission the extension cannot ask the service.";
  }
  const before = await chrome.storage.local.get("address");
  const kept = `${given.origin}${given.pathname}`.replace(/\/+$/, "");
  await chrome.storage.local.set({ address: kept, token: token.value.trim() });
  if (before.address && new URL(before.address).hostname !== given.hostname) {
    const old = new URL(before.address);
    await chrome.permissions.remove({ origins: [`${old.protocol}//${old.hostname}/*`] });
  }
  const { answer, error } = await chrome.runtime.sendMessage({ kind: "test" });
  return answer ? `Saved. Checked videos: ${answer.total}.` : `Saved, but: ${error}`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    said.textContent = await save();
  } catch (error) {
    said.textContent = error.message;
  }
});

chrome.storage.local.get(["address", "token"]).then((kept) => {
  address.value ||= kept.address ?? "";
  token.value ||= kept.token ?? "";
});
