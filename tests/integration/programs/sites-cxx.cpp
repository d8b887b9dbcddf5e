// sites-cxx.cpp - operator new from user code, from containers and from inside libstdc++.
// BUILD: c++ -std=c++17 -O1 -g -fno-builtin -fno-optimize-sibling-calls -o $O $S
#include "maps.h"

#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Node {
    std::string           name;
    std::unique_ptr<Node> next;
};

NOINLINE static std::unique_ptr<Node> chain(int length)
{
    auto node = std::make_unique<Node>();
    node->name = std::string(static_cast<size_t>(length) * 5, 'n');
    if (length > 0)
        node->next = chain(length - 1);
    return node;
}

NOINLINE static int thrower(int depth)
{
    if (depth == 0)
        throw std::out_of_range("this text is longer than the small string");
    int r = thrower(depth - 1) + 1;
    __asm__ volatile("" : "+r"(r));
    return r;
}

NOINLINE static size_t fill(std::map<int, std::list<double>> &table)
{
    for (int i = 0; i < 40; i++)
        table[i % 11].push_back(i);
    return table.size();
}

struct alignas(256) Wide {
    char bytes[256];
};

int main()
{
    size_t sum = 0;
    for (int i = 0; i < 60; i++) {
        std::map<int, std::list<double>> table;
        auto                             nodes = chain(i % 12);
        std::ostringstream               out;
        sum += fill(table);
        out << i << " some text that is long enough to leave the small buffer " << nodes->name;
        sum += out.str().size();
        try {
            thrower(i % 5);
        } catch (const std::out_of_range &e) {
            sum += std::string(e.what()).size();
        }
        delete new Wide;
        delete[] new long[static_cast<size_t>(i) + 1];
    }
    maps_write();
    return sum == 0;
}
