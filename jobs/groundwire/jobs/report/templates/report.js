(() => {
  "use strict";
  const root = document.documentElement;
  const KEY = "groundwire-theme";
  const THEMES = ["auto", "light", "dark"];

  const kept = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }  // a browser may refuse storage to a local file
  };
  const keep = (theme) => {
    try { localStorage.setItem(KEY, theme); } catch { /* the choice then lasts as long as the page */ }
  };
  let theme = THEMES.includes(kept()) ? kept() : "auto";
  const dress = () => { if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme; };
  dress();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const name = () => { button.textContent = `Theme: ${theme}`; };
    button.hidden = false;
    name();
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      dress();
      keep(theme);
      name();
    });

    // A card beside the mark, on hover and on keyboard focus; the card in the list stays the place to read at length.
    const peek = document.createElement("div");
    peek.id = "peek";
    peek.setAttribute("role", "tooltip");
    peek.hidden = true;
    document.body.append(peek);
    let shownFor = null;
    let described = "";
    let timer = 0;

    const hide = () => {
      clearTimeout(timer);
      if (shownFor) shownFor.setAttribute("aria-describedby", described);
      shownFor = null;
      peek.hidden = true;
    };
    const show = (link) => {
      clearTimeout(timer);
      if (shownFor === link) return;
      hide();
      peek.replaceChildren();
      for (const id of link.dataset.claims.trim().split(/\s+/)) {
        const card = document.getElementById(id);
        if (!card) continue;
        const piece = document.createElement("div");
        piece.className = "peek-card";
        piece.append(card.querySelector("summary .chip").cloneNode(true));
        const body = card.querySelector(".card-body").cloneNode(true);
        for (const anchor of body.querySelectorAll("a")) anchor.replaceWith(...anchor.childNodes);
        piece.append(body);
        for (const node of [piece, ...piece.querySelectorAll("[id]")]) node.removeAttribute("id");
        peek.append(piece);
      }
      if (!peek.childElementCount) return;
      peek.hidden = false;
      const line = link.getClientRects()[0];
      const box = peek.getBoundingClientRect();
      const left = Math.max(8, Math.min(line.left, root.clientWidth - box.width - 8));
      const below = link.getBoundingClientRect().bottom + 8;
      const above = line.top - box.height - 8;
      const fits = below + box.height <= root.clientHeight - 8 || above < 8;
      peek.style.left = `${left + scrollX}px`;
      peek.style.top = `${(fits ? below : above) + scrollY}px`;
      described = link.getAttribute("aria-describedby") || "";
      link.setAttribute("aria-describedby", "peek");
      shownFor = link;
    };
    const markOf = (event) => event.target instanceof Element && event.target.closest("a.claim");
    document.addEventListener("mouseover", (event) => {
      const link = markOf(event);
      if (link) show(link);
      else if (peek.contains(event.target)) clearTimeout(timer);
      else if (shownFor && shownFor !== document.activeElement) {
        clearTimeout(timer);
        timer = setTimeout(hide, 150);
      }
    });
    document.addEventListener("focusin", (event) => {
      const link = markOf(event);
      if (link && link.matches(":focus-visible")) show(link);
      else hide();
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

    // A link into something folded unfolds it, moves the focus there and points it out.
    const go = () => {
      hide();
      const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target) return;
      for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
      target.scrollIntoView({ block: "center" });
      const focus = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
      focus.focus({ preventScroll: true });
    };
    addEventListener("hashchange", go);
    document.addEventListener("click", (event) => {  // the same link twice changes no hash
      const link = event.target instanceof Element && event.target.closest("a[href^='#']");
      if (link && link.hash === location.hash) go();
    });
    go();
  });
})();
