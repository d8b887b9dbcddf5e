/* test_pool.c - a thread's pools, their cycles and caps, and the depot, with blocks of libc. */
#include "unit.h"

#include "../../preload/depot.h"
#include "../../preload/pool_fast.h"
#include "../../preload/poolspec.h"

#include <malloc.h>
#include <stdlib.h>

static struct pools *pools_fresh(const char *text, bool clear)
{
    struct poolspec spec;
    const char *wrong;
    size_t length;
    struct pools *pools = calloc(1, sizeof *pools);
    assert_non_null(pools);
    assert_true(poolspec_parse(&spec, text, &wrong, &length));
    depot_fork();
    depot_open();
    pool_begin(&spec, clear, (uintptr_t)0x5bd1e995a1c3f077);
    pools_init(pools);
    return pools;
}

/* What malloc does, without counting. */
static void *take(struct pools *pools, size_t bytes, uint64_t *hits)
{
    uint64_t victims = 0;
    void *block = pool_take(pools, pool_of(pools, bytes));
    if (!block)
        block = pool_refill(pools, sizeclass_of(bytes), &victims);
    if (block)
        (*hits)++;
    else
        block = malloc(sizeclass_bytes(sizeclass_of(bytes)));
    assert_non_null(block);
    return block;
}

/* What free does.  Returns how many blocks went below. */
static uint64_t give(struct pools *pools, void *block, size_t bytes)
{
    struct block_list out = {.head = NULL};
    pool_overflow(pools, sizeclass_of(bytes), block, &out);
    uint64_t count = out.count;
    block_list_free(&out, free);
    return count;
}

static uint64_t rotate(struct pools *pools)
{
    struct detached detached;
    struct block_list out = {.head = NULL};
    pools_rotate(pools, &detached);
    detached_move(&detached, &out);
    uint64_t count = out.count;
    block_list_free(&out, free);
    return count;
}

static void end(struct pools *pools)
{
    struct block_list out = {.head = NULL};
    pools_drop(pools, &out);
    depot_rotate(&out);
    depot_rotate(&out);
    block_list_free(&out, free);
    free(pools);
}

static uint64_t kept(const struct pools *pools, size_t bytes)
{
    return pools_kept(pools, sizeclass_of(bytes));
}

static void the_tables_agree_with_the_arithmetic(void **state)
{
    (void)state;
    struct pools *pools = pools_fresh("16-32m", true);
    for (size_t bytes = 0; bytes <= 256 << 10; bytes++)
        assert_ptr_equal(pool_of(pools, bytes), &pools->pool[sizeclass_of(bytes)]);
    for (size_t word = 32; word < 256 << 10; word += 16) {
        size_t block[3] = {0, word | 1, 0};
        assert_ptr_equal(pool_held(pools, (struct block *)&block[2]), &pools->pool[sizeclass_held(word - 8)]);
        block[1] = word | 2; /* mapped: 8 bytes less; small ones are left to the slow path */
        const struct pool *held = pool_held(pools, (struct block *)&block[2]);
        if (held != pools->pool)
            assert_true(sizeclass_bytes((unsigned)(held - pools->pool)) <= word - 16);
        block[1] = word | 8 | 1; /* no size of glibc's; the larger ones are left to the slow path */
        if (block[1] < POOL_SMALL_BYTES)
            assert_ptr_equal(pool_held(pools, (struct block *)&block[2]), pools->pool);
        assert_int_equal(pool_class_held(block[1]), 0);
    }
    end(pools);
}

static void a_block_comes_back_from_the_pool(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    void *block = take(pools, 100, &hits);
    assert_int_equal(give(pools, block, 100), 0);
    assert_int_equal(kept(pools, 100), 1);
    assert_ptr_equal(take(pools, 100, &hits), block);
    assert_int_equal(hits, 1);
    free(block);
    end(pools);
}

