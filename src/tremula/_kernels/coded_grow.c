/* Grows a tree from a table of codes, depth first; see `coded_tree.h`. The tree is the one that `grow.pyx` grows from
 * sorted lists: attributes are drawn and judged in the same order, and ties are decided alike.
 *
 * Compiled once for each width of a code (CODE_WIDTH bytes) and each kind of processor, under the name GROW_CODED. With
 * eight bytes codes are the values themselves, and thresholds are drawn.
 */
#include "coded_drawn.h"
#include "coded_split.h"

/* ---- opening a node */

/* Gathers the marks of the rows, with the numbers of their classes; where the node has all classes, these are the codes. */
IN_PLACE void gather_marks(CodedTree *tree, const OpenNode *node) {
    const uint32_t *marks = node->source.marks, *rows = node->rows, *numbers = tree->class_number;
    uint32_t *gathered = tree->node_marks;
    int64_t n = node->n_rows;
    if (node->n_classes == tree->n_classes) {
        for (int64_t i = 0; i < n; i++) gathered[i] = marks[rows[i]];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t mark = marks[rows[i]];
        gathered[i] = numbers[mark >> CLASS_SHIFT_OF_MARK] << CLASS_SHIFT_OF_MARK | (mark & COUNT_MASK);
    }
}

/* Numbers the classes present, and gathers the marks of the rows with these numbers. */
IN_PLACE void open_classes(CodedTree *tree, OpenNode *node, const double *statistics, int criterion) {
    int64_t n_present = 0;
    double within = 0.0;
    node->term = 0;
    for (int64_t code = 0; code < tree->n_classes; code++) {
        uint32_t count = (uint32_t)statistics[code];
        if (!count) continue;
        tree->class_number[code] = (uint32_t)n_present;
        tree->class_code[n_present] = (uint32_t)code;
        tree->totals[n_present++] = count;
        if (criterion == CODED_GINI) {
            node->term += (int64_t)count * count;
        } else {
            node->term += tree->terms[count];
            within += quick_x_log_x(count);
        }
    }
    node->n_classes = n_present;
    node->total = (int64_t)node->weight;
    node->within = criterion == CODED_GINI ? (double)node->term / node->weight : within;
    node->branches = criterion == CODED_GINI ? 0.0 : quick_x_log_x(node->weight);
    gather_marks(tree, node);
    if (tree->rules.random_threshold)
        for (int64_t i = 0; i < node->n_rows; i++) tree->class_end[tree->node_marks[i] >> CLASS_SHIFT_OF_MARK] = i + 1;
}

/* The same of rows with real weights. */
IN_PLACE void open_weights(CodedTree *tree, OpenNode *node, const double *statistics, int criterion) {
    int64_t n_present = 0;
    node->within = node->branches = 0.0;
    for (int64_t code = 0; code < tree->n_classes; code++) {
        double weight = statistics[code];
        if (!(weight > 0.0)) continue;
        tree->class_number[code] = (uint32_t)n_present;
        tree->class_code[n_present] = (uint32_t)code;
        tree->weight_totals[n_present] = weight;
        tree->weight_terms[n_present] = criterion == CODED_GINI ? weight * weight : quick_x_log_x(weight);
        node->within += tree->weight_terms[n_present++];
    }
    node->n_classes = n_present;
    if (criterion == CODED_GINI) node->within /= node->weight;
    else node->branches = quick_x_log_x(node->weight);
    gather_marks(tree, node);
    for (int64_t i = 0; i < node->n_rows; i++) tree->node_weights[i] = node->source.weights[node->rows[i]];
}

IN_PLACE void open_numbers(CodedTree *tree, OpenNode *node) {
    node->total = node->sum = 0;
    node->n_classes = 0;
    for (int64_t i = 0; i < node->n_rows; i++) {
        uint32_t mark = node->source.marks[node->rows[i]];
        int32_t target = node->source.targets[node->rows[i]];
        tree->node_marks[i] = mark;
        tree->node_targets[i] = target;
        node->total += mark;
        node->sum += (int64_t)target * mark;
    }
    node->within = (double)node->sum * (double)node->sum / (double)node->total;
    if (tree->rules.random_threshold) return;
    for (int64_t i = 0; i < node->n_rows; i++) {
        double weight = (int32_t)tree->node_marks[i];
        tree->node_pairs[i] = (NumberPair){(double)tree->node_targets[i] * weight, weight};
    }
}

