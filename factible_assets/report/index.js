// The index of all videos: filters, order, pages, and the choice between videos and claims.
//
// The page carries the packed rows of all videos and claims. Only the rows of one page of a table
// become elements. Without scripts the page shows its first videos and a list of the others.
(() => {
  const WAIT_MS = 120;
  const ROWS = 50;
  const SVG = "http://www.w3.org/2000/svg";
  const VIDEO_FILTERS = ["corpus", "category", "channel"];
  const CLAIM_FILTERS = ["outcome", "confidence"];
  const byId = (id) => document.getElementById(id);

  const unpack = async () => {
    const packed = Uint8Array.from(atob(byId("packed").textContent), (each) => each.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  // --- Elements, made from text only --------------------------------------------------------------

  const element = (name, attributes, ...inner) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inner);
    return made;
  };
  const glyph = (outcome) => element("span", { class: `glyph ${outcome.name}`, "aria-hidden": "true" }, outcome.glyph);
  const linked = (words, href) => (href ? element("a", { href }, words) : words);
  const under = (words) => element("span", { class: "under" }, ...words.map((each) => element("bdi", {}, each)));
  const figure = (label, words) => element("td", { class: "figure", "data-label": label }, words);

  const tally = (counts, total) => {
    const drawing = document.createElementNS(SVG, "svg");
    const known = { class: "tally", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" };
    for (const [key, value] of Object.entries(known)) drawing.setAttribute(key, value);
    let x = 0;
    for (const { outcome, number } of counts) {
      const part = document.createElementNS(SVG, "rect");
      const width = (100 * number) / total;
      for (const [key, value] of Object.entries({ class: outcome.name, x, width, height: 4 })) part.setAttribute(key, value);
      drawing.append(part);
      x += width;
    }
    return drawing;
  };

  const verdicts = (video) => {
    const counts = video.counts;
    if (!counts.length) return element("td", { class: "verdicts" }, "–");
    const hide = counts.length > 3 ? { class: "visually-hidden" } : {};
    const items = counts.map(({ outcome, number, words }) =>
      element("li", {}, glyph(outcome), ` ${number} `, element("span", hide, words)));
    return element("td", { class: "verdicts" }, tally(counts, video.claims.length), element("ul", { class: "mini" }, ...items));
  };

  const videoRow = (video) => {
    const all = video.claims.length;
    const title = element("span", { class: "title", dir: "auto" }, linked(video.title, video.href));
    return element("tr", {},
      element("th", { scope: "row" }, title, under(video.under)),
      verdicts(video),
      figure("Claims", video.hits === all ? String(all) : `${video.hits} of ${all}`),
      figure("Flipped", video.flipped ? String(video.flipped) : "–"),
      figure("Checked", video.checked ? DAY.format(new Date(video.checked)) : "not yet"));
  };

  const clock = (at) => {
    if (at === null) return "–";
    const [hours, minutes, seconds] = [at / 3600, (at / 60) % 60, at % 60].map(Math.floor);
    const two = (number) => String(number).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
  };

  const claimRow = (claim) => {
    const video = claim.video;
    const href = video.href && `${video.href}#claim-${claim.anchor}`;
    const text = element("span", { class: "claim-text", dir: "auto" }, linked(claim.text, href));
    return element("tr", {},
      figure("At", clock(claim.at)),
      element("th", { scope: "row", class: "claim-cell" }, text, " ", under([video.title, ...video.under.slice(0, 1)])),
      element("td", {}, element("span", { class: `badge ${claim.outcome.name}` }, glyph(claim.outcome), claim.words)),
      element("td", { "data-label": "Confidence" }, claim.confidence || "–"),
      figure("For : against", `${claim.supporting} : ${claim.refuting}`));
  };

  // --- Rows to show -------------------------------------------------------------------------------

  // The sort key of each column, or null if the column does not sort.
  const TABLES = {
    videos: { row: videoRow, keys: [(v) => v.title, null, (v) => v.claims.length, (v) => v.flipped, (v) => v.checked] },
    claims: {
      row: claimRow,
      keys: [(c) => c.at ?? -1, (c) => c.text, (c) => c.words, (c) => c.rank, (c) => c.supporting - c.refuting],
    },
  };

  const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

  const read = ({ outcomes, confidences, videos, claims }) => {
    const known = outcomes.map(([name, words, leaning, mark]) => ({ name, words, leaning, glyph: mark }));
    const outcomeOf = new Map(known.map((outcome) => [outcome.name, outcome]));
    return videos.map(([title, href, words, corpus, category, channel, checked, flipped, first, number]) => {
      const video = { title, href, under: words, corpus, category, channel, checked, flipped };
      video.text = [title, ...words].join(" ").toLowerCase();
      video.claims = Array.from({ length: number }, (_, place) => {
        const of = (column) => claims[column][first + place];
        const [text, outcome, confidence] = [of("text"), outcomeOf.get(of("outcome")), of("confidence") ?? ""];
        return {
          video, text, outcome, confidence,
          at: of("start_seconds"),
          anchor: of("claim_id") || `n${place + 1}`,
          supporting: of("supporting"),
          refuting: of("refuting"),
          words: of("leaning") ? outcome.leaning : outcome.words,
          rank: confidences.indexOf(confidence),
          lower: text.toLowerCase(),
        };
      });
      video.counts = known.flatMap((outcome) => [...new Set([outcome.leaning, outcome.words])].map((words) => {
        const made = video.claims.filter((each) => each.outcome === outcome && each.words === words);
        return { outcome, number: made.length, words };
      })).filter((count) => count.number);
      return video;
    });
  };

  const select = (videos, choice) => {
    const words = (choice.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const says = (text) => words.every((word) => text.includes(word));
    const asksOfClaims = CLAIM_FILTERS.some((name) => choice[name]);
    const chosen = { videos: [], claims: [] };
    for (const video of videos) {
      const fits = VIDEO_FILTERS.every((name) => !choice[name] || video[name] === choice[name])
        && (!choice.from || video.checked >= choice.from)
        && (!choice.to || (video.checked && video.checked <= choice.to));
      const isNamed = says(video.text);
      const hits = !fits ? [] : video.claims.filter((claim) =>
        (!choice.outcome || claim.outcome.name === choice.outcome)
        && (!choice.confidence || claim.confidence === choice.confidence)
        && (isNamed || says(claim.lower)));
      video.hits = hits.length;
      chosen.claims.push(...hits);
      if (hits.length || (fits && isNamed && !asksOfClaims)) chosen.videos.push(video);
    }
    return chosen;
  };

  const order = (rows, { key, down }) => {
    const sorted = [...rows].sort((left, right) => {
      const [a, b] = [key(left), key(right)];
      return typeof a === "number" ? a - b : a.localeCompare(b);
    });
    return down ? sorted.reverse() : sorted;
  };

  document.addEventListener("DOMContentLoaded", async () => {
    if (!byId("packed")) return;
    const videos = read(await unpack());
    const totals = { videos: videos.length, claims: videos.reduce((sum, each) => sum + each.claims.length, 0) };
    const fields = new Map([...document.querySelectorAll("[data-filter]")].map((each) => [each.dataset.filter, each]));
    const sorting = {};
    let view = "videos";
    let page = 0;

    const keep = (choice) => {
      const kept = new URLSearchParams(choice);
      if (view !== "videos") kept.set("view", view);
      if (page) kept.set("page", String(page + 1));
      const hash = kept.toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.href.split("#")[0]);
    };
    const refresh = () => {
      const choice = Object.fromEntries([...fields].filter(([, field]) => field.value).map(([name, field]) => [name, field.value]));
      const chosen = select(videos, choice);
      byId("shown").textContent =
        `${chosen.claims.length} of ${totals.claims} claims in ${chosen.videos.length} of ${totals.videos} videos`;
      const rows = sorting[view] ? order(chosen[view], sorting[view]) : chosen[view];
      const last = Math.max(0, Math.ceil(rows.length / ROWS) - 1);
      page = Math.min(page, last);
      const first = page * ROWS;
      byId(view).querySelector("tbody").replaceChildren(...rows.slice(first, first + ROWS).map(TABLES[view].row));
      for (const name of ["videos", "claims"]) {
        byId(name).hidden = name !== view;
        byId(`show-${name}`).setAttribute("aria-pressed", String(name === view));
        byId(`no-${name}`).hidden = chosen[name].length > 0;
      }
      byId("turn").hidden = last === 0;
      byId("place").textContent = `${first + 1}–${Math.min(first + ROWS, rows.length)} of ${rows.length}`;
      byId("earlier").disabled = page === 0;
      byId("later").disabled = page === last;
      keep(choice);
    };
    const restart = () => {
      page = 0;
      refresh();
    };
    const turn = (by) => {
      page += by;
      refresh();
      byId("content").focus({ preventScroll: true });
      byId("content").scrollIntoView();
    };

    let timer = 0;
    for (const field of fields.values()) {
      field.addEventListener("input", () => {
        clearTimeout(timer);
        if (field.type === "search") timer = setTimeout(restart, WAIT_MS);
        else restart();
      });
    }
    for (const name of ["videos", "claims"]) {
      byId(`show-${name}`).addEventListener("click", () => {
        view = name;
        restart();
      });
      const headings = [...byId(name).querySelectorAll("thead th")];
      for (const [column, key] of TABLES[name].keys.entries()) {
        if (!key) continue;
        const heading = headings[column];
        const button = element("button", { type: "button" }, heading.textContent);
        heading.replaceChildren(button);
        button.addEventListener("click", () => {
          const down = heading.getAttribute("aria-sort") === "ascending";
          for (const each of headings) each.removeAttribute("aria-sort");
          heading.setAttribute("aria-sort", down ? "descending" : "ascending");
          sorting[name] = { key, down };
          restart();
        });
      }
    }
    byId("earlier").addEventListener("click", () => turn(-1));
    byId("later").addEventListener("click", () => turn(1));
    byId("reset").addEventListener("click", () => {
      for (const field of fields.values()) field.value = "";
      restart();
      fields.get("text").focus();
    });

    const kept = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of fields) if (kept.has(name)) field.value = kept.get(name);
    if (kept.get("view") === "claims") view = "claims";
    page = Math.max(0, (Number.parseInt(kept.get("page"), 10) || 1) - 1);
    refresh();
    for (const each of document.querySelectorAll("search, .shown")) each.hidden = false;
  });
})();