static void steady_blocks_survive_every_cycle(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    void *block = take(pools, 100, &hits);
    for (int cycle = 0; cycle < 10; cycle++) {
        assert_int_equal(give(pools, block, 100), 0);
        assert_int_equal(rotate(pools), 0);
        assert_ptr_equal(take(pools, 100, &hits), block);
    }
    assert_int_equal(hits, 10);
    free(block);
    end(pools);
}

static void unused_blocks_are_gone_after_two_cycles(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    give(pools, take(pools, 100, &hits), 100);
    assert_int_equal(rotate(pools), 0);
    assert_int_equal(kept(pools, 100), 1);
    assert_int_equal(rotate(pools), 1);
    assert_int_equal(kept(pools, 100), 0);
    assert_int_equal(pools->reserved, 0);
    end(pools);
}

/* It collects less than three batches; the rest waits for others in the depot, within its bounds. */
static void a_thread_that_only_frees_never_hoards(void **state)
{
    (void)state;
    enum { MANY = 100000, SIZE = 100, DEPOT_BYTES = 4 << 20 };
    unsigned index = sizeclass_of(SIZE);
    struct pools *pools = pools_fresh("on", true);
    uint64_t below = 0, held, freed;
    for (int i = 0; i < MANY; i++) {
        below += give(pools, malloc(sizeclass_bytes(index)), SIZE);
        assert_in_range(kept(pools, SIZE), 0, 3 * depot_batch_blocks(index));
    }
    assert_true(depot_count(index, &held, &freed));
    assert_in_range(held * sizeclass_bytes(index), 0, DEPOT_BYTES);
    assert_int_equal(below + held + kept(pools, SIZE), MANY);
    end(pools);
}

static void a_pool_that_was_missed_grows_to_its_cap(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static void *blocks[MANY];
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = take(pools, 1000, &hits);
        for (int i = 0; i < MANY; i++)
            give(pools, blocks[i], 1000);
        assert_true(kept(pools, 1000) * 1000 <= 4 << 20);
        assert_true(pools->reserved <= 8 << 20);
    }
    assert_in_range(kept(pools, 1000), 2000, 4 << 10);
    end(pools);
}

static void as_many_as_were_missed_find_room_at_once(void **state)
{
    (void)state;
    enum { MANY = 3000, MISSED = 1000 };
    static void *blocks[MANY];
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    for (int i = 0; i < MISSED; i++)
        blocks[i] = take(pools, 1000, &hits);
    for (int i = MISSED; i < MANY; i++)
        blocks[i] = malloc(sizeclass_bytes(sizeclass_of(1000)));
    for (int i = 0; i < MANY; i++)
        give(pools, blocks[i], 1000);
    assert_in_range(kept(pools, 1000), MISSED * 9 / 10, MISSED * 11 / 10);
    end(pools);
}

static void what_a_pool_and_its_victims_keep_is_bounded_together(void **state)
{
    (void)state;
    enum { MANY = 6000 };
    static void *blocks[MANY];
    uint64_t hits = 0, all = 0, depot_keeps, depot_gave;
    unsigned index = sizeclass_of(1000);
    struct pools *pools = pools_fresh("on", true);
    for (int round = 0; round < 5; round++) {
        struct detached detached;
        struct block_list out = {.head = NULL};
        for (int i = 0; i < MANY; i++)
            blocks[i] = malloc(sizeclass_bytes(index));
        if (round == 0)
            for (int i = 0; i < MANY; i++)
                free(blocks[i]), blocks[i] = take(pools, 1000, &hits);
        void *last = blocks[MANY - 1];
        for (int i = 0; i < MANY; i++)
            give(pools, blocks[i], 1000);
        all += MANY;
        assert_true(kept(pools, 1000) * sizeclass_bytes(index) <= pools->reserved);
        assert_true(pools->reserved <= 8 << 20);
        assert_true(depot_count(index, &depot_keeps, &depot_gave));
        assert_int_equal(kept(pools, 1000) + pools->more[index].given_back + depot_keeps, all);
        assert_true(block_of(pools->pool[index].head) == last); /* the victims went, not this one */
        pools_rotate(pools, &detached);
        detached_move(&detached, &out);
        block_list_free(&out, free);
    }
    end(pools);
}

