"""Buffers that grow as the tree grows; each function returns False if there is no memory."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport realloc

from tremula._kernels.grower cimport Frame, Grower
from tremula._kernels.nodes cimport Node


cdef inline bint reserve_items(void** buffer, int64_t* capacity, int64_t needed, size_t size) noexcept nogil:
    cdef int64_t new_capacity
    cdef void* new_buffer
    if needed <= capacity[0]:
        return True
    new_capacity = needed + needed // 2 + 64
    new_buffer = realloc(buffer[0], new_capacity * size)
    if new_buffer == NULL:
        return False
    buffer[0] = new_buffer
    capacity[0] = new_capacity
    return True


cdef inline bint reserve_nodes(Grower* g, int64_t n_more) noexcept nogil:
    cdef int64_t capacity = g.output.nodes_capacity
    if not reserve_items(<void**> &g.output.nodes, &capacity, g.output.n_nodes + n_more, sizeof(Node)):
        return False
    return reserve_items(<void**> &g.output.statistics, &g.output.nodes_capacity, g.output.n_nodes + n_more,
                         g.rows.n_statistics * sizeof(double))


cdef inline bint reserve_rows(Grower* g, int64_t needed) noexcept nogil:
    cdef int64_t capacity = g.pending.rows_capacity
    if not reserve_items(<void**> &g.pending.rows, &capacity, needed, sizeof(uint32_t)):
        return False
    return reserve_items(<void**> &g.pending.weights, &g.pending.rows_capacity, needed, sizeof(double))


cdef inline bint reserve_spare_rows(Grower* g, int64_t needed) noexcept nogil:
    cdef int64_t capacity = g.division.spare_rows_capacity
    if not reserve_items(<void**> &g.division.spare_rows, &capacity, needed, sizeof(uint32_t)):
        return False
    return reserve_items(<void**> &g.division.spare_weights, &g.division.spare_rows_capacity, needed, sizeof(double))


cdef inline bint reserve_frames(Grower* g, int64_t n_more) noexcept nogil:
    cdef int64_t capacity = g.pending.frames_capacity, constant_capacity = capacity
    if not reserve_items(<void**> &g.pending.frames, &capacity, g.pending.n_frames + n_more, sizeof(Frame)):
        return False
    if not reserve_items(<void**> &g.pending.constant, &constant_capacity, g.pending.n_frames + n_more,
                         g.columns.n_attributes * sizeof(uint8_t)):
        return False
    return reserve_items(<void**> &g.pending.bounds, &g.pending.frames_capacity, g.pending.n_frames + n_more,
                         (2 * g.columns.n_incomplete + 1) * sizeof(int64_t))
