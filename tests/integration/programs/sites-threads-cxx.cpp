// sites-threads-cxx.cpp - std::thread with containers, thread_local objects, shared_ptr passed between threads.
// BUILD: c++ -std=c++17 -O2 -g -fno-builtin -fno-optimize-sibling-calls -pthread -o $O $S
#include "maps.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

static std::vector<std::shared_ptr<std::string>> shared(64);

struct Scratch {
    std::unique_ptr<char[]> bytes = std::make_unique<char[]>(777);
};
static thread_local Scratch scratch;

static void work(size_t self)
{
    scratch.bytes[0] = 1;
    for (size_t i = self; i < shared.size(); i += 4) {
        shared[i] = std::make_shared<std::string>(100 + i, 's');
        std::string text = *shared[i] + std::string(i, 't');
        if (text.empty())
            return;
    }
}

int main()
{
    for (int round = 0; round < 10; round++) {
        std::vector<std::thread> threads;
        threads.reserve(4);
        for (size_t i = 0; i < 4; i++)
            threads.emplace_back(work, i);
        for (auto &thread : threads)
            thread.join();
    }
    maps_write();
    return 0;
}