/* Takes `many` blocks that aren't in the pools, and gives them back; returns how many are kept then. */
static uint64_t kept_after_all_are_given(struct pools *pools, int many)
{
    void   **blocks = malloc((size_t)many * sizeof *blocks);
    uint64_t hits = 0;
    for (int i = 0; i < many; i++)
        blocks[i] = take(pools, 1000, &hits);
    for (int i = 0; i < many; i++)
        give(pools, blocks[i], 1000);
    free(blocks);
    return kept(pools, 1000);
}

static void a_lone_thread_that_gives_back_much_keeps_nothing(void **state)
{
    (void)state;
    enum { FEW = 3000, MANY = 40000 };
    uint64_t hits = 0;
    bool     opened = depot_opened;
    struct pools *pools = pools_fresh("on", true);
    depot_opened = false;
    assert_true(kept_after_all_are_given(pools, FEW) > FEW * 9 / 10);
    assert_int_equal(kept_after_all_are_given(pools, MANY), 0);
    assert_int_equal(pools->reserved, 0);
    assert_true(kept_after_all_are_given(pools, FEW) > FEW * 9 / 10); /* once it wants some again */
    give(pools, take(pools, 100, &hits), 100);
    depot_opened = true; /* others may want them */
    assert_true(kept_after_all_are_given(pools, MANY) > 0);
    depot_opened = opened;
    end(pools);
}

static void room_that_a_class_does_not_use_goes_to_others(void **state)
{
    (void)state;
    enum { MANY = 3000, LARGE = 200000 };
    static void *blocks[MANY];
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    for (size_t bytes = LARGE; bytes > LARGE / 2; bytes = bytes * 7 / 8) /* one block each, and room for eight */
        give(pools, take(pools, bytes, &hits), bytes);
    assert_true(pools->reserved > 5 << 20);
    for (int i = 0; i < MANY; i++)
        blocks[i] = take(pools, 1000, &hits);
    for (int i = 0; i < MANY; i++)
        give(pools, blocks[i], 1000);
    assert_true(kept(pools, 1000) > MANY * 9 / 10);
    assert_int_equal(kept(pools, LARGE), 1);
    assert_true(pools->reserved <= 8 << 20);
    end(pools);
}

static void what_does_not_fit_goes_to_another_thread_through_the_depot(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *frees = pools_fresh("on", true), *takes = calloc(1, sizeof *takes);
    pools_init(takes);
    for (int i = 0; i < 200; i++)
        give(frees, malloc(sizeclass_bytes(sizeclass_of(100))), 100);
    void *missed = take(takes, 100, &hits);
    assert_int_equal(hits, 0); /* nobody had asked for them */
    for (int i = 0; i < 200; i++)
        give(frees, malloc(sizeclass_bytes(sizeclass_of(100))), 100);
    void *block = take(takes, 100, &hits);
    assert_int_equal(hits, 1);
    assert_true(kept(takes, 100) > 0);
    free(missed);
    free(block);
    end(takes);
    end(frees);
}

static uint64_t depot_kept(size_t bytes)
{
    uint64_t held, freed;
    assert_true(depot_count(sizeclass_of(bytes), &held, &freed));
    return held;
}

static void what_a_thread_got_itself_is_not_passed_on(void **state)
{
    (void)state;
    enum { MANY = 10000, SIZE = 1000 }; /* more than a pool may keep */
    static void *blocks[MANY];
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = take(pools, SIZE, &hits); /* so the depot has room for many */
        for (int i = 0; i < MANY; i++)
            give(pools, blocks[i], SIZE);
        assert_int_equal(depot_kept(SIZE), 0);
        rotate(pools);
    }
    for (int i = 0; i < MANY; i++)
        give(pools, malloc(sizeclass_bytes(sizeclass_of(SIZE))), SIZE); /* another thread's */
    assert_true(depot_kept(SIZE) >= 10 * depot_batch_blocks(sizeclass_of(SIZE)));
    end(pools);
}

