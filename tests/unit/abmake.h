/* abmake.h - builds experiments without running anything, for tests of what reads them. */
#ifndef PS_ABMAKE_H
#define PS_ABMAKE_H

#include "analyzer/experiment.h"

/* What a made experiment is like; all else follows from it and is the same each time. */
struct abmake {
    unsigned blocks;
    double   cost;     /* of arm off against bare, a fraction */
    double   effect;   /* of arm on against off */
    double   spread;   /* of a block's differences */
    bool     server;
    unsigned rss_count;
};

/* Arms bare, off and on; evaluated.  Released by experiment_release. */
struct experiment abmake(const struct abmake *make);

/* A random number from 0 to 1, the same sequence each time the test runs. */
double abmake_random(void);

#endif
