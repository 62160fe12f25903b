// The index of all videos: filters, order, and the choice between videos and claims.
(() => {
  const WAIT_MS = 120;
  const CLAIM_FILTERS = ["outcome", "confidence"];
  const VIDEO_FILTERS = ["corpus", "category", "channel"];
  const byId = (id) => document.getElementById(id);

  const readRows = () => {
    const videos = new Map();
    for (const row of document.querySelectorAll("#videos tbody tr")) {
      const total = row.querySelector(".total");
      videos.set(row.dataset.video, { row, data: row.dataset, text: row.textContent.toLowerCase(), claims: [], total });
    }
    for (const row of document.querySelectorAll("#claims tbody tr")) {
      const video = videos.get(row.dataset.of);
      const text = row.querySelector(".claim-text").textContent.toLowerCase();
      video.claims.push({ row, data: row.dataset, text });
    }
    return [...videos.values()];
  };

  const controls = () => new Map([...document.querySelectorAll("[data-filter]")].map((each) => [each.dataset.filter, each]));

  const readChoice = (fields) => {
    const choice = {};
    for (const [name, field] of fields) if (field.value) choice[name] = field.value;
    return choice;
  };

  const equal = (data, choice, names) => names.every((name) => !choice[name] || data[name] === choice[name]);
  const inTime = (data, choice) =>
    (!choice.from || data.date >= choice.from) && (!choice.to || (data.date && data.date <= choice.to));

  const filter = (videos, choice) => {
    const words = (choice.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const says = (text) => words.every((word) => text.includes(word));
    const asksOfClaims = CLAIM_FILTERS.some((name) => choice[name]);
    const shown = { videos: 0, claims: 0 };
    for (const video of videos) {
      const fits = equal(video.data, choice, VIDEO_FILTERS) && inTime(video.data, choice);
      const isNamed = says(video.text);
      let hits = 0;
      for (const claim of video.claims) {
        const hit = fits && equal(claim.data, choice, CLAIM_FILTERS) && (isNamed || says(claim.text));
        claim.row.hidden = !hit;
        hits += hit ? 1 : 0;
      }
      const isShown = hits > 0 || (fits && isNamed && !asksOfClaims);
      video.row.hidden = !isShown;
      const all = video.claims.length;
      video.total.textContent = hits === all ? String(all) : `${hits} of ${all}`;
      shown.videos += isShown ? 1 : 0;
      shown.claims += hits;
    }
    return shown;
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    for (const heading of table.querySelectorAll("thead th[data-sort]")) {
      const column = heading.cellIndex;
      const isNumber = heading.dataset.sort === "number";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        for (const each of table.querySelectorAll("th[aria-sort]")) each.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        const order = isNumber
          ? (left, right) => Number(key(left)) - Number(key(right))
          : (left, right) => key(left).localeCompare(key(right));
        const rows = [...body.rows].sort(order);
        body.append(...(down ? rows.reverse() : rows));
      });
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    const videos = readRows();
    const fields = controls();
    const status = byId("shown");
    const totals = { videos: videos.length, claims: videos.reduce((sum, each) => sum + each.claims.length, 0) };
    let view = "videos";

    const keep = (choice) => {
      const kept = new URLSearchParams(choice);
      if (view !== "videos") kept.set("view", view);
      const hash = kept.toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.href.split("#")[0]);
    };
    const refresh = () => {
      const choice = readChoice(fields);
      const shown = filter(videos, choice);
      status.textContent =
        `${shown.claims} of ${totals.claims} claims in ${shown.videos} of ${totals.videos} videos`;
      byId("no-videos").hidden = shown.videos > 0;
      byId("no-claims").hidden = shown.claims > 0;
      keep(choice);
    };
    const show = (wanted) => {
      view = wanted === "claims" ? "claims" : "videos";
      for (const name of ["videos", "claims"]) {
        byId(name).hidden = name !== view;
        byId(`show-${name}`).setAttribute("aria-pressed", String(name === view));
      }
    };

    let timer = 0;
    for (const field of fields.values()) {
      field.addEventListener("input", () => {
        clearTimeout(timer);
        if (field.type === "search") timer = setTimeout(refresh, WAIT_MS);
        else refresh();
      });
    }
    for (const name of ["videos", "claims"]) {
      byId(`show-${name}`).addEventListener("click", () => {
        show(name);
        refresh();
      });
    }
    byId("reset").addEventListener("click", () => {
      for (const field of fields.values()) field.value = "";
      refresh();
      fields.get("text").focus();
    });
    for (const table of document.querySelectorAll("table")) sortable(table);

    const kept = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of fields) if (kept.has(name)) field.value = kept.get(name);
    show(kept.get("view"));
    refresh();
  });
})();
