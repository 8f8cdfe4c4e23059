// The page: fields for the attributes, the answer, and how it depends on each value.

const FIRST_EFFECTS = 12, CURVE_POINTS = 60, FEW_ROWS = 200, DAY = 86_400_000;
const byId = (id) => document.getElementById(id);
const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const drawn = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

// --- texts of values ---

function number(value, digits = 5) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) return value.toExponential(digits - 2);
  return String(Math.abs(value) >= 10 ** digits ? Math.round(value) : Number(value.toPrecision(digits))).replace("-", "\u2212");
}
const percent = (share) => `${(100 * share).toFixed(share > 0.0005 && share < 0.9995 ? 1 : 0)} %`;
const asDate = (days) => new Date(days * DAY).toISOString().slice(0, 10);

function valueText(attribute, value, digits) {
  if (Number.isNaN(value)) return "not known";
  if (attribute.levels) return attribute.levels[value];
  return attribute.kind === "date" ? asDate(value) : number(value, digits);
}

// A number for what someone typed: a value, the code of a level, or NaN; undefined if it is none of these.
function readText(attribute, text) {
  const word = text.trim();
  if (word === "") return NaN;
  if (attribute.levels) {
    const code = attribute.levels.indexOf(word);
    return code < 0 ? undefined : code;
  }
  const value = attribute.kind === "date" ? Date.parse(`${word}T00:00:00Z`) / DAY : Number(word);
  return Number.isFinite(value) ? value : undefined;
}

// --- the page ---

