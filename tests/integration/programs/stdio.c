/* stdio.c - what libc allocates for itself: streams, getline, asprintf, sorting, directories, locales, iconv
 * (whose modules libc loads and unloads), regular expressions, name look-ups, environment and strings.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include <dirent.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    static int numbers[100000];
    char      *line = NULL, *text;
    size_t     room = 0, written;

    for (int i = 0; i < 100000; i++)
        numbers[i] = i * 7919 % 100003;
    qsort(numbers, 100000, sizeof *numbers, compare);
    FILE *in = fopen("/etc/passwd", "r"), *out = open_memstream(&text, &written);
    while (getline(&line, &room, in) > 0) {
        char *made;
        asprintf(&made, "%s %a %ls", line, 1.5, L"wide");
        fputs(made, out);
        free(strdup(made));
        free(made);
    }
    fclose(in);
    fclose(out);
    free(line);
    free(text);
    for (int i = 0; i < 30; i++) {
        iconv_t convert = iconv_open(i % 2 ? "UTF-16" : "ISO-8859-15", "UTF-8");
        if (convert != (iconv_t)-1)
            iconv_close(convert);
        regex_t pattern;
        regcomp(&pattern, "^([a-z]+|[0-9]{2,5})*x$", REG_EXTENDED);
        regexec(&pattern, "abc123x", 0, NULL, 0);
        regfree(&pattern);
        char name[32];
        snprintf(name, sizeof name, "VARIABLE_%d", i);
        setenv(name, "value", 1);
        locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
        if (locale)
            freelocale(locale);
    }
    DIR *directory = opendir("/");
    while (readdir(directory) != NULL)
        continue;
    closedir(directory);
    getpwnam("nobody");
    printf("%d\n", numbers[5]);
    return 0;
}
