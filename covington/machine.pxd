"""What the compiler can be asked to do for the machine at hand; without it the code is the same, only slower."""

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) || defined(__clang__)
    #define covington_prefetch(address) __builtin_prefetch(address)
    #else
    #define covington_prefetch(address)
    #endif
    /* Loops that the compiler vectorises, in several versions; the widest that the machine has is chosen at the start. */
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    #define COVINGTON_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define COVINGTON_CLONES
    #endif
    """
    void covington_prefetch(const void *address) noexcept nogil
