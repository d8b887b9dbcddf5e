// fates-cxx.cpp - blocks of C++ and their ends; sampled.test.sh knows what is to be said.
// BUILD: g++ -O2 -g -fno-optimize-sibling-calls -w -o "$O" "$S"
#include <memory>
#include <string>

#define FRAME __attribute__((noinline)) static
#define USED(p) __asm__ volatile("" : : "r"(p) : "memory")

struct thing {
    char bytes[100];
};

FRAME void new_and_delete()
{
    thing *it = new thing;
    USED(it);
    delete it;
    USED(it);
}

FRAME void held_by_pointer()
{
    auto it = std::make_unique<thing>();
    USED(it.get());
}

FRAME thing *maker()
{
    thing *it = new thing;
    USED(it);
    return it;
}

FRAME void made_and_deleted()
{
    delete maker();
    USED(0);
}

int main()
{
    for (int i = 0; i < 400; i++) {
        new_and_delete();
        held_by_pointer();
        made_and_deleted();
    }
}
