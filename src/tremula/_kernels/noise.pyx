"""Resamples tables of counts, and judges splits by what comes of it: one call for an attribute at many nodes."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, log2
from libc.stdint cimport int64_t
from libc.string cimport memset
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport binomial_t, random_binomial


def resample(bit_generator, const int64_t[:, ::1] counts, int64_t[:, ::1] drawn):
    """Draw from each table as many rows as it has, with replacement: binomials, each of what the cells before leave."""
    cdef bitgen_t* source = <bitgen_t*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")
    cdef binomial_t binomial
    cdef Py_ssize_t table, cell
    cdef int64_t rest, to_draw, count
    memset(&binomial, 0, sizeof(binomial_t))
    with bit_generator.lock, nogil:
        for table in range(counts.shape[0]):
            rest = 0
            for cell in range(counts.shape[1]):
                rest += counts[table, cell]
            to_draw = rest
            for cell in range(counts.shape[1]):
                count = counts[table, cell]
                if count == 0 or to_draw == 0:
                    drawn[table, cell] = 0
                elif count == rest:
                    drawn[table, cell] = to_draw
                else:
                    drawn[table, cell] = random_binomial(source, <double> count / <double> rest, to_draw, &binomial)
                rest -= count
                to_draw -= drawn[table, cell]


cdef inline double bits(double count) noexcept nogil:
    return count * log2(count) if count > 0 else 0.0


cdef inline double information(const int64_t* counts, Py_ssize_t n_classes) noexcept nogil:
    """Bits that it takes to tell the class of every row: rows times entropy."""
    cdef double terms = 0.0
    cdef int64_t total = 0
    cdef Py_ssize_t label
    for label in range(n_classes):
        terms += bits(<double> counts[label])
        total += counts[label]
    return bits(<double> total) - terms


def branch_gains(const int64_t[:, :, ::1] tables, int64_t[::1] sums, double[::1] gains):
    """Gain per row of a branch for every value but the last, which is missing; `sums` is scratch for one line."""
    cdef Py_ssize_t table, value, label, n_classes = tables.shape[2], n_values = tables.shape[1] - 1
    cdef int64_t n_rows
    cdef double gain
    with nogil:
        for table in range(tables.shape[0]):
            n_rows, gain = 0, 0.0
            for label in range(n_classes):
                sums[label] = 0
            for value in range(n_values):
                gain -= information(&tables[table, value, 0], n_classes)
                for label in range(n_classes):
                    sums[label] += tables[table, value, label]
            for label in range(n_classes):
                n_rows += sums[label] + tables[table, n_values, label]
            gain += information(&sums[0], n_classes)
            gains[table] = gain / n_rows if n_rows > 0 else 0.0


def best_cuts(const int64_t[:, :, ::1] tables, int64_t[:, ::1] sides, double[::1] gains, int64_t[::1] cuts):
    """Largest gain per row of cutting the values in two, and after which; -inf where no cut has rows on both sides.

    `sides` is scratch for two lines: the classes below and above a cut.
    """
    cdef Py_ssize_t table, value, label, n_classes = tables.shape[2], n_values = tables.shape[1] - 1
    cdef int64_t n_rows, n_below, n_known
    cdef double gain, whole
    with nogil:
        for table in range(tables.shape[0]):
            gains[table], cuts[table] = -INFINITY, 0
            n_rows, n_known, n_below = 0, 0, 0
            for label in range(n_classes):
                sides[0, label], sides[1, label] = 0, 0
                n_rows += tables[table, n_values, label]
            for value in range(n_values):
                for label in range(n_classes):
                    sides[1, label] += tables[table, value, label]
                    n_known += tables[table, value, label]
            n_rows += n_known
            whole = information(&sides[1, 0], n_classes)
            for value in range(n_values - 1):
                for label in range(n_classes):
                    sides[0, label] += tables[table, value, label]
                    sides[1, label] -= tables[table, value, label]
                    n_below += tables[table, value, label]
                if n_below == 0 or n_below == n_known:
                    continue
                gain = whole - information(&sides[0, 0], n_classes) - information(&sides[1, 0], n_classes)
                gain /= n_rows
                if gain > gains[table]:
                    gains[table], cuts[table] = gain, value
