// The desk's keys, its buttons that copy or print, and the page of a running check.
document.addEventListener("DOMContentLoaded", () => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- Buttons that need a script ---------------------------------------------------------------

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-print], [data-back]");
    if (!button) return;
    if ("print" in button.dataset) return print();
    if ("back" in button.dataset) {
      event.preventDefault();
      return history.back(); // To the form, with its words.
    }
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow it";
    }
    setTimeout(() => (button.textContent = words), 1500);
    return undefined;
  });

  // --- Keys -------------------------------------------------------------------------------------

  const OFF = "factible-keys-off";
  const dialog = byId("keys");
  const toggle = byId("keys-on");
  if (toggle) {
    toggle.checked = !choices.read(OFF);
    toggle.addEventListener("change", () => choices.keep(OFF, toggle.checked ? "" : "1"));
    byId("keys-button").addEventListener("click", () => dialog.showModal());
  }

  const isTyping = (element) =>
    element.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=submit])");
  const sources = () => all(".claim .source");
  const current = () => document.activeElement.closest(".source") ?? sources()[0];

  const use = (element) => {
    if (element.matches("summary")) {
      element.parentElement.open = true;
      element.parentElement.querySelector("input:not([type=hidden]), textarea")?.focus();
    } else if (element.type === "radio") {
      element.checked = true;
      byId("prose").focus();
    } else if (element.matches("input, textarea")) element.focus();
    else element.click();
  };

  const step = (by) => {
    const cards = sources();
    const at = cards.indexOf(document.activeElement.closest(".source"));
    const next = cards[Math.min(cards.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    for (let each = next; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    next?.setAttribute("tabindex", "-1");
    next?.focus();
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (key === "Enter" && event.ctrlKey && target.form) return target.form.requestSubmit();
    if (key === "Escape" && isTyping(target)) {
      const fold = target.closest("details.fold");
      if (fold) fold.open = false;
      return (fold?.querySelector("summary") ?? target.blur())?.focus();
    }
    const off = !toggle?.checked || dialog.open || isTyping(target);
    if (off || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return undefined;
    const found = `[data-key="${CSS.escape(key)}"]`;
    const element =
      all(found).find((each) => !each.closest(".source")) ?? current()?.querySelector(found);
    if (!element && key !== "j" && key !== "k") return undefined;
    event.preventDefault();
    return element ? use(element) : step(key === "j" ? 1 : -1);
  });

  document.querySelector(".listed [aria-current]")?.scrollIntoView({ block: "nearest" });

  // --- A running check --------------------------------------------------------------------------

  const run = byId("run");
  if (!run || "over" in run.dataset) return;
  const RETRY_MS = 3000;
  const STEPS = ["transcript_extraction", "transcript_complete", "claim_extraction", "claims_extracted", "verdict_reached", "still_running", "generating_report", "complete", "error"];
  const make = (name, className, ...content) => {
    const made = document.createElement(name);
    made.className = className;
    made.append(...content);
    return made;
  };

  const itemOf = (claim) => {
    const known = [...byId("claims").children].find((each) => each.dataset.claim === claim.claim_id);
    if (known) return known;
    const text = make("span", "", claim.text);
    text.dir = "auto";
    const item = make("li", "", make("span", "state", make("span", "note", "being checked")), " ", text);
    item.dataset.claim = claim.claim_id;
    byId("claims").append(item);
    return item;
  };

  const judge = ({ claim, verdict }) => {
    const outcome = verdict.stance ?? "incomplete";
    const badge = byId(verdict.basis === "llm" ? outcome : `leaning-${outcome}`);
    itemOf(claim).querySelector(".state").replaceChildren(badge.content.cloneNode(true));
  };

  const events = new EventSource(run.dataset.events);
  const receive = (event) => {
    const { step: kind, message, progress, data } = JSON.parse(event.data);
    byId("progress").value = progress;
    if (kind === "still_running") return;
    for (const claim of data?.claims ?? []) itemOf(claim);
    if (kind === "verdict_reached") judge(data);
    if (kind === "error" || kind === "complete") {
      // The server says what comes next, a moment after this event.
      events.close();
      setTimeout(() => location.reload(), 300);
    } else byId("told").textContent = message;
  };
  // A lost connection gives an error event too, but one without data.
  for (const kind of STEPS) events.addEventListener(kind, (event) => event.data && receive(event));
  // The browser does not ask again if the server refuses, as after a restart. The page says why.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), RETRY_MS);
  });
});
