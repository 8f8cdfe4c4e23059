"use strict";

// The model: read from the page, and the answers of rows. A row has a number for each attribute: a value, the code of a
// level, or NaN where it is not known. Sums are taken in the order of tremula, so that answers agree to the last digits.

const MIXTURE = -1, MULTIWAY = -2, MISSING_FIRST = -3, MISSING_SECOND = -4, UNSEEN = 2;
const TYPES = { float64: Float64Array, int32: Int32Array, uint8: Uint8Array };

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function readModel(description, packed) {
  const buffer = await unpack(packed);
  const model = { ...description };
  for (const array of description.arrays) model[array.name] = new TYPES[array.type](buffer, array.start, array.length);
  model.members = [...model.member_weights].map((weight, number) => ({
    weight,
    nodes: model.node_starts[number],
    start: model.margin_starts[number],
    outputs: model.output_counts[number],
    values: model.value_starts[number],
    subsets: model.subset_starts[number],
    strict: model.strict[number] === 1,
    fill: model.fill_places[number] < 0 ? null
      : model.fills.subarray(model.fill_places[number], model.fill_places[number] + description.attributes.length),
  }));
  return model;
}

const isNumeric = (model, node) => model.index[node] < 0 && model.index[node] !== MULTIWAY;

// The branch of missing values at a split, and of levels that training did not see there; or MIXTURE.
function missingBranch(model, node) {
  const index = model.index[node];
  if (index >= 0) return model.threshold[node] === 1 ? 0 : model.threshold[node] === 2 ? 1 : MIXTURE;
  return index === MISSING_FIRST ? 0 : index === MISSING_SECOND ? 1 : MIXTURE;
}

// The branch that a row takes at a split, or MIXTURE.
function branchAt(model, member, node, row) {
  const value = row[model.attribute[node]];
  if (Number.isNaN(value)) return missingBranch(model, node);
  const index = model.index[node];
  if (isNumeric(model, node)) {
    const goesLeft = member.strict ? value < model.threshold[node] : value <= model.threshold[node];
    return goesLeft ? 0 : 1;
  }
  if (index === MULTIWAY) return value;
  const branch = model.subsets[member.subsets + index + value];
  return branch === UNSEEN ? missingBranch(model, node) : branch;
}

// The node where a row stops: a leaf, or a split that sends it down several branches.
function descend(model, member, node, row) {
  while (model.branch_counts[node] > 0) {
    const branch = branchAt(model, member, node, row);
    if (branch === MIXTURE) return node;
    node = member.nodes + model.first_child[node] + branch;
  }
  return node;
}

function shareOf(model, member, node, branch) {
  const first = member.nodes + model.first_child[node], count = model.branch_counts[node];
  let total = 0;
  for (let child = first; child < first + count; child++) total += model.weight[child];
  return total > 0 ? model.weight[first + branch] / total : 1 / count;
}

// Values of a node: of a leaf, or of a split that mixes its branches.
function valuesAt(model, member, start, row) {
  const node = descend(model, member, start, row);
  const first = member.values + model.index[node] * member.outputs;
  if (model.branch_counts[node] === 0) return model.values.subarray(first, first + member.outputs);
  const sums = new Float64Array(member.outputs);
  for (let branch = 0; branch < model.branch_counts[node]; branch++) {
    const share = shareOf(model, member, node, branch);
    if (share <= 0) continue;
    const below = valuesAt(model, member, member.nodes + model.first_child[node] + branch, row);
    for (let column = 0; column < sums.length; column++) sums[column] += share * below[column];
  }
  return sums;
}

function linearValue(model, member, row) {
  const known = row.map((value, attribute) => (Number.isNaN(value) ? member.fill[attribute] : value));
  const coefficients = valuesAt(model, member, member.nodes, known);
  let sum = coefficients[coefficients.length - 1];
  for (let term = 0; term < coefficients.length - 1; term++) {
    const value = known[model.term_attributes[term]], code = model.term_codes[term];
    sum += coefficients[term] * (code < 0 ? value : value === code ? 1 : 0);
  }
  return [sum];
}

function memberValues(model, member, row) {
  return member.fill === null ? valuesAt(model, member, member.nodes, row) : linearValue(model, member, row);
}

function firstLargest(values) {
  let best = 0;
  for (let column = 1; column < values.length; column++) if (values[column] > values[best]) best = column;
  return best;
}

function fill(model, row) {
  return row.map((value, attribute) => (Number.isNaN(value) ? model.filling[attribute] : value));
}

function margins(model, row) {
  const known = fill(model, row), total = Float64Array.from(model.offset);
  for (const member of model.members) {
    const values = memberValues(model, member, known);
    if (model.votes) total[firstLargest(values)] += member.weight;
    else for (let column = 0; column < values.length; column++) total[member.start + column] += member.weight * values[column];
  }
  return [...total];
}

const logistic = (value) => (value >= 0 ? 1 / (1 + Math.exp(-value)) : Math.exp(value) / (1 + Math.exp(value)));
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Links by name, from margins to answers.
const LINKS = {
  identity: (link, values) => values,
  logistic: (link, values) => [1 - logistic(values[0]), logistic(values[0])],
  share: (link, values) => values.map(logistic),
  softmax: (link, values) => {
    const largest = Math.max(...values), weights = values.map((value) => Math.exp(value - largest)), total = sum(weights);
    return weights.map((weight) => weight / total);
  },
  exponential: (link, values) => values.map(Math.exp),
  positive: (link, values) => {
    const shares = values.map((value) => Math.max(value, 0)), total = sum(shares);
    if (total > 0) return shares.map((share) => share / total);
    const best = largestColumn(values, link.tie);
    return values.map((value, column) => (column === best ? 1 : 0));
  },
  linear: (link, values) => link.matrix.map((row, number) => sum(row.map((factor, k) => factor * values[k])) + link.offset[number]),
  stretches: (link, values) => {
    let start = 0;
    return link.links.flatMap((part, number) => {
      start += link.sizes[number];
      return applyLink(part, values.slice(start - link.sizes[number], start));
    });
  },
  chain: (link, values) => link.links.reduce((answers, part) => applyLink(part, answers), values),
  interpolation: (link, values) => {
    const { scores, shares } = link, score = values[0], last = scores.length - 1;
    let share = shares[last];
    if (score <= scores[0]) share = shares[0];
    else if (score < scores[last]) {
      const place = scores.findIndex((point) => score < point) - 1;
      const slope = (shares[place + 1] - shares[place]) / (scores[place + 1] - scores[place]);
      share = shares[place] + slope * (score - scores[place]);
    }
    return [1 - share, share];
  },
  logarithm: (link, values) => values.map((value, column) => {
    const share = (1 - link.prior_share) * value + link.prior_share * link.prior[column];
    return link.power * Math.log(Math.min(Math.max(share, link.least), 1));
  }),
};

function applyLink(link, values) {
  return LINKS[link.kind](link, values);
}

// Class probabilities, or one number; null if the model has no answer for a row with missing values.
function answersOf(model, row) {
  const lacks = (attribute) => Number.isNaN(row[attribute]) && model.attributes[attribute].is_used;
  if (model.no_missing && row.some((value, attribute) => lacks(attribute))) return null;
  return applyLink(model.link, margins(model, row));
}

// The column of the largest share; of shares that differ by no more than a tie, the first.
function largestColumn(shares, tie) {
  const best = Math.max(...shares), least = best - tie * Math.abs(best);
  return shares.findIndex((share) => share >= least);
}
