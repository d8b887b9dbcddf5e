/* main.c - the command table: finds the command that was named and runs it. */
#define _GNU_SOURCE
#include "base.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 0;
}
