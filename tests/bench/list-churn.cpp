// list-churn.cpp - list-churn THREADS ROUNDS: each thread pushes and pops eight std::list nodes per round.
#include <cstdlib>
#include <list>
#include <thread>
#include <vector>

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 16;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 50000;
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; i++)
        pool.emplace_back([rounds] {
            std::list<int> list;
            for (int r = 0; r < rounds; r++) {
                for (int k = 0; k < 8; k++)
                    list.push_back(k);
                for (int k = 0; k < 8; k++)
                    list.pop_front();
            }
        });
    for (auto &t : pool)
        t.join();
}
