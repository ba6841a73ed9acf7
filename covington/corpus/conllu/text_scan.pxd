"""Finding tabs and line ends, reading numbers and checking UTF-8, eight or sixteen bytes at a time."""

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    #define COVINGTON_ONES 0x0101010101010101ULL
    #define COVINGTON_HIGHS 0x8080808080808080ULL

    /* The first tab or line feed at or after p, or end. Bytes above the first hit may be marked
       falsely by the borrow of the subtraction; only the lowest mark is used, and that is exact. */
    static inline const char *covington_next_break(const char *p, const char *end) {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        while (end - p >= 8) {
            uint64_t word, tabs, feeds, hits;
            memcpy(&word, p, 8);
            tabs = word ^ (COVINGTON_ONES * 9);
            feeds = word ^ (COVINGTON_ONES * 10);
            hits = (((tabs - COVINGTON_ONES) & ~tabs) | ((feeds - COVINGTON_ONES) & ~feeds)) & COVINGTON_HIGHS;
            if (hits) return p + (__builtin_ctzll(hits) >> 3);
            p += 8;
        }
    #endif
        while (p < end && *p != '\\t' && *p != '\\n') p++;
        return p;
    }

    /* The ends of the fields of a line, up to `most` of them: at tabs, at the line feed, which is the
       last one, or at `end` if there is none. How many were found. */
    static inline int covington_split_line(const char *p, const char *end, const char **ends, int most) {
        int count = 0;
    #if defined(__SSE2__)
        const __m128i tab = _mm_set1_epi8(9), feed = _mm_set1_epi8(10);
        while (end - p >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)p);
            unsigned hits = (unsigned)_mm_movemask_epi8(
                _mm_or_si128(_mm_cmpeq_epi8(bytes, tab), _mm_cmpeq_epi8(bytes, feed)));
            while (hits) {
                const char *hit = p + __builtin_ctz(hits);
                ends[count++] = hit;
                if (count == most || *hit == '\\n') return count;
                hits &= hits - 1;
            }
            p += 16;
        }
    #endif
        for (;;) {
            p = covington_next_break(p, end);
            ends[count++] = p;
            if (count == most || p == end || *p == '\\n') return count;
            p++;
        }
    }

    /* The first byte that does not belong to well-formed UTF-8, or end. */
    static inline const char *covington_invalid_utf8(const char *text, const char *text_end) {
        const unsigned char *p = (const unsigned char *)text;
        const unsigned char *end = (const unsigned char *)text_end;
        while (p < end) {
            uint32_t point;
            int more, i;
            if (*p < 0x80) {
                p++;
                while (end - p >= 8) {
                    uint64_t word;
                    memcpy(&word, p, 8);
                    if (word & COVINGTON_HIGHS) break;
                    p += 8;
                }
                continue;
            }
            if (*p >= 0xC2 && *p <= 0xDF) { more = 1; point = *p & 0x1F; }
            else if (*p >= 0xE0 && *p <= 0xEF) { more = 2; point = *p & 0x0F; }
            else if (*p >= 0xF0 && *p <= 0xF4) { more = 3; point = *p & 0x07; }
            else return (const char *)p;
            if (end - p <= more) return (const char *)p;
            for (i = 1; i <= more; i++) {
                if ((p[i] & 0xC0) != 0x80) return (const char *)p;
                point = (point << 6) | (p[i] & 0x3F);
            }
            if ((more == 2 && (point < 0x800 || (point >= 0xD800 && point <= 0xDFFF))) ||
                (more == 3 && (point < 0x10000 || point > 0x10FFFF))) return (const char *)p;
            p += more + 1;
        }
        return (const char *)end;
    }

    /* A number without sign or leading zero from start to end, or -1; more than nine digits are too many. */
    static inline long covington_number(const char *start, const char *end) {
        long value = 0;
        if (end <= start || end - start > 9 || (*start == '0' && end - start > 1)) return -1;
        for (; start < end; start++) {
            if (*start < '0' || *start > '9') return -1;
            value = value * 10 + (*start - '0');
        }
        return value;
    }

    /* Whether a line (without its line feed) holds nothing but white space. */
    static inline int covington_is_blank(const char *start, const char *end) {
        while (start < end && (*start == ' ' || *start == '\\t' || *start == '\\r')) start++;
        return start == end;
    }
    """
    const char* next_break "covington_next_break"(const char* start, const char* end) noexcept nogil
    int split_line "covington_split_line"(
        const char* start, const char* end, const char** ends, int most
    ) noexcept nogil
    const char* invalid_utf8 "covington_invalid_utf8"(const char* start, const char* end) noexcept nogil
    long number "covington_number"(const char* start, const char* end) noexcept nogil
    bint is_blank "covington_is_blank"(const char* start, const char* end) noexcept nogil
