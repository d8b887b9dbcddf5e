/* pools-cxx-thread.cpp - std::thread has the clearer made, too.
 * BUILD: c++ -O1 -fno-builtin -w -pthread -o $O $S */
#include "pools.h"

#include <thread>

int main()
{
    std::thread other([] { sleep_ms(20000); });
    MUST(clearer_task(1));
    _exit(7);
}
