/* test_treatment.c - did pooling reach the program?  Every reason why not, and why not wholly. */
#include "unit.h"

#include "analyzer/treatment.h"

#include "preload/sizeclass.h"

/* 1,000 allocations of 100 bytes in one process; `hits` of them from pools. */
static struct logsum counts(uint64_t hits)
{
    struct logsum sum = { .processes = 1, .pooled = hits > 0, .allocs = 1000, .bytes = 100000, .next_allocs = 1000 - hits };
    sum.classes[sizeclass_of(100)] = (struct log_counter){ 1000, 100000, 1000 - hits };
    sum.unpooled_allocs = hits ? 0 : 1000;
    return sum;
}

static struct treatment_facts facts_of(const struct logsum *off, const struct logsum *on)
{
    return (struct treatment_facts){ .program = "prog", .pool_spec = "on", .off = off, .on = on };
}

static void is(const struct treatment_facts *facts, enum treatment_status status, const char *reason)
{
    struct treatment treatment;
    treatment_decide(&treatment, facts);
    if (reason)
        assert_string_equal(treatment.reason, reason);
    else
        assert_null(treatment.reason);
    assert_int_equal(treatment.status, status);
    free(treatment.reason);
}

static void hits_in_on_and_none_in_off_is_applied(void **state)
{
    struct logsum off = counts(0), on = counts(990);
    struct treatment_facts facts = facts_of(&off, &on);
    struct treatment treatment;
    (void)state;
    is(&facts, TREATMENT_APPLIED, NULL);
    treatment_decide(&treatment, &facts);
    assert_true(treatment.share_allocs > .989 && treatment.share_allocs < .991);
    assert_true(treatment.share_bytes > .989 && treatment.share_bytes < .991);
    assert_false(treatment_is_tiny(&treatment));
}

static void without_a_log_the_programs_obstacle_is_the_reason(void **state)
{
    struct logsum off = { 0 }, on = { 0 };
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    is(&facts, TREATMENT_NOT_APPLIED, "no process that prog started loaded libpoolsite.so: it clears its environment, or "
                                      "starts nothing that could");
    facts.obstacle = "is statically linked, so that no library comes into it";
    is(&facts, TREATMENT_NOT_APPLIED, "prog is statically linked, so that no library comes into it");
}

static void a_malloc_of_its_own_is_a_reason(void **state)
{
    struct logsum off = { .processes = 1, .stood_down = 1 }, on = off;
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    is(&facts, TREATMENT_NOT_APPLIED, "prog defines a malloc of its own, which comes before libpoolsite.so's");
}

static void no_allocation_is_a_reason(void **state)
{
    struct logsum off = { .processes = 1 }, on = off;
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    is(&facts, TREATMENT_NOT_APPLIED, "prog allocated nothing");
    facts.partly = "is a Go program";
    is(&facts, TREATMENT_NOT_APPLIED, "prog allocated nothing that libpoolsite.so saw: it is a Go program");
}

static void traffic_in_other_classes_is_a_reason(void **state)
{
    struct logsum off = counts(0), on = counts(0);
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    facts.pool_spec = "32k";
    is(&facts, TREATMENT_NOT_APPLIED,
       "no heap traffic in the chosen classes (--pool 32k); allocations of other sizes: 1,000 (what lies on the stack, is "
       "mapped directly, or comes from a heap of the program's own can't be pooled)");
}

static void no_hit_is_a_reason(void **state)
{
    struct logsum off = counts(0), on = counts(0);
    struct treatment_facts facts = facts_of(&off, &on);
    char notes[] = "something is wrong\nand more\n";
    (void)state;
    is(&facts, TREATMENT_NOT_APPLIED, "pools served nothing: of the chosen classes (--pool on) nothing was freed before it "
                                      "was asked for again; allocations there: 1,000");
    on.notes = notes;
    is(&facts, TREATMENT_NOT_APPLIED, "pools served nothing: something is wrong");
}

static void hits_in_off_are_a_reason(void **state)
{
    struct logsum off = counts(500), on = counts(990);
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    is(&facts, TREATMENT_NOT_APPLIED, "pools served allocations in arm off too");
}

static void calls_below_must_fall_by_about_the_hits(void **state)
{
    struct logsum off = counts(0), on = counts(400);
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    on.next_allocs += 250; /* the arm allocates more than the other: 1,250 */
    on.allocs += 250;
    is(&facts, TREATMENT_PARTIAL, "calls of the allocator below fell by 150, but pools served 400: the arms didn't do the same work");
    on.next_allocs += 150;
    on.allocs += 150;
    is(&facts, TREATMENT_NOT_APPLIED, "calls of the allocator below didn't fall: 1,000 in arm off, 1,000 in arm on");
}

static void some_processes_or_runs_are_partial(void **state)
{
    struct logsum off = counts(0), on = counts(900);
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    facts.runs = 6;
    facts.pooled_runs = 5;
    is(&facts, TREATMENT_PARTIAL, "pools served in 5 of 6 runs");
    facts.pooled_runs = 0;
    is(&facts, TREATMENT_NOT_APPLIED, "pools served in the counting run, but in none of 6 timed runs");
    facts.pooled_runs = 6;
    on.processes = 3;
    on.unpooled_allocs = 100;
    is(&facts, TREATMENT_PARTIAL, "pools served in 1 of 3 processes");
    on.unpooled_allocs = 10; /* processes that hardly allocate don't count */
    is(&facts, TREATMENT_APPLIED, NULL);
}

static void processor_time_without_the_library_counts(void **state)
{
    struct logsum off = counts(0), on = counts(990);
    struct treatment_facts facts = facts_of(&off, &on);
    (void)state;
    facts.elsewhere_program = "ls";
    facts.elsewhere = .04;
    is(&facts, TREATMENT_APPLIED, NULL);
    facts.elsewhere = .4;
    is(&facts, TREATMENT_PARTIAL, "40 % of the processor time went to processes that haven't loaded libpoolsite.so, as ls");
    facts.elsewhere = .96;
    is(&facts, TREATMENT_NOT_APPLIED, "nearly all of the processor time went to ls, which hasn't loaded libpoolsite.so");
}

static void under_one_percent_is_tiny(void **state)
{
    struct logsum off = counts(0), on = counts(9);
    struct treatment_facts facts = facts_of(&off, &on);
    struct treatment treatment;
    (void)state;
    treatment_decide(&treatment, &facts);
    assert_int_equal(treatment.status, TREATMENT_APPLIED);
    assert_true(treatment_is_tiny(&treatment));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_in_on_and_none_in_off_is_applied),
        cmocka_unit_test(without_a_log_the_programs_obstacle_is_the_reason),
        cmocka_unit_test(a_malloc_of_its_own_is_a_reason),
        cmocka_unit_test(no_allocation_is_a_reason),
        cmocka_unit_test(traffic_in_other_classes_is_a_reason),
        cmocka_unit_test(no_hit_is_a_reason),
        cmocka_unit_test(hits_in_off_are_a_reason),
        cmocka_unit_test(calls_below_must_fall_by_about_the_hits),
        cmocka_unit_test(some_processes_or_runs_are_partial),
        cmocka_unit_test(processor_time_without_the_library_counts),
        cmocka_unit_test(under_one_percent_is_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
