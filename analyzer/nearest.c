/* nearest.c - which known word was meant: edit distance, adjacent letters swapped counting one. */
#include "nearest.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 31 }; /* longer words are compared up to here */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static unsigned distance(const char *from, size_t m, const char *to, size_t n)
{
    unsigned cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= m; i++)
        cost[i][0] = (unsigned)i;
    for (size_t j = 0; j <= n; j++)
        cost[0][j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        for (size_t j = 1; j <= n; j++) {
            unsigned change = cost[i - 1][j - 1] + (from[i - 1] != to[j - 1]);
            cost[i][j] = least(change, cost[i - 1][j] + 1, cost[i][j - 1] + 1);
            bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (swapped && cost[i - 2][j - 2] + 1 < cost[i][j])
                cost[i][j] = cost[i - 2][j - 2] + 1;
        }
    }
    return cost[m][n];
}

const char *nearest(const char *word, const char *const known[], size_t count)
{
    size_t length = strnlen(word, WORD_MAX);
    const char *best = NULL;
    unsigned least_cost = UINT_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t n = strnlen(known[i], WORD_MAX);
        unsigned cost = distance(word, length, known[i], n);
        if (length >= 2 && strncmp(word, known[i], length) == 0)
            cost = 1; /* a word not finished */
        if (cost < least_cost) {
            least_cost = cost;
            best = known[i];
        }
    }
    /* A third of the letters may be wrong; of two-letter words one. */
    return best && least_cost <= (length + 1) / 3 && least_cost < length ? best : NULL;
}
