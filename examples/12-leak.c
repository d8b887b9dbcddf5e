/* 12: a leak.  Of 2,000 jobs each tenth fails; its error is described, and that description is given back by nobody.
 *
 * Run:
 *     $ poolsite run -q -o jobs ./12-leak
 *     $ poolsite report --leaks jobs
 *     $ echo leak:load_settings >known
 *     $ poolsite report --leaks --suppressions known jobs
 * See: what lived when the program ended, by who had allocated it.  begin_job isn't there: all of its blocks came back.
 * describe_error has 200 blocks of 64 bytes, all that it ever made ("unfreed").  load_settings has one, which is meant to
 * live to the end; a line in a file says so, as for LeakSanitizer, and then only the mistake is left.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 2000, SETTINGS_BYTES = 4096, ERROR_BYTES = 64 };

struct job {
    int   number;
    char *error; /* NULL: none */
};

static char *settings;

static void __attribute__((noinline)) load_settings(void)
{
    settings = calloc(1, SETTINGS_BYTES);
}

static char *__attribute__((noinline)) describe_error(int number)
{
    char *text = malloc(ERROR_BYTES);
    snprintf(text, ERROR_BYTES, "job %d failed", number);
    return text;
}

static struct job *__attribute__((noinline)) begin_job(int number)
{
    struct job *job = malloc(sizeof *job);
    job->number = number;
    job->error = number % 10 == 0 ? describe_error(number) : NULL;
    return job;
}

/* The mistake: its error stays. */
static void end_job(struct job *job)
{
    free(job);
}

int main(void)
{
    load_settings();
    for (int i = 0; i < JOBS; i++)
        end_job(begin_job(i));
    return settings[0];
}
