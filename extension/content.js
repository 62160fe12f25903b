// Lists the verdicts beside a YouTube video, and marks its claims on the player's bar.
// Texts from the service come from videos and web pages: they become text nodes, never markup.
"use strict";

(() => {
  const POLL_MILLISECONDS = 3000;
  const STYLE = `
    :host { all: initial; font: 14px/1.45 Roboto, Arial, sans-serif; display: block; }
    .panel { margin: 0 0 16px; padding: 12px 16px; border: 1px solid #8886; border-radius: 12px;
      color: light-dark(#0f0f0f, #f1f1f1); background: light-dark(#fff, #181818); }
    h2 { margin: 0 0 4px; font-size: 16px; }
    p { margin: 4px 0; }
    ol { max-height: 60vh; margin: 8px 0 0; padding: 0; overflow-y: auto; list-style: none; }
    li { padding: 8px 0; border-top: 1px solid #8884; }
    a, .time { color: light-dark(#065fd4, #6cb2ff); }
    button { font: inherit; cursor: pointer; }
    .time { padding: 0 6px 0 0; border: 0; background: none; font-variant-numeric: tabular-nums; }
    .action { padding: 6px 14px; border: 1px solid currentColor; border-radius: 18px;
      color: inherit; background: none; }
    .soft { color: light-dark(#555, #aaa); }
    .badge { font-weight: 700; color: light-dark(var(--light, #4f5a63), var(--dark, #aab5be)); }
    .bar { position: absolute; inset: 0; z-index: 60; pointer-events: none; }
    .mark { position: absolute; bottom: -2px; width: 6px; height: 12px; margin-left: -3px;
      padding: 0; border: 1px solid #000; border-radius: 2px; background: var(--dark, #aab5be);
      pointer-events: auto; }
    .mark.refutes { height: 18px; }
    :focus-visible { outline: 2px solid #6cb2ff; outline-offset: 1px; }`;

  let shown = null; // The id of the video whose verdicts are shown.
  let timer;

  function make(name, { text, ...attributes } = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    element.append(...children.filter(Boolean));
    return element;
  }

  function link(text, href) {
    return make("a", { text, href, target: "_blank", rel: "noopener noreferrer" });
  }

  function action(text, act) {
    const button = make("button", { text, type: "button", class: "action" });
    button.addEventListener("click", act);
    return make("p", {}, button);
  }

  // Put content under a shadow root, where the page's styles do not reach, into a place of the page.
  function put(id, place, content) {
    let host = document.getElementById(id);
    if (!host) {
      host = make("div", { id });
      const root = host.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
    }
    if (host.parentElement !== place) place.prepend(host);
    // YouTube has its own switch for dark pages.
    host.style.colorScheme = document.documentElement.hasAttribute("dark") ? "dark" : "light";
    host.shadowRoot.replaceChildren(content);
  }

  function remove() {
    clearTimeout(timer);
    for (const id of ["factible-panel", "factible-marks"]) document.getElementById(id)?.remove();
  }

  // YouTube builds its page bit by bit.
  function whenThere(selector) {
    return new Promise((resolve) => {
      const look = () => {
        const found = document.querySelector(selector);
        if (found) {
          observer.disconnect();
          resolve(found);
        }
      };
      const observer = new MutationObserver(look);
      observer.observe(document.documentElement, { childList: true, subtree: true });
      look();
    });
  }

  async function panel(videoId, ...content) {
    const place = await whenThere("ytd-watch-flexy #secondary");
    if (videoId !== shown) return;
    const heading = make("h2", { text: "Fact-check" });
    const frame = { class: "panel", "aria-label": "Fact-check of this video", role: "region" };
    put("factible-panel", place, make("section", frame, heading, ...content));
  }

  function clock(seconds) {
    const whole = Math.floor(seconds);
    const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const [hours, ...rest] = parts.map((each) => String(each).padStart(2, "0"));
    return (parts[0] ? `${Number(hours)}:${rest.join(":")}` : rest.join(":")).replace(/^0(?=\d)/, "");
  }

  // The service gives the words and colours of its own pages.
  function judged({ verdict, ruling }, outcomes) {
    if (ruling?.value) {
      return { kind: ruling.stance ?? "unclear", words: `${ruling.value}, signed by ${ruling.reviewer}`, why: ruling.reason };
    }
    if (!verdict) return { kind: "unjudged", words: outcomes.unjudged.words };
    const kind = verdict.stance ?? "incomplete";
    const { words, leaning } = outcomes[kind];
    const sure = words === leaning ? "" : `, ${verdict.confidence} confidence`; // Only a side is leant to.
    return { kind, words: (verdict.basis === "llm" ? words : leaning) + sure, why: verdict.summary ?? verdict.reason };
  }

  function coloured(element, { light, dark }) {
    element.style.setProperty("--light", light);
    element.style.setProperty("--dark", dark);
    return element;
  }

  function seek(seconds) {
    const player = document.querySelector("#movie_player video");
    if (player) player.currentTime = seconds;
  }

  function timeButton(claim, attributes) {
    const button = make("button", { type: "button", ...attributes });
    button.addEventListener("click", (event) => {
      event.stopPropagation(); // The player's bar would seek elsewhere.
      seek(claim.start_seconds);
    });
    button.addEventListener("mousedown", (event) => event.stopPropagation());
    return button;
  }

  function item(claim, page, outcomes) {
    const { kind, words, why } = judged(claim, outcomes);
    const time = claim.start_seconds === null ? null
      : timeButton(claim, { class: "time", text: clock(claim.start_seconds) });
    const verdict = make("p", {}, time, make("span", { class: "badge", text: words }));
    const evidence = link("Evidence", `${page}/claims/${encodeURIComponent(claim.claim_id)}`);
    const parts = [make("p", { text: claim.text, dir: "auto" }),
      why && make("p", { class: "soft", text: why, dir: "auto" }), make("p", {}, evidence)];
    return coloured(make("li", {}, verdict, ...parts), outcomes[kind]);
  }

  async function mark(videoId, result) {
    const bar = await whenThere("#movie_player .ytp-progress-bar");
    if (videoId !== shown) return;
    const player = document.querySelector("#movie_player video");
    const length = result.duration_seconds || player?.duration; // An advertisement has its own length.
    const marks = make("div", { class: "bar" });
    for (const claim of result.claims) {
      if (!(claim.start_seconds < length) || claim.start_seconds === null) continue;
      const { kind, words } = judged(claim, result.outcomes);
      const label = `${clock(claim.start_seconds)}, ${words}: ${claim.text}`;
      const button = timeButton(claim, { class: `mark ${kind}`, title: label, "aria-label": label });
      button.style.left = `${(100 * claim.start_seconds) / length}%`;
      marks.append(coloured(button, result.outcomes[kind]));
    }
    put("factible-marks", bar, marks);
  }

  function showResult(videoId, address, result) {
    const page = `${address}/desk/videos/${encodeURIComponent(result.video_id)}`;
    const kinds = result.claims.map((claim) => judged(claim, result.outcomes).kind);
    const counts = Object.entries(result.outcomes)
      .map(([kind, { words }]) => [kinds.filter((each) => each === kind).length, words]);
    const tally = counts.filter(([count]) => count).map(([count, words]) => `${count} ${words}`);
    const when = new Date(result.checked_at).toLocaleDateString();
    const summary = tally.length ? `${tally.join(", ")}. Checked on ${when}.` : `No check-worthy claim was found on ${when}.`;
    panel(videoId, make("p", { text: summary }), make("p", {}, link("Whole report", page)),
      make("ol", {}, ...result.claims.map((claim) => item(claim, page, result.outcomes))));
    mark(videoId, result);
  }

  const ask = (kind, given) => chrome.runtime.sendMessage({ kind, ...given });

  function showError(videoId, error) {
    panel(videoId, make("p", { role: "alert", text: error || "The service refused this." }),
      action("Try again", () => look(videoId)), action("Options", () => ask("options")));
  }

  async function look(videoId) {
    const { isUnset, address, answer, status, error } = await ask("results", { videoId });
    if (videoId !== shown) return;
    if (isUnset) {
      panel(videoId, make("p", { text: "Give the address of your factible-assets service." }),
        action("Options", () => ask("options")));
    } else if (answer?.checked_at) {
      showResult(videoId, address, answer);
    } else if (answer || status === 404) { // A check that failed early leaves an answer without claims.
      panel(videoId, make("p", { text: "This video has not been checked." }),
        action("Check this video", () => check(videoId)));
    } else {
      showError(videoId, error);
    }
  }

  async function check(videoId) {
    panel(videoId, make("p", { text: "The check begins …", role: "status" }));
    const { address, answer, error } = await ask("check", { videoId });
    if (videoId !== shown) return;
    if (answer) follow(videoId, answer.run_id, address);
    else showError(videoId, error);
  }

  async function follow(videoId, runId, address) {
    const progress = link("its progress", `${address}/desk/runs/${encodeURIComponent(runId)}`);
    panel(videoId, make("p", { role: "status" }, "The video is being checked; see ", progress, "."));
    const poll = async () => {
      const { answer, error } = await ask("run", { runId });
      if (videoId !== shown) return;
      if (answer?.status === "success") look(videoId);
      else if (error) showError(videoId, error);
      else if (answer.ended_at) showError(videoId, "The check ended without a result; the desk says why.");
      else timer = setTimeout(poll, POLL_MILLISECONDS);
    };
    poll();
  }

  function navigate() {
    const here = new URL(location.href);
    const videoId = here.pathname === "/watch" ? here.searchParams.get("v") : null;
    if (videoId === shown) return;
    remove();
    shown = videoId;
    if (videoId && /^[\w-]{11}$/.test(videoId)) look(videoId);
  }

  document.addEventListener("yt-navigate-finish", navigate); // YouTube changes pages without loading.
  navigate();
})();