function startPage(model) {
  const used = model.attributes.map((attribute, place) => place).filter((place) => model.attributes[place].is_used);
  const fields = new Map();
  let row = model.attributes.map(() => NaN), showsAll = false, drawing = 0;

  function makeField(place) {
    const attribute = model.attributes[place], id = `value-${place}`;
    const input = attribute.levels
      ? element("select", { id }, element("option", { value: "", textContent: "not known" }),
        ...attribute.levels.map((level, code) => element("option", { value: code, textContent: level })))
      : element("input", { id, type: attribute.kind === "date" ? "date" : "number" });
    if (input.tagName === "INPUT" && input.type === "number") input.step = "any";
    const hint = attribute.low === null || attribute.levels ? ""
      : `${valueText(attribute, attribute.low, 3)} to ${valueText(attribute, attribute.high, 3)}`;
    const small = element("small", { id: `${id}-range`, textContent: hint });
    input.setAttribute("aria-describedby", small.id);
    fields.set(place, input);
    return element("div", { className: "field" }, element("label", { htmlFor: id, textContent: attribute.name }), input, small);
  }

  function readFields() {
    for (const [place, input] of fields) {
      const attribute = model.attributes[place];
      const value = attribute.levels ? (input.value === "" ? NaN : Number(input.value)) : readText(attribute, input.value);
      row[place] = value === undefined ? NaN : value;
    }
  }

  // --- the answer ---

  const isClass = model.classes !== null;
  const shown = (answers) => (isClass ? largestColumn(answers, model.tie) : 0);

  function showAnswer(answers) {
    byId("agreement").textContent = "";
    byId("shares").replaceChildren();
    if (answers === null) {
      byId("verdict").textContent = "Fill in all values";
      byId("agreement").textContent = "This model has no answer while a value is not known.";
      return;
    }
    if (!isClass) {
      byId("verdict").textContent = number(answers[0]);
      return;
    }
    const best = shown(answers);
    byId("verdict").textContent = model.classes[best];
    byId("agreement").textContent = agreement(best);
    const order = answers.map((share, column) => column).sort((one, other) => answers[other] - answers[one] || one - other);
    byId("shares").replaceChildren(...order.map((column) => {
      const bar = element("i");
      bar.style.width = `${100 * answers[column]}%`;
      return element("div", { className: column === best ? "share first" : "share" },
        element("span", { className: "name", textContent: model.classes[column] }),
        element("span", { className: "bar" }, bar),
        element("span", { className: "number", textContent: percent(answers[column]) }));
    }));
  }

  function agreement(best) {
    const known = fill(model, row);
    const voters = model.members.filter((member) => member.fill === null && member.start === 0 && member.outputs === model.classes.length);
    if (voters.length < 2) return "";
    const agreeing = voters.filter((member) => firstLargest(memberValues(model, member, known)) === best).length;
    return `${agreeing} of ${voters.length} trees agree.`;
  }

  // --- why ---

  function testText(member, node, branch) {
    const attribute = model.attributes[model.attribute[node]], missing = missingBranch(model, node);
    const orMissing = missing === branch ? " or not known" : "";
    if (attribute.levels) {
      const taking = attribute.levels.filter((level, code) => branchAt(model, member, node, { [model.attribute[node]]: code }) === branch);
      if (!taking.length) return "is not known";
      return `${taking.length === 1 ? `is ${taking[0]}` : `is one of ${taking.join(", ")}`}${orMissing}`;
    }
    const signs = member.strict ? ["<", "≥"] : ["≤", ">"], threshold = model.threshold[node];
    if (!Number.isFinite(threshold)) return orMissing ? "is not known" : "is known";
    return `${signs[branch]} ${valueText(attribute, threshold)}${orMissing}`;
  }

  function showPath() {
    byId("path").hidden = model.members.length !== 1;
    if (model.members.length !== 1) return;
    const member = model.members[0], lines = [];
    const known = fill(model, row).map((value, place) => (Number.isNaN(value) && member.fill ? member.fill[place] : value));
    let node = member.nodes;
    while (model.branch_counts[node] > 0) {
      const place = model.attribute[node], attribute = model.attributes[place], branch = branchAt(model, member, node, known);
      if (branch === MIXTURE) {
        const reason = Number.isNaN(known[place]) ? "is not known" : "is a level that training did not see here";
        lines.push(`${attribute.name} ${reason}: all branches below, in the shares of the training rows`);
        break;
      }
      const given = Number.isNaN(row[place]) ? "not known, so a usual value is taken" : valueText(attribute, row[place]);
      lines.push(`${attribute.name} ${testText(member, node, branch)} (${given})`);
      node = member.nodes + model.first_child[node] + branch;
    }
    if (model.branch_counts[node] === 0) {
      lines.push(`${number(model.weight[node])} training rows ended here${member.fill ? "; a linear formula gives the answer" : ""}`);
    }
    byId("steps").replaceChildren(...lines.map((line) => element("li", { textContent: line })));
  }

  const quantity = (answers, column) => (answers === null ? NaN : answers[column]);
  const difference = (change) => (isClass ? `${change >= 0 ? "+" : "−"}${Math.abs(100 * change).toFixed(1)} points`
    : `${change >= 0 ? "+" : "−"}${number(Math.abs(change), 4)}`);

  function effectsOf(answers, column) {
    const effects = used.map((place) => {
      if (Number.isNaN(row[place])) return { place, change: NaN };
      const blank = answersOf(model, row.map((value, other) => (other === place ? NaN : value)));
      return { place, change: quantity(answers, column) - quantity(blank, column) };
    });
    const size = (effect) => (Number.isNaN(effect.change) ? -1 : Math.abs(effect.change));
    return effects.sort((one, other) => size(other) - size(one) || one.place - other.place);
  }

  function curveOf(place, column) {
    const attribute = model.attributes[place];
    const at = (value) => quantity(answersOf(model, row.map((own, other) => (other === place ? value : own))), column);
    if (attribute.levels) return attribute.levels.map((level, code) => [code, at(code)]);
    const ends = [attribute.low ?? 0, attribute.high ?? 1, ...(Number.isNaN(row[place]) ? [] : [row[place]])];
    const low = Math.min(...ends), high = Math.max(...ends);
    return Array.from({ length: CURVE_POINTS + 1 }, (_, k) => low + ((high - low) * k) / CURVE_POINTS).map((value) => [value, at(value)]);
  }

  function drawEffect(change, largest) {
    if (Number.isNaN(change)) return element("span", { className: "effect note", textContent: "" });
    const width = largest > 0 ? (48 * Math.abs(change)) / largest : 0, kind = change >= 0 ? "up" : "down";
    const bar = drawn("rect", { x: change >= 0 ? 50 : 50 - width, y: 2, width, height: 10, class: `${kind}-bar` });
    const picture = drawn("svg", { viewBox: "0 0 100 14", "aria-hidden": "true", preserveAspectRatio: "none" },
      bar, drawn("line", { x1: 50, x2: 50, y1: 0, y2: 14, class: "axis" }));
    return element("div", { className: "effect" }, picture, element("span", { className: kind, textContent: difference(change) }));
  }

  function drawCurve(place, points, column, bounds) {
    const attribute = model.attributes[place], [least, most] = bounds;
    const heights = points.map(([, value]) => (most > least ? 46 - (44 * (value - least)) / (most - least) : 24));
    const text = (value) => (isClass ? percent(value) : number(value));
    const values = points.map(([, value]) => value);
    const label = `${attribute.name}: the ${isClass ? `probability of ${model.classes[column]}` : "answer"} ranges from ${text(Math.min(...values))} to ${text(Math.max(...values))}`;
    const picture = drawn("svg", { viewBox: "0 0 200 48", class: "curve", role: "img", "aria-label": label, preserveAspectRatio: "none" },
      drawn("rect", { x: 0, y: 0, width: 200, height: 48, class: "ground" }));
    if (attribute.levels) {
      const step = 200 / points.length;
      picture.append(...points.map(([code], k) => {
        const bar = drawn("rect", { x: k * step + step * 0.1, y: heights[k], width: step * 0.8, height: 48 - heights[k], class: row[place] === code ? "here" : "level" });
        bar.append(drawn("title", {}, `${attribute.levels[code]}: ${text(values[k])}`));
        return bar;
      }));
      return element("div", { className: "picture" }, picture);
    }
    const low = points[0][0], high = points[points.length - 1][0], x = (value) => (high > low ? (198 * (value - low)) / (high - low) + 1 : 100);
    picture.append(drawn("path", { d: points.map(([value], k) => `${k ? "L" : "M"}${x(value).toFixed(1)} ${heights[k].toFixed(1)}`).join("") }));
    if (!Number.isNaN(row[place])) {
      const here = quantity(answersOf(model, row), column);
      const height = most > least ? 46 - (44 * (here - least)) / (most - least) : 24;
      picture.append(drawn("path", { d: `M${x(row[place]).toFixed(1)} ${height.toFixed(1)}h0`, class: "dot" }));
    }
    const ends = element("div", { className: "range" }, element("span", { textContent: valueText(attribute, low, 3) }), element("span", { textContent: valueText(attribute, high, 3) }));
    return element("div", { className: "picture" }, picture, ends);
  }

  function showEffects(answers) {
    const body = byId("effects");
    body.replaceChildren();
    byId("more").hidden = true;
    if (answers === null) return;
    const column = shown(answers), effects = effectsOf(answers, column);
    const chosen = showsAll ? effects : effects.slice(0, FIRST_EFFECTS);
    const curves = chosen.map(({ place }) => curveOf(place, column));
    const heights = isClass ? [0, 1] : curves.flat().map(([, value]) => value);
    const bounds = [heights.reduce((a, b) => Math.min(a, b), Infinity), heights.reduce((a, b) => Math.max(a, b), -Infinity)];
    const largest = Math.max(0, ...effects.map(({ change }) => Math.abs(change) || 0));
    const what = isClass ? `the probability of “${model.classes[column]}”` : "the answer";
    byId("effects-note").textContent = `The effect is ${what}, less what it would be if the value were not known. The curve shows how it changes if this value alone changes.`;
    byId("curve-head").textContent = isClass ? "from 0 to 100 %" : `from ${number(bounds[0], 3)} to ${number(bounds[1], 3)}`;
    body.append(...chosen.map(({ place, change }, k) => element("li", {},
      element("span", { className: "name", textContent: model.attributes[place].name }),
      element("span", { className: "given", textContent: valueText(model.attributes[place], row[place]) }),
      drawEffect(change, largest),
      drawCurve(place, curves[k], column, bounds))));
    byId("more").hidden = effects.length <= FIRST_EFFECTS;
    byId("more").textContent = showsAll ? `Show the first ${FIRST_EFFECTS}` : `Show all ${effects.length} attributes`;
  }

  function update() {
    readFields();
    const answers = answersOf(model, row);
    showAnswer(answers);
    showPath();
    clearTimeout(drawing); // curves take longer: they wait until typing stops
    drawing = setTimeout(() => { showEffects(answers); document.documentElement.dataset.drawn = "yes"; }, 60);
    delete document.documentElement.dataset.drawn;
  }

  // --- many rows ---

  function splitLines(text) {
    const first = text.split("\n", 1)[0];
    const separator = ["\t", ";", ","].find((mark) => first.includes(mark)) ?? ",";
    const lines = [], cells = /("(?:[^"]|"")*"|[^\n\r]*?)(\r?\n|\r|$|[\t;,])/gy;
    let line = [], pending = "", match;
    while ((match = cells.exec(text)) !== null) {
      pending += match[1];
      if (match[2] === separator || match[2] === "" || /[\r\n]/.test(match[2])) {
        line.push(pending.startsWith('"') ? pending.slice(1, -1).replaceAll('""', '"') : pending);
        pending = "";
        if (match[2] !== separator) { lines.push(line); line = []; }
      } else pending += match[2];
      if (match[2] === "" && cells.lastIndex >= text.length) break;
    }
    return lines.filter((cellsOfLine) => cellsOfLine.some((cell) => cell.trim() !== ""));
  }

  function readRows(text) {
    const lines = splitLines(text);
    if (!lines.length) throw new Error("There are no rows.");
    const names = lines[0].map((name) => name.trim());
    const places = new Map(used.map((place) => [place, names.indexOf(model.attributes[place].name)]));
    const missing = used.filter((place) => places.get(place) < 0).map((place) => model.attributes[place].name);
    if (missing.length) throw new Error(`The first line lacks ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", …" : ""}.`);
    const notes = new Set();
    const rows = lines.slice(1).map((cells, k) => model.attributes.map((attribute, place) => {
      const text = (places.has(place) ? cells[places.get(place)] : "") ?? "", value = readText(attribute, text);
      if (value !== undefined) return value;
      if (!attribute.levels) throw new Error(`Row ${k + 1}: ${text} is no ${attribute.kind === "date" ? "date" : "number"} (${attribute.name}).`);
      notes.add(`${text} of ${attribute.name}`);
      return NaN;
    }));
    return { rows, notes };
  }

  function predictRows() {
    byId("predictions").hidden = byId("download").hidden = true;
    let given;
    try { given = readRows(byId("rows").value); } catch (error) { byId("counted").textContent = error.message; return; }
    const head = isClass ? ["prediction", ...model.classes.map((name) => `probability of ${name}`)] : ["prediction"];
    const lines = given.rows.map((each) => {
      const answers = answersOf(model, each);
      if (answers === null) return head.map(() => "");
      return isClass ? [model.classes[shown(answers)], ...answers] : [answers[0]];
    });
    const unknown = given.notes.size ? ` Levels that training did not have count as not known: ${[...given.notes].slice(0, 5).join(", ")}.` : "";
    byId("counted").textContent = `${lines.length} rows.${lines.length > FEW_ROWS ? ` The first ${FEW_ROWS} are shown.` : ""}${unknown}`;
    const [headRow, body] = [byId("predictions").querySelector("thead"), byId("predictions").querySelector("tbody")];
    headRow.replaceChildren(element("tr", {}, ...["row", ...head].map((name) => element("th", { scope: "col", textContent: name }))));
    body.replaceChildren(...lines.slice(0, FEW_ROWS).map((line, k) => element("tr", {}, element("th", { scope: "row", textContent: k + 1 }),
      ...line.map((cell) => element("td", { textContent: typeof cell === "number" ? number(cell) : cell })))));
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
    const csv = [head, ...lines].map((line) => line.map(quoted).join(",")).join("\n");
    URL.revokeObjectURL(byId("download").href);
    byId("download").href = URL.createObjectURL(new Blob([`${csv}\n`], { type: "text/csv" }));
    byId("predictions").hidden = byId("download").hidden = false;
  }

  // --- start ---

  byId("fields").append(...used.map(makeField));
  const others = model.attributes.filter((attribute) => !attribute.is_used);
  byId("unused").hidden = !others.length;
  byId("unused").querySelector("summary").textContent = `${others.length} further columns do not matter to the model`;
  byId("unused").querySelector("p").textContent = others.map((attribute) => attribute.name).join(", ");
  byId("values").addEventListener("input", update);
  byId("values").addEventListener("submit", (event) => event.preventDefault());
  byId("values").addEventListener("reset", () => setTimeout(update));
  byId("example").addEventListener("click", () => {
    for (const [place, input] of fields) {
      const { levels, kind, typical } = model.attributes[place];
      input.value = levels ? typical : kind === "date" ? asDate(typical) : Number(typical.toPrecision(5));
    }
    update();
  });
  byId("more").addEventListener("click", () => { showsAll = !showsAll; update(); });
  byId("predict").addEventListener("click", predictRows);
  byId("main").hidden = false;
  update();
}

readModel(JSON.parse(byId("model").textContent), byId("arrays").textContent)
  .then((model) => {
    globalThis.tremula = { model, answersOf: (row) => answersOf(model, row), classOf: (row) => largestColumn(answersOf(model, row), model.tie) };
    startPage(model);
    document.documentElement.dataset.ready = "yes";
  })
  .catch((error) => {
    byId("trouble").hidden = false;
    byId("trouble").textContent = `The model could not be read: ${error.message}. This page needs a browser of 2024 or later.`;
  });
