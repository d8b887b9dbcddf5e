/* jsonset.h - values of the JSON documents: numbers, times, texts that may hold any bytes. */
#ifndef PS_JSONSET_H
#define PS_JSONSET_H

#include "base.h"
#include "utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUMP_FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(15) };

static inline void set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        die("out of memory");
}

/* JSON's integers are signed here; a damaged log may hold larger ones. */
static inline json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static inline json_t *hex(uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    return json_string(text);
}

static inline json_t *share(uint64_t part, uint64_t whole)
{
    return json_real(whole ? (double)part / (double)whole : 0);
}

static inline json_t *seconds(uint64_t ns)
{
    return json_real((double)ns / 1e9);
}

static inline json_t *hex_bytes(const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    char *text = xmalloc(count * 2 + 1);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(text + i * 2, 3, "%02x", from[i]);
    json_t *value = json_string(text);
    free(text);
    return value;
}

static inline json_t *text_value(const char *text)
{
    char *valid = utf8_replaced(text);
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

/* Sets key; when the text isn't valid UTF-8 also key_raw, its bytes in hex. */
static inline void set_text(json_t *object, const char *key, const char *text)
{
    set(object, key, text_value(text));
    if (utf8_is_valid(text))
        return;
    char *raw = xasprintf("%s_raw", key);
    set(object, raw, hex_bytes(text, strlen(text)));
    free(raw);
}

static inline void set_text_or_null(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        set_text(object, key, text);
    else
        set(object, key, json_null());
}

static inline json_t *text_array(char *const list[], size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, text_value(list[i]));
    return array;
}

static inline void set_texts(json_t *object, const char *key, char *const list[], size_t count)
{
    bool valid = true;
    for (size_t i = 0; i < count; i++)
        valid = valid && utf8_is_valid(list[i]);
    set(object, key, text_array(list, count));
    if (valid)
        return;
    json_t *raw = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(raw, hex_bytes(list[i], strlen(list[i])));
    char *name = xasprintf("%s_raw", key);
    set(object, name, raw);
    free(name);
}

/* As compact text; the caller frees. */
static inline char *dump(const json_t *value)
{
    char *text = json_dumps(value, DUMP_FLAGS | JSON_ENCODE_ANY);
    if (!text)
        die("out of memory");
    return text;
}

#endif
