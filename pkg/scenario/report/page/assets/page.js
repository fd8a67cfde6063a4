"use strict";
(() => {
  const root = document.documentElement, tip = document.getElementById("tip");
  root.classList.add("js");

  // bend is as in links.go.
  const bend = (x1, x2) => {
    if (x2 - x1 < 30) return [x1 - 22, x2 - 22];
    const dx = Math.max((x2 - x1) / 2, 22);
    return [x1 + dx, x2 - dx];
  };

  for (const chart of document.querySelectorAll(".chart")) {
    const marks = new Map(), effects = new Map();
    for (const m of chart.querySelectorAll(".mark")) {
      const seq = m.dataset.seq, cause = m.dataset.cause;
      marks.set(seq, m);
      if (cause !== "0") effects.set(cause, [...(effects.get(cause) || []), seq]);
    }
    const lanes = [...chart.querySelectorAll(".lane")], rows = [...chart.querySelectorAll(".marks")];
    const links = [...chart.querySelectorAll(".link")], latencies = [...chart.querySelectorAll(".latency")];
    const block = chart.closest(".timeline"), find = block.querySelector(".find"), boxes = [...block.querySelectorAll("[data-group][type=checkbox]")];
    let held = null;

    // chain is an event with all its causes and effects.
    const chain = (seq) => {
      const on = new Set();
      for (let s = seq; s && s !== "0" && marks.has(s) && !on.has(s); s = marks.get(s).dataset.cause) on.add(s);
      const todo = [seq];
      while (todo.length) for (const e of effects.get(todo.pop()) || []) if (!on.has(e)) { on.add(e); todo.push(e); }
      return on;
    };
    const focus = (seq) => {
      const on = seq ? chain(seq) : new Set();
      chart.classList.toggle("focus", !!seq);
      for (const [s, m] of marks) { m.classList.toggle("on", on.has(s)); m.classList.toggle("at", s === seq); }
      for (const l of [...links, ...latencies]) l.classList.toggle("on", on.has(l.dataset.from) && on.has(l.dataset.to));
    };
    const line = (tag, text, cls) => {
      const e = document.createElement(tag);
      e.textContent = text;
      if (cls) e.className = cls;
      return e;
    };
    const show = (m) => {
      const d = m.dataset;
      tip.replaceChildren(line("b", d.kind), document.createTextNode(" " + d.object), line("p", d.message));
      const cause = marks.get(d.cause);
      let when = "#" + d.seq + " at " + d.at;
      if (cause) when += ", " + d.after + " after #" + d.cause + " " + cause.dataset.kind;
      else if (d.cause !== "0") when += ", caused by #" + d.cause + ", which is not drawn";
      const n = (effects.get(d.seq) || []).length;
      if (n) when += ", " + n + (n === 1 ? " effect" : " effects");
      tip.append(line("p", when, "soft"));
      tip.hidden = false;
      const at = m.querySelector("circle, path").getBoundingClientRect(), box = tip.getBoundingClientRect();
      let x = at.left + at.width / 2 - box.width / 2, y = at.bottom + 10;
      if (y + box.height > innerHeight) y = at.top - box.height - 10;
      x = Math.max(8, Math.min(x, root.clientWidth - box.width - 8));
      tip.style.left = x + scrollX + "px";
      tip.style.top = y + scrollY + "px";
    };
    const at = (seq) => {
      focus(seq);
      if (seq) show(marks.get(seq)); else tip.hidden = true;
    };
    const hold = (seq) => { held = held === seq ? null : seq; at(held); };
    const of = (e) => e.target.closest(".mark");

    chart.addEventListener("pointerover", (e) => { const m = of(e); if (m) at(m.dataset.seq); });
    chart.addEventListener("pointerout", (e) => { if (of(e)) at(held); });
    chart.addEventListener("focusin", (e) => { const m = of(e); if (m && m.matches(":focus-visible")) at(m.dataset.seq); });
    chart.addEventListener("focusout", () => at(held));
    chart.addEventListener("click", (e) => { const m = of(e); if (m) hold(m.dataset.seq); else { held = null; at(null); } });
    chart.addEventListener("keydown", (e) => {
      const m = of(e);
      if (e.key === "Escape") { held = null; at(null); }
      if (m && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); hold(m.dataset.seq); }
    });

    // place puts the lanes that are wanted below each other, and the curves between them.
    const place = () => {
      const wanted = new Set(boxes.filter((b) => b.checked).map((b) => b.dataset.group)), text = find.value.trim().toLowerCase();
      const at = new Map();
      let y = +chart.dataset.top, last = "";
      lanes.forEach((lane, n) => {
        const d = lane.dataset, off = !wanted.has(d.group) || !d.name.toLowerCase().includes(text);
        lane.classList.toggle("off", off);
        rows[n].classList.toggle("off", off);
        if (off) return;
        if (last !== d.group) y += 22;
        last = d.group;
        lane.setAttribute("transform", "translate(0 " + y + ")");
        rows[n].setAttribute("transform", "translate(0 " + y + ")");
        for (const m of rows[n].children) at.set(m.dataset.seq, [+m.dataset.x, y + +m.dataset.y]);
        y += +d.h;
      });
      const whole = wanted.size === boxes.length && !text;
      for (const l of links) {
        const a = at.get(l.dataset.from), b = at.get(l.dataset.to);
        l.classList.toggle("off", !a || !b);
        if (!a || !b) continue;
        const [c1, c2] = bend(a[0], b[0]);
        l.setAttribute("d", "M" + a + "C" + [c1, a[1], c2, b[1], ...b]);
      }
      for (const l of latencies) l.classList.toggle("off", !whole);
      for (const t of chart.querySelectorAll(".lane .group")) t.classList.toggle("off", !whole && !wanted.has(t.parentNode.dataset.group));
      chart.setAttribute("viewBox", "0 0 1200 " + (y + 10));
    };
    block.addEventListener("input", place);

    const scenario = chart.closest(".scenario");
    scenario.addEventListener("click", (e) => {
      const jump = e.target.closest(".jump");
      if (!jump || !marks.has(jump.dataset.seq)) return;
      chart.scrollIntoView({ block: "center" });
      held = null;
      hold(jump.dataset.seq);
    });
  }

  // A link to a scenario opens it.
  const open = () => {
    const s = location.hash && document.getElementById(location.hash.slice(1));
    if (s && s.matches("details")) { s.open = true; s.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
  document.querySelector(".index").addEventListener("click", (e) => { if (e.target.closest("a")) setTimeout(open); });
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.scenario:not([open])")];
    for (const d of closed) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of closed) d.open = false; });
})();
