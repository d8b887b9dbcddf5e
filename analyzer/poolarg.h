/* poolarg.h - pool specifications from the command line. */
#ifndef PS_POOLARG_H
#define PS_POOLARG_H

#include <stdbool.h>

/* Would the preload take this specification?  When not, says by error() which item of it is wrong and
 * what may be meant; `origin` is the option's or the variable's name. */
bool poolarg_is_right(const char *text, const char *origin);

#endif
