"""Linear models of one yes-or-no question each: hashed features, integer weights, learnt as a logistic regression.

Everything is integers, so that every processor learns the same weights and gives the same answers.
A weight of training has 16 bits after the point, a weight of the model 8.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t

from covington.base.hashing cimport finish, mix

cdef enum:
    MAX_FEATURES = 64  # of one decision
    CURVE = 4096  # entries of the table of probabilities
    CURVE_SHIFT = 8  # one entry per 1/256, so that the table reaches from -8 to 8


cdef struct Linear:
    const int16_t* weights
    int shift  # of a key, to its place among the weights


cdef struct Features:
    uint64_t keys[MAX_FEATURES]
    int count


cdef inline void add1(Features* features, uint64_t template, uint64_t a) noexcept nogil:
    features.keys[features.count] = finish(mix(template, a))
    features.count += 1


cdef inline void add2(Features* features, uint64_t template, uint64_t a, uint64_t b) noexcept nogil:
    features.keys[features.count] = finish(mix(mix(template, a), b))
    features.count += 1


cdef inline void add3(Features* features, uint64_t template, uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    features.keys[features.count] = finish(mix(mix(mix(template, a), b), c))
    features.count += 1


cdef inline int32_t score(Linear* linear, Features* features) noexcept nogil:
    """The sum of the weights; above 0 is yes."""
    cdef int32_t total = 0
    cdef int i
    for i in range(features.count):
        total += linear.weights[features.keys[i] >> linear.shift]
    return total


cdef struct Trained:
    int32_t* weights
    int shift
    const uint16_t* curve  # the logistic function in 1/65536, from -8 to 8


cdef inline void learn(Trained* trained, Features* features, bint answer, int32_t rate) noexcept nogil:
    """One step down the gradient of the logistic loss; the rate is in 1/65536."""
    cdef int64_t total = 0, place, step
    cdef int i
    for i in range(features.count):
        total += trained.weights[features.keys[i] >> trained.shift]
    place = (total >> CURVE_SHIFT) + CURVE // 2
    place = 0 if place < 0 else CURVE - 1 if place >= CURVE else place
    step = (((<int64_t>answer) << 16) - trained.curve[place]) * rate // 65536
    for i in range(features.count):
        trained.weights[features.keys[i] >> trained.shift] += <int32_t>step


cdef inline void drop(Features* features, uint64_t seed, int rate) noexcept nogil:
    """Leave out some of the features, `rate` of 256, so that the others learn to do without them."""
    cdef int i, kept = 0
    for i in range(features.count):
        seed = mix(seed, i)
        if <int>(finish(seed) & 255) >= rate:
            features.keys[kept] = features.keys[i]
            kept += 1
    features.count = kept