/* Copies the codes of a small node side by side; its rows become numbers in the copy. */
static void copy_rows_of_node(CodedTree *tree, CodedFrame *frame) {
    uint32_t *rows = tree->rows + frame->start;
    int64_t n = frame->end - frame->start, stride = tree->table.stride;
    for (int64_t i = 0; i < n; i++) {
        PREFETCH(tree->table.codes + rows[i + AHEAD] * stride);
        memcpy(tree->local_codes + i * stride, tree->table.codes + rows[i] * stride, stride);
        tree->local_marks[i] = tree->marks[rows[i]];
        tree->local_origins[i] = rows[i];
        if (tree->target == NUMBERS) {
            tree->local_targets[i] = tree->targets[rows[i]];
            tree->local_numbers[i] = tree->numbers[rows[i]];
        }
        if (tree->target == WEIGHTED_CLASSES) tree->local_weights[i] = tree->weights[rows[i]];
        if (tree->table.bits != NULL) tree->local_bits[i] = tree->table.bits[rows[i]];
        rows[i] = (uint32_t)i;
    }
    frame->is_local = 1;
}

IN_PLACE void open_coded_node(CodedTree *tree, CodedFrame *frame, int criterion, int has_weights) {
    OpenNode *node = &tree->node;
    double least = ceil(tree->rules.min_side_weight);
    if (!frame->is_local && frame->end - frame->start <= tree->local_rows) copy_rows_of_node(tree, frame);
    node->source = frame->is_local
                       ? (RowSource){tree->local_codes, tree->local_marks, tree->local_targets, tree->local_numbers,
                                     tree->local_weights, tree->table.bits != NULL ? tree->local_bits : NULL}
                       : (RowSource){tree->table.codes, tree->marks, tree->targets, tree->numbers, tree->weights,
                                     tree->table.bits};
    node->is_local = frame->is_local;
    node->constant = frame->constant;
    node->rows = tree->rows + frame->start;
    node->n_rows = frame->end - frame->start;
    node->weight = tree->nodes[frame->node].weight;
    node->slack = tree->rules.tolerance * node->weight;
    node->least = least > 1.0 ? (int64_t)least : 1;
    node->best = (CodedCut){-INFINITY, NAN, -1, 0, 0, 0};
    open_bits(tree, node);
    if (criterion == CODED_VARIANCE) open_numbers(tree, node);
    else if (has_weights) open_weights(tree, node, tree->statistics + frame->node * tree->n_statistics, criterion);
    else open_classes(tree, node, tree->statistics + frame->node * tree->n_statistics, criterion);
}

/* ---- choosing the split */

/* Costs, in about processor cycles, of the ways to judge an attribute; measured. */
#define CELL_ROW 5              /* histogram: a row, */
#define CELL_CODE 10            /* a code, */
#define CELL_CLASS 3            /* a class of a code; */
#define NARROW_ROW 4            /* the same where many cuts are judged at a time */
#define NARROW_CODE 4
#define NARROW_CLASS 1.5
#define SORT_ROW 24             /* sorting many rows: a row, */
#define SORT_START 500          /* and the buckets */
#define COMPARE_ROW 14          /* sorting few rows: a row, */
#define COMPARE_PAIR 0.2        /* and a pair of rows */
#define BIN_ROWS 512            /* bins are quicker than sorting for more rows than this, */
#define BIN_CLASS_ROWS 64       /* and so many more for each class */

