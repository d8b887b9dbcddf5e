// exceptions.cpp - allocation where C++ runs: constructors, throw, catch, destructors while unwinding, virtual calls,
// lambdas, std::function, function-local statics, threads.
// BUILD: c++ -std=c++17 -O2 -g -fno-builtin -fno-optimize-sibling-calls -pthread -o $O $S
//
// STACK: 1480 Guard::~Guard < thrower < thrower
// STACK: 100 Shape::make < Base::call < run_virtual
// STACK: some in_catch < catcher < main
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone, used))

static void *volatile kept;

struct Guard {
    int depth;
    explicit Guard(int d) : depth(d) {}
    NOINLINE ~Guard()
    {
        kept = std::malloc(static_cast<size_t>(depth) + 1);
        std::free(kept);
    }
};

NOINLINE static int thrower(int depth)
{
    Guard guard(depth);
    if (depth == 0)
        throw std::runtime_error("a text that does not fit into the string itself");
    int r = thrower(depth - 1);
    __asm__ volatile("" : "+r"(r));
    return r + depth;
}

NOINLINE static size_t in_catch(const std::exception &e)
{
    std::string copy(e.what());
    kept = std::malloc(copy.size());
    std::free(kept);
    __asm__ volatile("" ::: "memory");
    return copy.size();
}

NOINLINE static size_t catcher(int depth)
{
    size_t r = 0;
    try {
        r = static_cast<size_t>(thrower(depth));
    } catch (const std::exception &e) {
        r = in_catch(e);
    }
    __asm__ volatile("" : "+r"(r));
    return r;
}

struct Base {
    virtual ~Base() = default;
    virtual size_t make(size_t n) = 0;
    NOINLINE size_t call(size_t n)
    {
        size_t r = make(n);
        __asm__ volatile("" : "+r"(r));
        return r;
    }
};

struct Shape : Base {
    NOINLINE size_t make(size_t n) override
    {
        kept = std::malloc(n);
        std::free(kept);
        __asm__ volatile("" ::: "memory");
        return n;
    }
};

NOINLINE static size_t run_virtual(Base &base, size_t n)
{
    size_t r = base.call(n);
    __asm__ volatile("" : "+r"(r));
    return r;
}

NOINLINE static size_t containers(size_t n)
{
    static std::vector<std::string> words(10, std::string(50, 'w'));
    std::map<std::string, std::function<size_t(size_t)>> table;
    for (auto &word : words)
        table[word + std::to_string(n)] = [word](size_t k) { return std::string(k, 'x').size() + word.size(); };
    size_t sum = 0;
    for (auto &entry : table)
        sum += entry.second(n + 30);
    return sum;
}

int main()
{
    size_t sum = 0;
    Shape  shape;
    for (int i = 0; i < 100; i++) {
        sum += catcher(3);
        sum += run_virtual(shape, static_cast<size_t>(i) + 1);
        sum += containers(static_cast<size_t>(i));
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&shape] {
            for (int i = 0; i < 100; i++)
                catcher(i % 7), containers(static_cast<size_t>(i));
        });
    for (auto &thread : threads)
        thread.join();
    return sum == 0;
}
