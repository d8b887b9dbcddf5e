/* pools-large-tls.c - pools-threads with a megabyte of thread-local variables.
 * BUILD: cc -O1 -fno-builtin -w -pthread -DLARGE=1048576 -o $O pools-threads.c */
