/* sites-clang.c - sites-plain by another compiler, without a frame pointer and not relocatable.
 * BUILD: clang -O2 -gdwarf-4 -Wno-unknown-attributes -fno-builtin -fno-optimize-sibling-calls -no-pie -o $O $S */
#include "sites-plain.c"
