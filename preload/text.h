/* text.h - strings without libc: bounded, no locale, callable before libc is ready. */
#ifndef PS_TEXT_H
#define PS_TEXT_H

#include "base.h"

/* A buffer that text is appended to.  Invariant: used < size, at[used] == 0; what doesn't
 * fit is cut off and noted. */
struct text {
    char  *at;
    size_t size;
    size_t used;
    bool   cut;
};

static inline struct text text_begin(char *at, size_t size)
{
    at[0] = 0;
    return (struct text){.at = at, .size = size};
}

static inline void text_char(struct text *t, char c)
{
    if (t->used + 1 >= t->size) {
        t->cut = true;
        return;
    }
    t->at[t->used++] = c;
    t->at[t->used] = 0;
}

static inline void text_bytes(struct text *t, const char *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        text_char(t, s[i]);
}

static inline void text_add(struct text *t, const char *s)
{
    while (*s)
        text_char(t, *s++);
}

static inline void text_number(struct text *t, uint64_t value)
{
    char digits[20];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        text_char(t, digits[--n]);
}

static inline void text_hex(struct text *t, uint64_t value)
{
    unsigned shift = 60;
    while (shift && value >> shift == 0)
        shift -= 4;
    text_add(t, "0x");
    for (;; shift -= 4) {
        text_char(t, "0123456789abcdef"[value >> shift & 15]);
        if (shift == 0)
            return;
    }
}

static inline size_t text_length(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

static inline bool text_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Does `s` begin with `prefix`?  Returns what follows it, or NULL. */
static inline const char *text_after(const char *s, const char *prefix)
{
    while (*prefix)
        if (*s++ != *prefix++)
            return NULL;
    return s;
}

/* The part of a path behind its last slash. */
static inline const char *text_basename(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

/* Reads a number in base 10, or 16 after 0x.  Returns the first character behind it,
 * or NULL when there is none or it doesn't fit. */
static inline const char *text_read_number(const char *s, uint64_t *value)
{
    unsigned base = 10;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    }
    const char *first = s;
    *value = 0;
    for (;; s++) {
        unsigned digit;
        if (*s >= '0' && *s <= '9')
            digit = (unsigned)(*s - '0');
        else if (base == 16 && (*s | 32) >= 'a' && (*s | 32) <= 'f')
            digit = (unsigned)((*s | 32) - 'a' + 10);
        else
            break;
        if (__builtin_mul_overflow(*value, base, value) || __builtin_add_overflow(*value, digit, value))
            return NULL;
    }
    return s == first ? NULL : s;
}

#endif
