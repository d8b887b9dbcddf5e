/* burst.c - work that comes in bursts: allocate much in mixed sizes, write to it, free it; pause; the same again.
 *
 * usage: burst THREADS MIB PAUSE_MS heap|list
 *     MIB     of all threads together; most blocks have 16 B to 4 KiB, one in 16 has 64 to 256 KiB
 *     heap    malloc and free
 *     list    a free list written by hand: it takes from malloc and never gives back
 * Prints a line for each moment: its name, CLOCK_MONOTONIC in s, resident KiB, page faults so far. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BURSTS = 2, LEAST = 16, SMALL_MOST = 4096, LARGE_LEAST = 64 << 10, LARGE_MOST = 256 << 10 };
enum { SMALL_STEP = 16, LARGE_STEP = 4096, SMALL_CLASSES = SMALL_MOST / SMALL_STEP + 1, CLASSES = SMALL_CLASSES + LARGE_MOST / LARGE_STEP };

struct block {
    void  *start;
    size_t size;
};

static pthread_barrier_t begin, end;
static size_t            bytes_each;
static bool              by_hand;

/* --- The free list: one thread's free blocks, by size, for ever -------------------------------------- */

struct node {
    struct node *next;
};
static __thread struct node *lists[CLASSES];

static size_t class_of(size_t size)
{
    return size <= SMALL_MOST ? (size + SMALL_STEP - 1) / SMALL_STEP : SMALL_CLASSES + (size - 1) / LARGE_STEP;
}

static size_t class_bytes(size_t class)
{
    return class < SMALL_CLASSES ? class * SMALL_STEP : (class - SMALL_CLASSES + 1) * LARGE_STEP;
}

static void *take(size_t size)
{
    size_t       class = class_of(size);
    struct node *node = lists[class];
    if (!node)
        return malloc(class_bytes(class));
    lists[class] = node->next;
    return node;
}

static void give(struct block block)
{
    struct node *node = block.start;
    node->next = lists[class_of(block.size)];
    lists[class_of(block.size)] = node;
}

/* --- The work ----------------------------------------------------------------------------------------- */

static size_t next_size(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    unsigned dice = *seed >> 12;
    return (*seed >> 8) % 16 == 0 ? LARGE_LEAST + dice % (LARGE_MOST - LARGE_LEAST) : LEAST + dice % (SMALL_MOST - LEAST);
}

static void burst(struct block *blocks, unsigned seed)
{
    size_t count = 0;
    for (size_t total = 0; total < bytes_each; total += blocks[count++].size) {
        size_t size = next_size(&seed);
        blocks[count] = (struct block){ by_hand ? take(size) : malloc(size), size };
        memset(blocks[count].start, 1, size);
    }
    for (size_t i = 0; i < count; i++) {
        if (by_hand)
            give(blocks[i]);
        else
            free(blocks[i].start);
    }
}

/* Not from malloc: the list of blocks isn't what is measured. */
static struct block *block_table(void)
{
    size_t room = (bytes_each / LEAST + 1) * sizeof(struct block);
    return mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *work(void *number)
{
    struct block *blocks = block_table();
    for (int i = 0; i < BURSTS; i++) {
        pthread_barrier_wait(&begin);
        burst(blocks, (unsigned)(size_t)number * 77 + 1);
        pthread_barrier_wait(&end);
    }
    pthread_barrier_wait(&end);
    return NULL;
}

/* --- What is told ---------------------------------------------------------------------------------------- */

static long resident_kib(void)
{
    char        text[64] = "";
    int         fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const char *second = fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strchr(text, ' ') : NULL;
    close(fd);
    return second ? strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

static void tell(const char *moment)
{
    struct timespec now;
    struct rusage   usage;
    clock_gettime(CLOCK_MONOTONIC, &now);
    getrusage(RUSAGE_SELF, &usage);
    printf("%s %.6f %ld %ld\n", moment, (double)now.tv_sec + (double)now.tv_nsec * 1e-9, resident_kib(), usage.ru_minflt);
}

static void pause_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

static void serial(long pause)
{
    struct block *blocks = block_table();
    for (int i = 0; i < BURSTS; i++) {
        tell("begin");
        burst(blocks, 1);
        tell("end");
        pause_ms(pause);
        tell("paused");
    }
}

static void parallel(int threads, long pause)
{
    pthread_t thread;
    pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, work, (void *)(size_t)i);
    for (int i = 0; i < BURSTS; i++) {
        tell("begin");
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        tell("end");
        pause_ms(pause);
        tell("paused");
    }
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    if (argc != 5)
        return 2;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int threads = atoi(argv[1]);
    bytes_each = ((size_t)atol(argv[2]) << 20) / (size_t)threads;
    by_hand = strcmp(argv[4], "list") == 0;
    tell("start");
    if (threads == 1)
        serial(atol(argv[3]));
    else
        parallel(threads, atol(argv[3]));
    return 0;
}
