// The only part that knows the token and sends requests. It sends them to the user's address alone.
"use strict";

const VIDEO_ID = /^[\w-]{11}$/;
const RUN_ID = /^[0-9a-f-]{36}$/;

// Content scripts run inside other sites' pages, so they may not read the token.
chrome.storage.local.setAccessLevel({ accessLevel: "TRUSTED_CONTEXTS" });

async function ask(path, body) {
  const { address, token } = await chrome.storage.local.get(["address", "token"]);
  if (!address) return { isUnset: true };
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const request = { headers, credentials: "omit", cache: "no-store", redirect: "error" };
  if (body) Object.assign(request, { method: "POST", body: JSON.stringify(body) });
  try {
    const response = await fetch(address + path, request);
    const answer = await response.json();
    if (response.ok) return { address, answer };
    return { address, status: response.status, error: answer.detail };
  } catch {
    return { address, error: `There is no service at ${address}. Start it: factible serve` };
  }
}

const QUESTIONS = {
  results: ({ videoId }) => ask(`/api/v1/videos/${videoId}`),
  check: ({ videoId }) =>
    ask("/api/v1/fact-check", { video_url: `https://www.youtube.com/watch?v=${videoId}` }),
  run: ({ runId }) => ask(`/api/v1/runs/${runId}`),
  test: () => ask("/api/v1/videos?limit=1"),
  options: () => chrome.runtime.openOptionsPage(),
};

chrome.runtime.onMessage.addListener((message, sender, reply) => {
  const { kind, videoId = "-----------", runId = "-".repeat(36) } = message;
  const isSound = Object.hasOwn(QUESTIONS, kind) && VIDEO_ID.test(videoId) && RUN_ID.test(runId);
  if (sender.id !== chrome.runtime.id || !isSound) return false;
  QUESTIONS[kind]({ videoId, runId }).then(reply);
  return true; // The reply comes later.
});

chrome.action.onClicked.addListener(() => chrome.runtime.openOptionsPage());
