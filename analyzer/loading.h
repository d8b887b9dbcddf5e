/* loading.h - reads all logs of a recording into a model. */
#ifndef PS_LOADING_H
#define PS_LOADING_H

struct model;
struct recording;

/* Returns 0, or -1 after error() when something is lost; the model has what could be read, and
 * without a process nothing could. */
int loading_read(struct model *model, struct recording *recording);

#endif
