// Interactions: choose the metric, sort the table, change the colours, copy the command.
// Without JavaScript the page still has all its tables. Nothing here writes HTML from data.
(() => {
  "use strict";
  const { config, charts } = JSON.parse(document.getElementById("drawings").textContent);
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
  let metric = document.querySelector("#metrics input:checked")?.value ?? Object.keys(charts.ranking)[0];

  // Charts. On a phone, names take at most 40 % of the width, and legends have one column.
  const narrow = (width) => width < 520;
  const fitted = (width) => ({
    ...config,
    axis: { ...config.axis, labelLimit: Math.min(260, Math.round(width * 0.42)) },
    legend: { ...config.legend, columns: narrow(width) ? 1 : 2, labelLimit: Math.round(width * 0.6) },
  });
  const drawn = new Map();
  const widths = new Map();
  async function draw(place) {
    const specs = charts[place.dataset.chart];
    const spec = specs[""] ?? specs[metric];
    const absent = place.parentElement.querySelector(".absent");
    if (absent) absent.hidden = Boolean(spec);
    place.hidden = !spec;
    const width = place.clientWidth;
    if (spec && width === 0) { widths.delete(place); return; } // in a folded section: drawn when it opens
    drawn.get(place)?.finalize();
    if (!spec) return;
    widths.set(place, width);
    const described = { ...structuredClone(spec), description: place.dataset.description };
    drawn.set(place, await vegaEmbed(place, described, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, config: fitted(width),
    }));
  }
  const drawAll = () => Promise.all([...document.querySelectorAll(".chart")].map(draw));
  const drawSwitched = () => Promise.all(
    [...document.querySelectorAll(".chart")].filter((place) => !charts[place.dataset.chart][""]).map(draw));

  // The chosen metric changes the charts, the verdicts and the order of the table.
  function choose(name) {
    metric = name;
    const blocks = [...document.querySelectorAll(".of-metric")];
    blocks.forEach((block) => { block.hidden = block.dataset.metric !== metric; });
    each(".of-none", (note) => { note.hidden = blocks.some((block) => !block.hidden); });
    each("#methods th", (head) => head.classList.toggle("chosen", head.dataset.metric === metric));
    return drawSwitched();
  }
  each("#metrics", (field) => {
    field.hidden = false;
    field.addEventListener("change", (event) => {
      choose(event.target.value);
      const head = [...document.querySelectorAll("#methods thead th")].find((one) => one.dataset.metric === metric);
      if (head) sort(head, head.dataset.first);
    });
  });

  // Sorting: missing values come last in both directions.
  function sort(head, direction) {
    const table = head.closest("table");
    const column = head.cellIndex;
    const sign = direction === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].map((row) => {
      const cell = row.cells[column];
      const text = cell.dataset.value ?? cell.textContent.trim();
      return { row, text, number: text === "" ? NaN : Number(text) };
    });
    const numeric = rows.some(({ number }) => !Number.isNaN(number));
    rows.sort((a, b) => numeric
      ? (Number.isNaN(a.number) - Number.isNaN(b.number)) || sign * (a.number - b.number) || 0
      : sign * a.text.localeCompare(b.text));
    table.tBodies[0].append(...rows.map(({ row }) => row));
    table.querySelectorAll("thead th").forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction);
  }
  each(".sortable thead button", (button) => button.addEventListener("click", () => {
    const head = button.closest("th");
    const before = head.getAttribute("aria-sort");
    const first = head.dataset.first ?? "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    sort(head, before === first ? second : first);
  }));

  // Colours come from the style sheet; the choice is remembered if the browser allows it.
  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = (act) => { try { return act(localStorage); } catch { return null; } };
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  function labelTheme() { theme.textContent = isDark() ? "Light colours" : "Dark colours"; }
  const kept = remembered((store) => store.getItem("tremula-theme"));
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remembered((store) => store.setItem("tremula-theme", next));
    labelTheme();
  });
  dark.addEventListener("change", labelTheme);
  labelTheme();

  each("#copy", (button) => {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(document.getElementById("command").textContent);
        button.textContent = "Copied";
      } catch { button.textContent = "Copying is not allowed: select the command and copy it"; }
    });
  });

  // Whoever points at a verdict reads the whole of it; it is put together here to keep the file small.
  each(".matrix", (table) => table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td");
    const words = cell?.querySelector("i")?.textContent;
    if (!words || cell.title) return;
    const name = (head) => head.lastChild.textContent.trim();
    cell.title = `${name(cell.parentElement.cells[0])} against ${name(table.tHead.rows[0].cells[cell.cellIndex])}: ${words}`;
  }));

  // Sections fold. All are drawn open, and open again for paper and for links to them.
  const sections = [...document.querySelectorAll("details.part")];
  const reveal = () => {
    const section = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = section && (section.querySelector(":scope > .part") ?? section.closest(".part"));
    if (part) part.open = true;
  };
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = sections.filter((part) => !part.open);
    folded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => { folded.forEach((part) => { part.open = false; }); });
  sections.forEach((part) => part.addEventListener("toggle", () => {
    if (part.open) part.querySelectorAll(".chart").forEach((place) => { if (widths.get(place) !== place.clientWidth) draw(place); });
  }));
  each("nav a", (link) => link.addEventListener("click", () => {
    document.querySelectorAll(`${link.hash} > .part`).forEach((part) => { part.open = true; });
  }));
  addEventListener("hashchange", reveal);

  let last = innerWidth, waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (innerWidth !== last) { last = innerWidth; drawAll(); } }, 200);
  });
  each("#methods th", (head) => head.classList.toggle("chosen", head.dataset.metric === metric));
  drawAll().then(() => {
    sections.filter((part) => "folded" in part.dataset).forEach((part) => { part.open = false; });
    reveal();
    document.documentElement.dataset.ready = "yes";
  });
})();
