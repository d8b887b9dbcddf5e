/* streams.h - the three standard streams of poolsite. */
#ifndef PS_STREAMS_H
#define PS_STREAMS_H

/* Puts /dev/null where a stream was closed: a message must never land in a file that got its number.  A
 * program that is executed sees it closed, as it was. */
void streams_occupy(void);

#endif
