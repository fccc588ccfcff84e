"use strict";
// The page of a run: filters, colours, the card of a design, and the table of designs. No library, nothing fetched.
(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("data").textContent);
  if (!data.rows.length) return;
  const NAMES = ["hash", "trial", "times", "scores", "costs", "feasible", "trained", "choices"];
  const designs = data.rows.map((row) => Object.fromEntries(NAMES.map((name, i) => [name, row[i]])));
  const front = new Set(data.front);
  const layers = [...new Set(data.columns.map(([layer]) => layer))];
  const kinds = data.kinds.filter((kind) => data.columns.some(([, , own]) => own === kind));
  const share = (quantity) => quantity.unit === "share";
  const percent = (value) => (100 * value).toFixed(1) + " %";
  // Counts as they are; of other numbers four digits.
  const count = (value) => value.toLocaleString("en", Number.isInteger(value) ? {} : Math.abs(value) < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 1 });
  const display = (quantity, value) =>
    share(quantity) ? percent(value) : quantity.shown_unit ? count(value * quantity.scale) : count(value);
  // With the unit, and with the exact value beside one that is shown in another unit.
  const told = (quantity, value) =>
    quantity.shown_unit ? `${display(quantity, value)} ${quantity.shown_unit} (${count(value)} ${quantity.unit})`
      : `${count(value)} ${quantity.unit || quantity.label}`;

  const choice = (design, column) => {
    const index = design.choices[column];
    return index < 0 ? null : data.columns[column][3][index];
  };
  // [label, value] of the choices of one kind at one layer; value is null where a choice has no effect.
  const choices = (design, layer, kind) => data.columns
    .map(([l, label, k], i) => (l === layer && k === kind ? [label, choice(design, i)] : null))
    .filter((found) => found !== null);
  // A truth value in words: yes or no, or its label with or without "no".
  const worded = (value, label) => (typeof value !== "boolean" ? value : label ? (value ? label : `no ${label}`) : value ? "yes" : "no");
  // Numbers that follow each other are multiplied, other values are set apart.
  const layerText = (design, layer) => choices(design, layer, kinds[0]).filter(([, value]) => value !== null)
    .reduce(([text, before], [label, value]) => {
      const number = typeof value === "number";
      return [text + (before && number ? "×" : text ? " · " : "") + worded(value, label), number];
    }, ["", false])[0];
  // A text for each layer; one text where layers have only one choice each, as a sequence of operations has.
  const described = data.columns.filter(([, , kind]) => kind === kinds[0]).map(([layer]) => layer);
  const inLine = new Set(described).size === described.length;
  const texts = (design) => {
    const found = layers.map((layer) => layerText(design, layer)).filter((text) => text);
    return inLine && found.length > 1 ? [found.join(" → ")] : found;
  };
  // Everything that is shown goes in as text, never as markup.
  const make = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  // Points: the drawings hold one circle for each design, in the order of the designs.
  const charts = [...document.querySelectorAll("svg.points")].map((svg) => {
    const circles = [...svg.querySelectorAll(".marks circle")];
    const places = circles.map((circle) => [Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy"))]);
    const order = places.map((_, i) => i).sort((a, b) => places[a][0] - places[b][0] || places[b][1] - places[a][1]);
    return { svg, circles, places, order, front: new Set(JSON.parse(svg.dataset.front)), ring: svg.querySelector(".ring") };
  });

  // Filters
  const form = element("filters");
  const selects = [...form.querySelectorAll("select[data-column]")];
  let visible = designs.map(() => true);
  const ranking = data.scores[0];
  const factor = share(ranking) ? 100 : 1;
  const values = designs.map((design) => design.scores[0]);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const step = share(ranking) ? 0.5 : (highest - lowest) / 100 || 1;
  const slider = element("least");
  slider.step = step;
  slider.min = Math.floor(factor * lowest / step) * step;
  slider.max = Math.floor(factor * highest / step) * step;
  slider.value = slider.min;
  slider.defaultValue = slider.min;

  const filter = () => {
    const wanted = selects.filter((select) => select.value !== "").map((select) => [Number(select.dataset.column), Number(select.value)]);
    const least = Number(slider.value) / factor;
    const reuse = element("reuse") ? element("reuse").value : "";
    const onlyFront = element("only-front").checked;
    visible = designs.map((design, i) =>
      wanted.every(([column, option]) => design.choices[column] === option) && design.scores[0] >= least - 1e-9 &&
      (reuse === "" || design.trained === Number(reuse)) && (!onlyFront || front.has(i)));
    element("least-value").textContent = slider.value + (share(ranking) ? " %" : "");
    const left = visible.filter(Boolean).length;
    element("shown").textContent = left === designs.length ? `${count(left)} designs` : `${count(left)} of ${count(designs.length)} designs`;
    for (const chart of charts) chart.circles.forEach((circle, i) => circle.classList.toggle("off", !visible[i]));
    for (const table of document.querySelectorAll("table.rows:not(#table)")) {
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) row.hidden = !visible[Number(row.dataset.i)];
      table.closest(".scroll").nextElementSibling.hidden = rows.some((row) => !row.hidden);
    }
    hide();
    limit = FIRST;
    list();
  };

  // Colours
  const colour = () => {
    const chosen = element("colour").value;
    const when = chosen === "when";
    const group = when ? (design) => Math.min(4, Math.floor(5 * design.trial / data.trials)) : (design) => Math.max(0, design.choices[Number(chosen)]);
    for (const chart of charts) chart.circles.forEach((circle, i) => {
      const classes = [(when ? "w" : "k") + group(designs[i])];
      if (chart.front.has(i)) classes.push("on-front");
      if (!designs[i].feasible) classes.push("infeasible");
      if (!visible[i]) classes.push("off");
      circle.setAttribute("class", classes.join(" "));
    });
    const labels = when ? ["first fifth", "second", "third", "fourth", "last fifth"] : data.columns[Number(chosen)][3].map((value) => worded(value));
    const entries = labels.map((label, i) => make("li", label, (when ? "w" : "k") + i));
    element("legend").replaceChildren(...entries);
  };

  // The card of a design
  const card = element("card");
  let shown = -1;
  let pinned = false;
  const fill = (i) => {
    const design = designs[i];
    const head = make("p");
    head.append(make("span", display(ranking, design.scores[0]), "value"), " " + [ranking.label.toLowerCase(),
      ...data.scores.slice(1).map((score, j) => `${score.label.toLowerCase()} ${display(score, design.scores[j + 1])}`)].join(", "));
    const prices = make("p", data.costs.map((cost, j) => told(cost, design.costs[j])).join(", "));
    const table = make("table");
    const header = table.createTHead().insertRow();
    header.append(make("th", "Layer"), ...layers.map((layer) => make("td", layer === null ? "all" : layer)));
    const body = table.createTBody();
    const add = (label, of) => {
      const row = body.insertRow();
      row.append(make("th", label), ...layers.map((layer) => make("td", of(layer))));
    };
    const known = (value) => (value === null || value === undefined ? "–" : worded(value));
    // A row for each choice of the first kind, and one for all choices of each other kind.
    for (const label of new Set(data.columns.filter(([, , kind]) => kind === kinds[0]).map(([, name]) => name)))
      add(label, (layer) => known((choices(design, layer, kinds[0]).find(([name]) => name === label) || [])[1]));
    for (const kind of kinds.slice(1)) add(kind, (layer) => choices(design, layer, kind).map(([, value]) => known(value)).join(" "));
    const foot = make("p", `${design.hash}, trial ${design.trial}` + (design.times > 1 ? `, drawn ${design.times} times` : "") + (design.feasible ? "" : ", breaks a limit"), "note");
    card.replaceChildren(head, prices, table, foot);
  };
  const show = (i, chart) => {
    if (i < 0) return;
    if (i !== shown) fill(i);
    shown = i;
    for (const other of charts) {
      other.ring.classList.add("here");
      other.ring.setAttribute("cx", other.places[i][0]);
      other.ring.setAttribute("cy", other.places[i][1]);
    }
    for (const row of document.querySelectorAll("table.rows tr[data-i]")) row.classList.toggle("lit", Number(row.dataset.i) === i);
    card.hidden = false;
    const box = chart.circles[i].getBoundingClientRect();
    const right = box.right + 16 + card.offsetWidth < document.documentElement.clientWidth;
    card.style.left = Math.max(8, right ? box.right + 14 : box.left - card.offsetWidth - 14) + "px";
    card.style.top = Math.max(8, Math.min(box.top - 40, window.innerHeight - card.offsetHeight - 8)) + "px";
  };
  const hide = () => {
    shown = -1;
    pinned = false;
    card.hidden = true;
    card.classList.remove("pinned");
    for (const chart of charts) chart.ring.classList.remove("here");
    for (const row of document.querySelectorAll("tr.lit")) row.classList.remove("lit");
  };
  const pin = () => {
    pinned = shown >= 0;
    card.classList.toggle("pinned", pinned);
  };
  const nearest = (chart, event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.svg.getScreenCTM().inverse());
    let best = -1;
    let least = 30 ** 2;
    chart.places.forEach(([x, y], i) => {
      const distance = (x - point.x) ** 2 + (y - point.y) ** 2;
      if (visible[i] && distance < least) [best, least] = [i, distance];
    });
    return best;
  };
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  const walk = (chart, key) => {
    const order = chart.order.filter((i) => visible[i]);
    if (!order.length) return;
    const here = order.indexOf(shown);
    const next = key === "Home" ? 0 : key === "End" ? order.length - 1 : here < 0 ? 0 : here + steps[key];
    show(order[Math.max(0, Math.min(order.length - 1, next))], chart);
  };
  for (const chart of charts) {
    chart.svg.addEventListener("pointermove", (event) => {
      if (pinned || event.pointerType === "touch") return;
      const i = nearest(chart, event);
      if (i < 0) hide(); else show(i, chart);
    });
    chart.svg.addEventListener("pointerleave", () => { if (!pinned && document.activeElement !== chart.svg) hide(); });
    chart.svg.addEventListener("click", (event) => {
      const i = nearest(chart, event);
      pinned = false;
      if (i < 0) hide(); else { show(i, chart); pin(); }
    });
    chart.svg.addEventListener("focus", () => { if (shown < 0 && chart.svg.matches(":focus-visible")) walk(chart, "Home"); });
    chart.svg.addEventListener("blur", () => { if (!pinned) hide(); });
    chart.svg.addEventListener("keydown", (event) => {
      if (event.key in steps || event.key === "Home" || event.key === "End") {
        event.preventDefault();
        walk(chart, event.key);
      } else if (event.key === "Enter") pin();
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("scroll", () => { if (!pinned && shown >= 0) hide(); }, { passive: true });

  // The table of designs
  const FIRST = 25;
  const table = element("table");
  let limit = FIRST;
  let by = "score 0";
  let direction = -1;
  const list = () => {
    const order = designs.map((_, i) => i).filter((i) => visible[i]);
    const [group, place] = by.split(" ");
    const key = { score: (design) => design.scores[place], cost: (design) => design.costs[place] }[group] || ((design) => design[group]);
    order.sort((a, b) => direction * (key(designs[a]) - key(designs[b])) || a - b);
    const rows = order.slice(0, limit).map((i) => {
      const design = designs[i];
      const row = make("tr");
      row.dataset.i = i;
      const trial = make("th", design.trial);
      trial.scope = "row";
      const what = make("td", undefined, "what");
      what.append(...texts(design).map((text) => make("span", text)));
      const cells = [...data.scores.map((score, j) => display(score, design.scores[j])),
        ...data.costs.map((cost, j) => display(cost, design.costs[j])), design.times];
      row.append(trial, what, ...cells.map((cell) => make("td", cell, "n")));
      return row;
    });
    table.tBodies[0].replaceChildren(...rows);
    element("listed").textContent = order.length ? `${count(rows.length)} of ${count(order.length)} shown` : "No design passes the filters.";
    element("more").hidden = rows.length === order.length;
  };
  table.tHead.addEventListener("click", (event) => {
    const name = event.target.dataset.sort;
    if (!name) return;
    direction = name === by ? -direction : name.startsWith("score") || name === "times" ? -1 : 1;
    by = name;
    for (const head of table.tHead.querySelectorAll("th")) head.removeAttribute("aria-sort");
    event.target.closest("th").setAttribute("aria-sort", direction < 0 ? "descending" : "ascending");
    list();
  });
  element("more").addEventListener("click", () => { limit += 100; list(); });

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => { if (event.target.id === "colour") colour(); else filter(); });
  form.addEventListener("reset", () => setTimeout(() => { filter(); colour(); }));
  // A point of a projection leads to the chain of its mapping, which is folded.
  const unfold = () => {
    const target = element(location.hash.slice(1));
    if (target && target.matches("details")) target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  filter();
  colour();
})();