/* Whether a histogram of single codes is quicker than sorting. */
IN_PLACE int is_worth_cells(const OpenNode *node, int64_t n_codes, int is_narrow) {
    double n = (double)node->n_rows, k = (double)node->n_classes;
    double cells = is_narrow ? NARROW_ROW * n + n_codes * (NARROW_CODE + NARROW_CLASS * k)
                             : CELL_ROW * n + n_codes * (CELL_CODE + CELL_CLASS * k);
    double sorting = n <= MAX_COMPARED ? n * (COMPARE_ROW + COMPARE_PAIR * n) : SORT_START + SORT_ROW * n;
    return n_codes <= MAX_CELL_CODES && cells < sorting;
}

/* Whether bins of several codes are quicker than sorting all rows. */
IN_PLACE int is_worth_bins(const OpenNode *node, int criterion) {
    if (criterion == CODED_ENTROPY) return 0;
    return node->n_rows > BIN_ROWS + BIN_CLASS_ROWS * node->n_classes;
}

/* Judges the cuts of a numeric attribute in a node of rows with real weights. */
IN_PLACE int judge_weighted_attribute(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    int64_t n_codes = tree->table.n_codes[attribute];
    if (node->best.is_perfect) return codes_differ(tree, node, attribute, width);
    if (is_worth_cells(node, n_codes, 0)) return judge_weight_cells(tree, node, attribute, width, criterion);
    if (node->n_rows <= MAX_COMPARED) return judge_few_weights(tree, node, attribute, width, criterion);
    if (n_codes > MAX_CELL_CODES && node->n_rows > BIN_ROWS + BIN_CLASS_ROWS * node->n_classes)
        return judge_weight_bins(tree, node, attribute, width, criterion);
    return judge_sorted_weights(tree, node, attribute, width, criterion);
}

/* Judges the cuts of a numeric attribute. Returns whether its codes differ in the node. */
IN_PLACE int judge_coded_attribute(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    int64_t n_codes = tree->table.n_codes[attribute];
    int is_narrow = criterion == CODED_GINI && node->total <= MAX_NARROW, is_exact = node->total <= MAX_EXACT;
    if (node->best.is_perfect) return codes_differ(tree, node, attribute, width);
    if (node->n_rows == 2) {
        if (criterion == CODED_VARIANCE) return judge_pair_of_numbers(tree, node, attribute, width);
        return judge_pair(tree, node, attribute, width, criterion);
    }
    if (is_worth_cells(node, n_codes, is_narrow)) {
        if (criterion == CODED_VARIANCE && is_exact) return judge_pair_cells(tree, node, attribute, width);
        if (criterion == CODED_VARIANCE) return judge_number_cells(tree, node, attribute, width);
        if (is_narrow) return judge_narrow_cells(tree, node, attribute);
        return judge_class_cells(tree, node, attribute, width, criterion);
    }
    if (node->n_rows <= MAX_COMPARED) {
        if (criterion == CODED_VARIANCE) return judge_few_pairs(tree, node, attribute, width);     /* 64 * 65535 are exact */
        if (is_narrow && node->n_classes <= MOST_PACKED) return judge_few_narrow(tree, node, attribute, width, 1);
        if (is_narrow) return judge_few_narrow(tree, node, attribute, width, 0);
        return judge_few_of_classes(tree, node, attribute, width, criterion);
    }
    if (n_codes > MAX_CELL_CODES && is_worth_bins(node, criterion)) {
        if (is_narrow) return judge_narrow_bins(tree, node, attribute);
        if (!codes_differ(tree, node, attribute, width)) return 0;
        if (criterion == CODED_VARIANCE) judge_number_bins(tree, node, attribute, width);
        else judge_class_bins(tree, node, attribute, width);
        return 1;
    }
    if (criterion == CODED_VARIANCE && is_exact) return judge_sorted_pairs(tree, node, attribute, width);
    if (criterion == CODED_VARIANCE) return judge_sorted_numbers(tree, node, attribute, width);
    if (is_narrow && node->n_classes <= MOST_PACKED) return judge_sorted_narrow(tree, node, attribute, width, 1);
    if (is_narrow) return judge_sorted_narrow(tree, node, attribute, width, 0);
    return judge_sorted_classes(tree, node, attribute, width, criterion);
}

