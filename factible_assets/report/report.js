// The report of one video: the player, jumps to a second, opening the target of a link.
(() => {
  const ORIGIN = "https://www.youtube-nocookie.com";
  const ANSWER_MS = 10000;
  const ASK_MS = 300;
  const byId = (id) => document.getElementById(id);

  // --- Opening the target of a link -------------------------------------------------------------

  const reveal = (id) => {
    // The index has only the beginning of a claim's id.
    const target = id && (byId(id) ?? document.querySelector(`article[id^="${CSS.escape(id)}"]`));
    if (!target) return;
    for (let each = target; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    // A link to a claim opens all of it.
    const rest = target.querySelector(":scope > .rest");
    if (rest) rest.open = true;
    if (!target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: target.matches("mark, span") ? "center" : "start" });
  };
  const fragment = () => {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  };

  const followInside = () => {
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      // If the fragment stays the same, there is no hashchange event.
      setTimeout(() => reveal(fragment()));
    });
    addEventListener("hashchange", () => reveal(fragment()));
    if (location.hash) reveal(fragment());
  };

  // --- Everything open, on request --------------------------------------------------------------

  const foldable = () => [...document.querySelectorAll("details:not(.text)")];

  const openAll = () => {
    const button = byId("open-all");
    if (!button) return;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      for (const each of foldable()) each.open = open || each.classList.contains("failed");
      button.setAttribute("aria-pressed", String(open));
    });
  };

  // --- Where the reader is ----------------------------------------------------------------------

  const markCurrent = () => {
    const links = new Map(
      [...document.querySelectorAll(".glance a")].map((link) => [link.hash.slice(1), link]),
    );
    const seen = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (!entry.isIntersecting) continue;
          for (const link of links.values()) link.removeAttribute("aria-current");
          links.get(entry.target.id)?.setAttribute("aria-current", "true");
        }
      },
      { rootMargin: "-15% 0px -75% 0px" },
    );
    for (const claim of document.querySelectorAll("article.claim")) seen.observe(claim);
  };

  // --- The video --------------------------------------------------------------------------------

  const followPlayback = () => {
    const panel = byId("panel");
    const blocks = [...document.querySelectorAll(".block[data-start]")];
    let now = null;
    return (seconds) => {
      const current = blocks.filter((each) => Number(each.dataset.start) <= seconds).pop() ?? null;
      if (current === now) return;
      now?.classList.remove("now");
      current?.classList.add("now");
      now = current;
      // Do not move a reader who is reading or scrolling in the transcript.
      if (current && !panel.matches(":hover, :focus-within, :focus")) {
        panel.scrollTop = current.offsetTop - panel.offsetTop - panel.clientHeight / 3;
      }
    };
  };

  const makeFrame = (video) => {
    const parameters = new URLSearchParams({ autoplay: "1", enablejsapi: "1", playsinline: "1", rel: "0" });
    parameters.set("origin", location.origin);
    const frame = document.createElement("iframe");
    frame.src = `${ORIGIN}/embed/${video}?${parameters}`;
    frame.title = "Video player";
    frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
    // YouTube plays only for pages that send their origin.
    frame.referrerPolicy = "strict-origin-when-cross-origin";
    return frame;
  };

  const setUpPlayer = () => {
    const player = byId("player");
    if (!player || !/^[A-Za-z0-9_-]{11}$/.test(player.dataset.video)) return;
    const poster = player.querySelector(".poster");
    const play = byId("play");
    const note = byId("player-note");
    const status = byId("player-status");
    if (location.protocol === "file:") {
      // YouTube plays only for pages that a web server delivers (its error 153).
      player.classList.add("from-disk");
      play.hidden = true;
      note.textContent = "The times on this page open YouTube at that second.";
      return;
    }
    const follow = followPlayback();
    let frame = null;
    let answers = false;

    const send = (message) => frame?.contentWindow?.postMessage(JSON.stringify(message), ORIGIN);
    const command = (func, ...args) => send({ event: "command", func, args, id: 1, channel: "widget" });
    const giveUp = (reason) => {
      answers = false;
      note.textContent = `${reason} The times on this page open YouTube at that second instead.`;
    };

    const box = document.createElement("div");
    box.className = "frame";
    const unpin = document.createElement("button");
    unpin.type = "button";
    unpin.textContent = "Stop";
    unpin.addEventListener("click", () => {
      frame?.remove();
      frame = null;
      answers = false;
      box.remove();
      poster.hidden = false;
      play.focus();
    });

    play.addEventListener("click", () => {
      frame = makeFrame(player.dataset.video);
      box.classList.remove("pinned");
      box.replaceChildren(frame, unpin);
      poster.hidden = true;
      player.append(box);
      frame.focus();
      const asked = frame;
      const began = Date.now();
      let isLoaded = false;
      asked.addEventListener("load", () => {
        isLoaded = true;
      });
      const ask = setInterval(() => {
        if (answers || frame !== asked) return clearInterval(ask);
        if (Date.now() - began > ANSWER_MS) {
          clearInterval(ask);
          giveUp("The player does not answer here.");
          return undefined;
        }
        // Before it loads, the frame has another origin, and the browser would report an error.
        if (isLoaded) send({ event: "listening", id: 1, channel: "widget" });
        return undefined;
      }, ASK_MS);
    });

    addEventListener("message", (event) => {
      if (!frame || event.origin !== ORIGIN || event.source !== frame.contentWindow) return;
      let message;
      try {
        message = JSON.parse(event.data);
      } catch {
        return;
      }
      if (message?.event === "onError") {
        giveUp("YouTube does not play this video here.");
        return;
      }
      if (!answers && ["onReady", "initialDelivery", "infoDelivery"].includes(message?.event)) {
        answers = true;
        command("addEventListener", "onError");
      }
      const seconds = message?.info?.currentTime;
      if (typeof seconds === "number") follow(seconds);
    });

    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-seconds]");
      if (!link || !answers || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const seconds = Number(link.dataset.seconds);
      command("seekTo", seconds, true);
      command("playVideo");
      follow(seconds);
      status.textContent = `The video goes on at ${link.dataset.clock}.`;
    });

    // A running video that is scrolled out of sight moves to a corner.
    new IntersectionObserver(([entry]) => {
      box.classList.toggle("pinned", frame !== null && !entry.isIntersecting);
    }).observe(player);
  };

  document.addEventListener("DOMContentLoaded", () => {
    followInside();
    openAll();
    markCurrent();
    setUpPlayer();
  });
})();
