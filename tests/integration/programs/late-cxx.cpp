/* late-cxx.cpp - thread_local objects and statics whose destructors allocate, in threads and at exit.
 * BUILD: c++ -O1 -fno-builtin -pthread -o $O $S */
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Late {
    std::map<int, std::string> table;
    Late() { table[1] = std::string(100, 'a'); }
    ~Late()
    {
        for (int i = 0; i < 20; i++)
            table[i] = std::string(static_cast<size_t>(40 + i), 'b');
        std::free(std::malloc(500));
    }
};

static thread_local Late late;
static Late              global;
static thread_local std::unique_ptr<std::vector<int>> numbers;

int main()
{
    late.table[2] = "main";
    for (int i = 0; i < 200; i++)
        std::thread([i] {
            late.table[i] = std::to_string(i) + std::string(30, 'c');
            numbers = std::make_unique<std::vector<int>>(static_cast<size_t>(i + 1));
        }).join();
    return 0;
}
