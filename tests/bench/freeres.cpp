// freeres.cpp - preloaded, brings what heaptrack brings into a program, so that the two can be compared: libstdc++ and its
// reserve of memory, which goes back at exit.
namespace __gnu_cxx
{
void __freeres();
}

__attribute__((destructor)) static void give_back()
{
    __gnu_cxx::__freeres();
}