IN_PLACE int judge_any_attribute(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion,
                                 int has_weights) {
    if (tree->table.n_levels[attribute] > 0) {
        if (node->best.is_perfect) return codes_differ(tree, node, attribute, width);
        return judge_levels(tree, node, attribute);
    }
    if (CODE_WIDTH == 8 || tree->rules.random_threshold) return judge_drawn(tree, node, attribute);
    if (has_weights) return judge_weighted_attribute(tree, node, attribute, width, criterion);
    return judge_coded_attribute(tree, node, attribute, width, criterion);
}

/* Judges an attribute, by its place among those in use, unless it is known to be constant. Returns whether it varies:
 * an attribute that does not is constant in all nodes below. */
IN_PLACE int look_at_attribute(CodedTree *tree, OpenNode *node, int64_t place, int width, int criterion,
                               int has_weights) {
    uint64_t bit = place < 64 ? (uint64_t)1 << place : 0;
    int64_t attribute = tree->table.attributes[place], twin = tree->table.twins[attribute];
    if (node->constant & bit) return 0;
    if (!has_weights && bit & tree->table.two_valued) {
        if (CODE_WIDTH == 8 || tree->rules.random_threshold) judge_drawn_bits(tree, node, place, attribute, criterion);
        else judge_two_values(tree, node, place, attribute, criterion);
        return 1;
    }
    for (int64_t side = attribute;; side = twin) {          /* one place in the program, where it is compiled once */
        int varies = judge_any_attribute(tree, node, side, width, criterion, has_weights);
        if (side == twin) return 1;
        if (!varies) {
            node->constant |= bit;
            return 0;
        }
        if (twin < 0 || tree->rules.random_threshold || node->best.is_perfect ||
            !has_missing_row(tree, node, attribute, width))
            return 1;
    }
}

IN_PLACE void judge_coded_attributes(CodedTree *tree, OpenNode *node, int width, int criterion, int has_weights) {
    int64_t remaining = tree->table.n_attributes, n_drawn = 0;
    if (tree->rules.n_drawn >= remaining) {
        for (int64_t i = 0; i < remaining; i++)
            look_at_attribute(tree, node, tree->order[i], width, criterion, has_weights);
        return;
    }
    while (remaining > 0 && n_drawn < tree->rules.n_drawn) {
        int64_t i = draw_index(tree->random, remaining), place = tree->order[i];
        tree->order[i] = tree->order[--remaining];
        tree->order[remaining] = place;
        n_drawn += look_at_attribute(tree, node, place, width, criterion, has_weights);
    }
}

IN_PLACE int grow_all_coded(CodedTree *tree, int width, int criterion, int has_weights) {
    while (tree->n_frames > 0) {
        CodedFrame frame = tree->frames[--tree->n_frames];
        open_coded_node(tree, &frame, criterion, has_weights);
        judge_coded_attributes(tree, &tree->node, width, criterion, has_weights);
        if (tree->node.best.attribute >= 0 && !split_coded_node(tree, &frame)) return 0;
    }
    place_thresholds(tree);
    return 1;
}

/* A function for each criterion: compiled as one, they would take minutes. */
#define GROW_WITH(name, criterion, has_weights)                                                                        \
    NOT_IN_PLACE int name(CodedTree *tree) { return grow_all_coded(tree, CODE_WIDTH, criterion, has_weights); }

GROW_WITH(grow_weights_by_gini, CODED_GINI, 1)
GROW_WITH(grow_weights_by_entropy, CODED_ENTROPY, 1)
GROW_WITH(grow_classes_by_gini, CODED_GINI, 0)
GROW_WITH(grow_classes_by_entropy, CODED_ENTROPY, 0)
GROW_WITH(grow_numbers, CODED_VARIANCE, 0)

int GROW_CODED(CodedTree *tree) {
    int is_gini = tree->rules.criterion == CODED_GINI;
    if (tree->target == NUMBERS) return grow_numbers(tree);
    if (tree->target == WEIGHTED_CLASSES) return is_gini ? grow_weights_by_gini(tree) : grow_weights_by_entropy(tree);
    return is_gini ? grow_classes_by_gini(tree) : grow_classes_by_entropy(tree);
}
