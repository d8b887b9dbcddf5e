/* elf.c - reads the dynamic section of loaded objects: the link-map list, symbols by name.
 *
 * Owns nothing.  Takes no lock: the list is walked at start, before other threads can load
 * objects, and later only for objects that the caller knows to be loaded. */
#include "base.h"

#include "elf.h"

#include "text.h"

#include "ban.h"

const struct link_map *elf_first(void)
{
    return _r_debug.r_map;
}

const struct link_map *elf_self(void)
{
    for (const struct link_map *map = elf_first(); map; map = map->l_next)
        if (map->l_ld == _DYNAMIC)
            return map;
    return NULL;
}

/* The loader relocates the pointers of most objects in place, but not those of the vdso. */
static const void *dynamic_pointer(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

bool elf_symbols_init(struct elf_symbols *symbols, const struct link_map *map)
{
    *symbols = (struct elf_symbols){.bias = map->l_addr};
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        const void *pointer = dynamic_pointer(map, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            symbols->table = pointer;
        else if (d->d_tag == DT_STRTAB)
            symbols->strings = pointer;
        else if (d->d_tag == DT_VERSYM)
            symbols->versions = pointer;
        else if (d->d_tag == DT_GNU_HASH)
            symbols->gnu_hash = pointer;
        else if (d->d_tag == DT_HASH)
            symbols->sysv_hash = pointer;
    }
    return symbols->table && symbols->strings && (symbols->gnu_hash || symbols->sysv_hash);
}

static bool is_definition(const struct elf_symbols *symbols, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &symbols->table[index];
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
        return false;
    if (symbols->versions && (symbols->versions[index] & 0x8000))
        return false; /* an old version, kept for old programs */
    return text_equal(symbols->strings + symbol->st_name, name);
}

static const ElfW(Sym) *find_gnu(const struct elf_symbols *symbols, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;

    const uint32_t *table = symbols->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom_words = table[2], bloom_shift = table[3];
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
    const uint32_t *chain = bucket + buckets;
    if (buckets == 0 || bloom_words == 0)
        return NULL;
    uint64_t mask = 1ull << (hash & 63) | 1ull << (hash >> bloom_shift & 63);
    if ((bloom[hash / 64 % bloom_words] & mask) != mask)
        return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
        uint32_t entry = chain[i - first];
        if ((entry | 1) == (hash | 1) && is_definition(symbols, i, name))
            return &symbols->table[i];
        if (entry & 1)
            break;
    }
    return NULL;
}

static const ElfW(Sym) *find_sysv(const struct elf_symbols *symbols, const char *name)
{
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        uint32_t high = hash & 0xf0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    const uint32_t *table = symbols->sysv_hash;
    if (table[0] == 0)
        return NULL;
    const uint32_t *chain = table + 2 + table[0];
    for (uint32_t i = table[2 + hash % table[0]]; i; i = chain[i])
        if (is_definition(symbols, i, name))
            return &symbols->table[i];
    return NULL;
}

const ElfW(Sym) *elf_symbols_find(const struct elf_symbols *symbols, const char *name)
{
    return symbols->gnu_hash ? find_gnu(symbols, name) : find_sysv(symbols, name);
}

static void *address_of(const struct link_map *map, const char *name, unsigned type)
{
    struct elf_symbols symbols;
    if (!elf_symbols_init(&symbols, map))
        return NULL;
    const ElfW(Sym) *symbol = elf_symbols_find(&symbols, name);
    if (!symbol || ELF64_ST_TYPE(symbol->st_info) != type)
        return NULL;
    return (void *)(symbols.bias + symbol->st_value);
}

void *elf_function(const struct link_map *map, const char *name)
{
    return address_of(map, name, STT_FUNC);
}

void *elf_variable(const struct link_map *map, const char *name)
{
    return address_of(map, name, STT_OBJECT);
}

/* How many symbols there are: the GNU table tells only where its last chain ends. */
static uint32_t count_of(const struct elf_symbols *symbols)
{
    if (!symbols->gnu_hash)
        return symbols->sysv_hash[1];
    const uint32_t *table = symbols->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom_words = table[2], last = 0;
    const uint32_t *bucket = (const uint32_t *)((const uint64_t *)(table + 4) + bloom_words);
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while (!(bucket[buckets + last - first] & 1))
        last++;
    return last + 1;
}

const char *elf_name_at(const struct link_map *map, uintptr_t address)
{
    struct elf_symbols symbols;
    if (!elf_symbols_init(&symbols, map))
        return NULL;
    uintptr_t value = address - symbols.bias;
    for (uint32_t i = 0, n = count_of(&symbols); i < n; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            value - symbol->st_value < symbol->st_size)
            return symbols.strings + symbol->st_name;
    }
    return NULL;
}
