// The page of a running check: adds claims and verdicts as their events come.
document.addEventListener("DOMContentLoaded", () => {
  const run = document.getElementById("run");
  if (!run || "over" in run.dataset) return;
  const GLYPHS = { supports: "✓", refutes: "✕", mixed: "≈", unclear: "?", incomplete: "!" };
  const WORDS = { supports: "supported", refutes: "refuted" };
  const STEPS = ["transcript_extraction", "transcript_complete", "claim_extraction", "claims_extracted", "verdict_reached", "still_running", "generating_report", "complete", "error"];
  const byId = (id) => document.getElementById(id);
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
    const outcome = verdict.stance in GLYPHS ? verdict.stance : "incomplete";
    const leaning = verdict.basis === "embedded" && !["unclear", "incomplete"].includes(outcome) ? "leaning " : "";
    const glyph = make("span", `glyph ${outcome}`, GLYPHS[outcome]);
    glyph.setAttribute("aria-hidden", "true");
    const badge = make("span", `badge ${outcome}`, glyph, leaning + (WORDS[outcome] ?? outcome));
    itemOf(claim).querySelector(".state").replaceChildren(badge);
  };

  const events = new EventSource(run.dataset.events);
  const hear = (event) => {
    const { step, message, progress, data } = JSON.parse(event.data);
    byId("progress").value = progress;
    if (step === "still_running") return;
    byId("told").textContent = message;
    for (const claim of data?.claims ?? []) itemOf(claim);
    if (step === "verdict_reached") judge(data);
    if (step !== "complete" && step !== "error") return;
    events.close();
    byId("cancel")?.setAttribute("hidden", "");
    byId("done").hidden = step === "error";
    if (step === "complete") byId("done").firstElementChild.focus();
  };
  // A lost connection gives an error event too, but one without data.
  for (const step of STEPS) events.addEventListener(step, (event) => event.data && hear(event));
});
