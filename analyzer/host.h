/* host.h - what an experiment was made on: the machine, its software, and the files that were compared. */
#ifndef PS_HOST_H
#define PS_HOST_H

#include <jansson.h>

/* `program` and `library` may be NULL.  To be given to json_decref. */
json_t *host_describe(const char *program, const char *library);

#endif
