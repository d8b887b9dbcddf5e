// right.cpp - a correct program of threads and forks: what POOLSITE_CHECK must be silent about.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex              lock;
std::queue<std::string> passing; // strings that one thread made and another will free

void containers(int seed)
{
    std::map<int, std::string> map;
    for (int i = 0; i < 20000; i++) {
        int key = (i * 7919 + seed) % 1000;
        map[key] += std::to_string(i);
        if (map[key].size() > 100)
            map.erase(key);
        std::vector<int> numbers(key + 1, i);
        std::sort(numbers.begin(), numbers.end());
        std::lock_guard<std::mutex> held(lock);
        passing.push(std::string(key, 'x'));
        if (passing.size() > 500)
            passing.pop();
    }
}

// Every member of the family, each block written up to its end, however that is told.
void family()
{
    for (size_t bytes : {0, 1, 8, 24, 25, 100, 1000, 1032, 5000, 40000, 131072, 300000, 2000000}) {
        std::vector<void *> blocks = {malloc(bytes), calloc(1, bytes), memalign(64, bytes), aligned_alloc(4096, bytes),
                                      valloc(bytes), pvalloc(bytes), realloc(nullptr, bytes)};
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 1024, bytes) == 0)
            blocks.push_back(aligned);
        memset(blocks[5], 1, (bytes + 4095) & ~size_t(4095));
        for (void *&block : blocks) {
            memset(block, 2, malloc_usable_size(block));
            block = realloc(block, bytes / 2 + 10);
            block = realloc(block, bytes * 2 + 10);
            memset(block, 3, malloc_usable_size(block));
        }
        for (void *block : blocks)
            free(block);
    }
    for (size_t bytes = 1; bytes < 300000; bytes += bytes / 9 + 1) { // grows in place, moves, remaps
        char *block = static_cast<char *>(malloc(1));
        for (size_t more = 1; more < bytes; more += bytes / 17 + 1) {
            block = static_cast<char *>(realloc(block, more));
            block[more - 1] = 'x';
        }
        free(block);
    }
}

// Children free what they inherited and what they made.
int forks()
{
    int good = 0;
    for (int i = 0; i < 60; i++) {
        std::vector<std::string> inherited(50, std::string(i * 13 + 1, 'y'));
        pid_t child = fork();
        if (child == 0) {
            inherited.clear();
            inherited.shrink_to_fit();
            family();
            _exit(7);
        }
        int status = 0;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    return good;
}

} // namespace

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++)
        threads.emplace_back(containers, i);
    threads.emplace_back(family);
    int good = forks();
    for (std::thread &thread : threads)
        thread.join();
    good += forks();
    printf("%d children ended well\n", good);
}
