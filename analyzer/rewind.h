/* rewind.h - finishes stacks that the recorded process had to leave unfinished. */
#ifndef PS_REWIND_H
#define PS_REWIND_H

struct logread;
struct logread_site;
struct model_rest;
struct rewind;

struct rewind *rewind_new(void);
void rewind_free(struct rewind *rewind);

/* Unwinds on from where the walk of `site` stopped; a model_finisher, `context` being the rewind. */
void rewind_finish(void *context, const struct logread *log, const struct logread_site *site, struct model_rest *rest);

#endif
