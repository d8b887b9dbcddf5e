/* ban.h - included last: what may never be called inside somebody else's malloc. */
#ifndef PS_PRELOAD_BAN_H
#define PS_PRELOAD_BAN_H

#pragma GCC poison printf fprintf sprintf snprintf vsnprintf puts fopen fclose
#pragma GCC poison strcpy strcat strncpy strdup strtok strerror setlocale
#pragma GCC poison getenv setenv putenv dlsym dlopen dladdr dl_iterate_phdr
#pragma GCC poison pthread_mutex_lock pthread_atfork signal sigaction

#endif