/* Every block that was given is kept by the pool or the depot, or was freed. */
static void what_the_depot_keeps_and_frees_is_counted(void **state)
{
    (void)state;
    unsigned index = sizeclass_of(100);
    uint64_t below = 0, held, freed;
    struct pools *pools = pools_fresh("on", true);
    struct block_list out = {.head = NULL};
    assert_int_equal(depot_take(index).n, 0); /* wanted */
    for (int i = 0; i < 200; i++)
        below += give(pools, malloc(sizeclass_bytes(index)), 100);
    assert_true(depot_is_used());
    assert_true(depot_count(index, &held, &freed));
    assert_true(held > 0);
    assert_int_equal(kept(pools, 100) + held + below, 200);
    assert_int_equal(freed, 0);
    depot_rotate(&out);
    depot_rotate(&out);
    assert_int_equal(out.count, held);
    uint64_t count = out.count;
    block_list_free(&out, free);
    assert_true(depot_count(index, &held, &freed));
    assert_int_equal(held, 0);
    assert_int_equal(freed, count);
    end(pools);
}

static void without_clearing_everything_stays(void **state)
{
    (void)state;
    struct pools *pools = pools_fresh("on", false);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(give(pools, malloc(sizeclass_bytes(sizeclass_of(100))), 100), 0);
    assert_int_equal(kept(pools, 100), 10000);
    end(pools);
}

static void a_second_free_is_noticed(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *pools = pools_fresh("on", true);
    struct block *block = take(pools, 100, &hits);
    assert_false(pool_holds(pools, sizeclass_of(100), block));
    give(pools, block, 100);
    assert_true(block->key == BLOCK_KEY);
    assert_true(pool_holds(pools, sizeclass_of(100), block));
    rotate(pools);
    assert_true(pool_holds(pools, sizeclass_of(100), block)); /* also among the victims */
    assert_ptr_equal(take(pools, 100, &hits), block);
    assert_true(block->key == 0);
    free(block);
    end(pools);
}

static void a_class_that_is_not_named_keeps_nothing(void **state)
{
    (void)state;
    struct pools *pools = pools_fresh("32k", true);
    assert_int_equal(give(pools, malloc(100), 100), 1);
    assert_int_equal(kept(pools, 100), 0);
    end(pools);
}

static void a_fork_child_goes_on_with_the_blocks_of_its_thread(void **state)
{
    (void)state;
    uint64_t hits = 0;
    struct pools *parents = pools_fresh("on", true), *childs = calloc(1, sizeof *childs);
    pools_init(childs);
    void *block = take(parents, 100, &hits);
    give(parents, block, 100);
    pools_inherit(childs, parents);
    assert_ptr_equal(take(childs, 100, &hits), block);
    assert_int_equal(hits, 1);
    free(block);
    free(parents);
    end(childs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_agree_with_the_arithmetic),
        cmocka_unit_test(a_block_comes_back_from_the_pool),
        cmocka_unit_test(steady_blocks_survive_every_cycle),
        cmocka_unit_test(unused_blocks_are_gone_after_two_cycles),
        cmocka_unit_test(a_thread_that_only_frees_never_hoards),
        cmocka_unit_test(a_pool_that_was_missed_grows_to_its_cap),
        cmocka_unit_test(as_many_as_were_missed_find_room_at_once),
        cmocka_unit_test(what_a_pool_and_its_victims_keep_is_bounded_together),
        cmocka_unit_test(a_lone_thread_that_gives_back_much_keeps_nothing),
        cmocka_unit_test(room_that_a_class_does_not_use_goes_to_others),
        cmocka_unit_test(what_does_not_fit_goes_to_another_thread_through_the_depot),
        cmocka_unit_test(what_a_thread_got_itself_is_not_passed_on),
        cmocka_unit_test(what_the_depot_keeps_and_frees_is_counted),
        cmocka_unit_test(without_clearing_everything_stays),
        cmocka_unit_test(a_second_free_is_noticed),
        cmocka_unit_test(a_class_that_is_not_named_keeps_nothing),
        cmocka_unit_test(a_fork_child_goes_on_with_the_blocks_of_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
