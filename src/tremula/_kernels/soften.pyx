"""Adds up what the leaves of trees answer to blocks of rows that follow the trees' programs (see `soften.h`)."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tremula._kernels.smoothing_program cimport ONES, ZEROS, Program
from tremula._kernels.smoothing_program cimport TreeProgram as MadeProgram

from tremula._kernels.smoothing_program import FIRST_SHARED, TreeProgram, fill_preorder  # no-cython-lint

cdef extern from "soften.h" nogil:
    enum:
        BLOCK
        LANES
    double c_rough_error "ROUGH_ERROR"
    double c_rough_far "ROUGH_FAR"
    ctypedef struct Block:
        double* columns
        uint64_t* filled
        double* x
        double* inverse
        double* out
        double* lost
        double* bound
        uint64_t groups
        int has_missing
        double tolerance
    ctypedef struct Setting:
        const double* own
        const double* others
        const int32_t* level_start
        double* registers
        double* scratch
        uint64_t* groups
        double tolerance
        int32_t n_shared, n_outputs
        int is_rough
    void run_program(const Setting*, const Program*, Block*)
    double normal_below(double)
    double normal_below_roughly(double)
    double rough_error(const Program*)
    void choose_processor(int plain)

cdef enum:
    GROUP = 4                   # blocks that follow one tree before the next, so that its steps stay in cache
    MOST_BYTES = 1 << 24        # of columns in a group

ROWS_IN_BLOCK = BLOCK
ROUGH_ERROR, ROUGH_FAR = c_rough_error, c_rough_far

choose_processor(0)


def use_plain_instructions(bint plain):
    """Disable processor-specific instructions, so that tests can check that results are identical."""
    choose_processor(plain)


def fill_normal_below(const double[::1] z, double[::1] out, bint roughly=False):
    """Write the normal distribution function of every number; roughly, with an error of at most ROUGH_ERROR."""
    cdef Py_ssize_t i
    for i in range(z.shape[0]):
        out[i] = normal_below_roughly(z[i]) if roughly else normal_below(z[i])


# ---- memory

cdef struct Buffers:
    Block[GROUP] blocks
    char* data


cdef inline char* aligned(char* data) noexcept nogil:
    return data + (64 - <size_t> data % 64) % 64


cdef int reserve_buffers(
    Buffers* buffers, Setting* setting, int n_blocks, Py_ssize_t n_columns, Py_ssize_t n_attributes,
    Py_ssize_t n_registers,
) noexcept nogil:
    """Allocate all that a group of blocks needs; False if there is not enough memory."""
    cdef Py_ssize_t row_bytes = BLOCK * sizeof(double), n_outputs = setting.n_outputs
    cdef Py_ssize_t n_vectors = n_columns + 2 * n_attributes + n_outputs + 2
    cdef Py_ssize_t n_flags = (n_columns + 7) // 8 * 64
    cdef char* data
    cdef Block* block
    cdef int b, j
    buffers.data = <char*> malloc(64 + n_blocks * (n_vectors * row_bytes + n_flags) + (n_registers + 2) * row_bytes
                                  + n_registers * sizeof(uint64_t))
    if buffers.data == NULL:
        return False
    data = aligned(buffers.data)
    for b in range(n_blocks):
        block = &buffers.blocks[b]
        block.columns = <double*> data
        block.x = block.columns + n_columns * BLOCK
        block.inverse = block.x + n_attributes * BLOCK
        block.out = block.inverse + n_attributes * BLOCK
        block.lost = block.out + n_outputs * BLOCK
        block.bound = block.lost + BLOCK
        data += n_vectors * row_bytes
        block.filled = <uint64_t*> data
        data += n_flags
        for j in range(BLOCK):
            block.columns[ZEROS * BLOCK + j] = 0.0
            block.columns[ONES * BLOCK + j] = 1.0
    setting.registers = <double*> data
    setting.scratch = setting.registers + n_registers * BLOCK
    setting.groups = <uint64_t*> (setting.scratch + 2 * BLOCK)
    for j in range(BLOCK):
        setting.registers[j] = 1.0
    return True


# ---- rows in, answers out

cdef int load_block(
    Block* block, const double[:, ::1] X, const double[:, ::1] inverse, const uint8_t[::1] is_missing,
    Py_ssize_t first, int n_rows, const Setting* setting,
) except -1 nogil:
    """Turn rows into vectors, one per attribute; the last row fills up the block."""
    cdef Py_ssize_t attribute, row, n_attributes = X.shape[1]
    cdef int j
    block.has_missing = False
    block.groups = ~(<uint64_t> 0) >> (64 - (n_rows + LANES - 1) // LANES)
    memset(block.filled, 0, setting.n_shared * sizeof(uint64_t))
    memset(block.out, 0, (setting.n_outputs + 2) * BLOCK * sizeof(double))  # and `lost` and `bound`, which follow it
    for j in range(BLOCK):
        row = first + min(j, n_rows - 1)
        block.has_missing |= is_missing[row]
        for attribute in range(n_attributes):
            block.x[attribute * BLOCK + j] = X[row, attribute]
            block.inverse[attribute * BLOCK + j] = inverse[row if inverse.shape[0] > 1 else 0, attribute]
    return 0


cdef int unload_block(
    const Block* block, const Py_ssize_t[::1] order, Py_ssize_t first, int n_rows, double[:, ::1] out,
    double[::1] bound,
) except -1 nogil:
    """Add the sums of a block to the rows that it holds, in their original order."""
    cdef Py_ssize_t output, row
    cdef int j
    for j in range(n_rows):
        row = order[first + j]
        for output in range(out.shape[1]):
            out[row, output] += block.out[output * BLOCK + j]
        bound[row] += block.bound[j]
    return 0


cdef int run_groups(
    const Program* programs, Py_ssize_t n_programs, tuple rows, Buffers* buffers, const Setting* setting, int n_group,
    double[:, ::1] out, double[::1] bound,
) except -1:
    """Send all rows through all programs, a group of blocks at a time."""
    cdef const double[:, ::1] X = rows[0], inverse = rows[1]
    cdef const uint8_t[::1] is_missing = rows[2]
    cdef const Py_ssize_t[::1] order = rows[3]
    cdef Py_ssize_t n_rows = X.shape[0], first = 0, k
    cdef int b, n_blocks
    with nogil:
        while first < n_rows:
            n_blocks = <int> min(n_group, (n_rows - first + BLOCK - 1) // BLOCK)
            for b in range(n_blocks):
                load_block(&buffers.blocks[b], X, inverse, is_missing, first + b * BLOCK,
                           <int> min(BLOCK, n_rows - first - b * BLOCK), setting)
            for k in range(n_programs):
                for b in range(n_blocks):
                    run_program(setting, &programs[k], &buffers.blocks[b])
            for b in range(n_blocks):
                unload_block(&buffers.blocks[b], order, first + b * BLOCK,
                             <int> min(BLOCK, n_rows - first - b * BLOCK), out, bound)
            first += n_group * BLOCK
    return 0


def run(
    list programs, tuple rows, tuple levels, double tolerance, int32_t n_shared, double[:, ::1] out, double[::1] bound,
):
    """Add to `out` what every row expects of every tree, and to `bound` the most that cutting may have changed it.

    Parameters
    ----------
    programs : list of TreeProgram
    rows : tuple of four
        The rows, NaN where a value is missing; 1 / noise for every row (or one row for all) and attribute, 0 where
        there is no noise; whether a value is missing in each row; and the row of `out` and `bound` that it adds to.
    levels : tuple of three
        For every level, how much of its share a row of this level keeps, and how much of the mean it takes; and where
        the levels of each attribute start in these.
    tolerance : largest error of a tree's answer, in terms of the spread of its values.
    n_shared : columns before those that splits fill for their own descendants.
    """
    cdef const double[::1] own = levels[0], others = levels[1]
    cdef const int32_t[::1] level_start = levels[2]
    cdef Py_ssize_t n_rows = rows[0].shape[0], n_attributes = rows[0].shape[1], n_programs = len(programs)
    cdef Py_ssize_t n_columns, n_registers = 1, n_own = 0, k
    cdef int n_group
    cdef Program* each
    cdef Setting setting
    cdef Buffers buffers
    cdef MadeProgram program
    if n_rows == 0 or n_programs == 0:
        return
    for program in programs:
        n_registers, n_own = max(n_registers, program.n_registers), max(n_own, program.n_own)
    n_columns = n_shared + n_own
    n_group = <int> min(GROUP, max(1, MOST_BYTES // (n_columns * BLOCK * sizeof(double))),
                        (n_rows + BLOCK - 1) // BLOCK)
    setting.own, setting.others = &own[0], &others[0]
    setting.level_start = &level_start[0]
    setting.is_rough = tolerance > 0
    setting.tolerance, setting.n_shared, setting.n_outputs = tolerance, n_shared, <int32_t> out.shape[1]
    each = <Program*> malloc(n_programs * sizeof(Program))
    if each == NULL:
        raise MemoryError
    for k in range(n_programs):
        each[k] = (<MadeProgram> programs[k]).program
        setting.is_rough &= rough_error(&each[k]) <= 0.5 * tolerance
    if not reserve_buffers(&buffers, &setting, n_group, n_columns, n_attributes, n_registers):
        free(each)
        raise MemoryError
    try:
        run_groups(each, n_programs, rows, &buffers, &setting, n_group, out, bound)
    finally:
        free(buffers.data)
        free(each)
