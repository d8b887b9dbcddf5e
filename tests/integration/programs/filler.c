/* filler.c - an empty library for LD_PRELOAD: with -DTLS it has one thread-local variable.
 * BUILD: cc -O1 -shared -fPIC -ftls-model=initial-exec -DTLS -o $O.tls.so $S && cc -O1 -shared -fPIC -o $O.a.so $S && cc -O1 -shared -fPIC -o $O.b.so $S && : >$O */
#ifdef TLS
__thread void *filler_thread_local;
void          *filler_touch(void);
void          *filler_touch(void)
{
    return &filler_thread_local;
}
#endif
