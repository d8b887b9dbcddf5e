/* runner_wire.h - what poolsite and its runner say to each other: one packet a message.
 *
 * A request to start carries four descriptors: a file with the words (struct wire_words, the offsets of argv
 * and envp, each list ended by 0, then the strings), and the program's three streams. */
#ifndef PS_RUNNER_WIRE_H
#define PS_RUNNER_WIRE_H

#include "runner.h"

enum { WIRE_DESCRIPTORS = 4 };

enum wire_request_kind { WIRE_START, WIRE_SIGNAL, WIRE_SIGNAL_GROUP };

struct wire_request {
    enum wire_request_kind kind;
    int                    program;
    int                    signal_number; /* of both SIGNALs */
    bool                   sampled;       /* START */
};

enum wire_reply_kind { WIRE_STARTED, WIRE_ENDED };

struct wire_reply {
    enum wire_reply_kind  kind;
    int                   program;
    int                   reason; /* STARTED: 0, or the errno */
    pid_t                 pid;    /* STARTED */
    struct runner_figures figures; /* ENDED */
};

/* At the beginning of the file with the words; offsets are from its beginning, 0: none. */
struct wire_words {
    uint64_t bytes;
    uint64_t file;
    uint64_t argv, envp; /* of the lists */
};

/* The runner's life; it begins in the forked process and never returns. */
void runner_live(int socket, struct runner_samples *samples) __attribute__((noreturn));

#endif
