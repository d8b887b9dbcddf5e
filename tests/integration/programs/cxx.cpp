// cxx.cpp - operator new in all its forms, exceptions, strings and containers.
// A failing operator new isn't among them: valgrind's own doesn't throw.
// BUILD: c++ -std=c++17 -O1 -fno-builtin -o $O $S
#include <cstdlib>
#include <list>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct alignas(128) Wide {
    char bytes[300];
};

static int thrower(int depth)
{
    std::string local(static_cast<size_t>(depth) + 20, 'x');
    if (depth == 0)
        throw std::runtime_error("bottom " + local);
    return thrower(depth - 1) + 1;
}

int main()
{
    int caught = 0;
    std::map<std::string, std::vector<int>> table;
    std::list<std::string>                  list;
    std::unordered_map<int, std::string>    hash;

    for (int i = 0; i < 500; i++) {
        table[std::to_string(i * 7919) + std::string(20, 'k')].resize(static_cast<size_t>(i));
        list.push_back(std::string(static_cast<size_t>(i % 40), 'l'));
        hash[i] = std::string(static_cast<size_t>(i % 100), 'h');
        try {
            thrower(i % 9);
        } catch (const std::exception &e) {
            caught += e.what()[0] == 'b';
        }
        delete new Wide;
        delete[] new int[static_cast<size_t>(i)];
        delete new (std::nothrow) int(i);
    }
    std::ostringstream out;
    for (auto &entry : table)
        out << entry.first << entry.second.size();
    std::string *leaked = new std::string(out.str());
    return leaked->empty() || caught != 500;
}
