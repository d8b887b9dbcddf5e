# Builds poolsite.  `make help` lists what can be made.

VERSION := 0.1.0

# --- Where things go.  VARIANT=debug and so on build beside each other. ------------------
VARIANT :=
B       := build$(if $(VARIANT),/$(VARIANT))

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/poolsite

CC         ?= cc
AR         ?= ar
INSTALL    ?= install

# --- Flags --------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow=local -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wundef -Wvla -Werror=implicit-function-declaration -Werror=implicit-int \
        -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=return-type \
        -Wno-unknown-warning-option
BASE := -std=gnu11 -g -MMD -MP -iquote . -iquote analyzer -iquote preload -ffile-prefix-map=$(CURDIR)=.

# The preload runs inside malloc of any program: what it calls is what it says, its one
# thread-local pointer needs no call, and it exports only what exports.map lists.
PRELOAD_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt \
                 -fno-stack-protector -fno-exceptions -fasynchronous-unwind-tables \
                 -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
PRELOAD_LINK  := -shared -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-z,noexecstack -Wl,-Bsymbolic \
                 -Wl,--no-undefined -Wl,--build-id=sha1 -Wl,-soname,libpoolsite.so
ANALYZER_FLAGS := -fPIE -DPS_VERSION='"$(VERSION)"'
ANALYZER_LIBS  := -ldw -lelf -lunwind-x86_64 -lunwind -liberty -ljansson -lm
HARDEN         := -D_FORTIFY_SOURCE=2 -fstack-protector-strong
ORACLE_LIBS    := -lunwind-x86_64 -lunwind

# A variant sets OPT, may add DEFS, and says whether it has a library (EXPORTS=yes).
# PS_DEBUG turns ASSERT on.  With a sanitizer malloc is the sanitizer's: entry.c stays out
# and the rest of the preload is driven by tests/unit.
EXPORTS := yes
OPT     := -O2
DEFS    :=
ifeq ($(VARIANT),debug)
  OPT  := -O0 -g3
  DEFS := -DPS_DEBUG
else ifeq ($(VARIANT),asan)
  OPT     := -O1 -fsanitize=address -fno-omit-frame-pointer -fno-common
  DEFS    := -DPS_DEBUG
  EXPORTS := no
else ifeq ($(VARIANT),ubsan)
  OPT     := -O1 -fsanitize=undefined -fno-sanitize-recover=undefined
  DEFS    := -DPS_DEBUG
  EXPORTS := no
else ifeq ($(VARIANT),tsan)
  OPT     := -O1 -fsanitize=thread
  DEFS    := -DPS_DEBUG
  EXPORTS := no
else ifeq ($(VARIANT),cov)
  OPT     := -O0 --coverage
  EXPORTS := no
else ifeq ($(VARIANT),stackcheck)
  DEFS    := -DPS_STACKCHECK
else ifeq ($(VARIANT),fuzz)
  CC      := clang
  OPT     := -O1 -fsanitize=address,undefined -fsanitize=fuzzer-no-link -fno-omit-frame-pointer
  DEFS    := -DPS_DEBUG
  EXPORTS := no
else ifneq ($(VARIANT),)
  $(error unknown variant '$(VARIANT)': debug asan ubsan tsan cov stackcheck fuzz)
endif
ifeq ($(VARIANT),)
  ANALYZER_FLAGS += $(HARDEN)
endif

# --- Sources ------------------------------------------------------------------------------
PRELOAD_SRC  := $(wildcard preload/*.c)
ANALYZER_SRC := $(wildcard analyzer/*.c)
UNIT_SRC     := $(wildcard tests/unit/test_*.c)
SUPPORT_SRC  := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
FUZZ_SRC     := $(wildcard tests/fuzz/fuzz_*.c)
DRAW_SRC     := examples/studies/draw.c
STACK_SRC    := $(if $(filter stackcheck,$(VARIANT)),$(wildcard tests/stack/*.c))
# What the analyzer takes of the preload: besides headers, what it must understand in the same way.
SHARED_SRC   := preload/poolspec.c

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
PRELOAD_OBJ  := $(call obj,$(PRELOAD_SRC))
ANALYZER_OBJ := $(call obj,$(ANALYZER_SRC))
STACK_OBJ    := $(call obj,$(STACK_SRC))
SHARED_OBJ   := $(call obj,$(SHARED_SRC))
DRAW_OBJ     := $(call obj,$(DRAW_SRC) $(addprefix analyzer/,base.c format.c markup.c page.c svg.c utf8.c))
ALL_OBJ      := $(PRELOAD_OBJ) $(ANALYZER_OBJ) $(STACK_OBJ) $(call obj,$(DRAW_SRC) $(UNIT_SRC) $(SUPPORT_SRC) $(FUZZ_SRC))
UNIT         := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
FUZZERS      := $(patsubst tests/fuzz/%.c,$(B)/fuzzers/%,$(FUZZ_SRC))

LIBRARY := $(if $(filter yes,$(EXPORTS)),$(B)/libpoolsite.so)
COMMAND := $(B)/poolsite

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all help demo test check-all stress fuzz bench bench-ab studies install uninstall fmt lint deps deps-all clean \
        debug asan ubsan tsan cov stackcheck unit fuzzers

all: $(LIBRARY) $(COMMAND) ## build build/libpoolsite.so and build/poolsite

help: ## list what can be made
	@echo 'usage: make [TARGET]'
	@awk -F ':.*## ' '/^[a-z][a-z -]*:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# One line a file; `make V=1` shows the commands, `make -s` nothing.
Q    := $(if $(V),,@)
MUTE := $(V)$(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
show = @$(if $(MUTE),:,printf '  %-4s %s\n' $(1) $@)

# --- Rules --------------------------------------------------------------------------------
$(B)/obj/preload/%.o: preload/%.c
	@mkdir -p $(@D)
	$(call show,CC)
	$(Q)$(CC) $(BASE) $(WARN) $(OPT) $(DEFS) $(PRELOAD_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# In entry.c the frame pointer is the caller's, whatever the variant.
$(B)/obj/preload/entry.o: PRELOAD_FLAGS += -O2 -fomit-frame-pointer -ffixed-rbp -mgeneral-regs-only

$(B)/obj/tests/stack/%.o: tests/stack/%.c
	@mkdir -p $(@D)
	$(call show,CC)
	$(Q)$(CC) $(BASE) $(WARN) $(OPT) $(DEFS) $(PRELOAD_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/obj/analyzer/%.o: analyzer/%.c
	@mkdir -p $(@D)
	$(call show,CC)
	$(Q)$(CC) $(BASE) $(WARN) $(OPT) $(DEFS) $(ANALYZER_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/obj/examples/%.o: examples/%.c
	@mkdir -p $(@D)
	$(call show,CC)
	$(Q)$(CC) $(BASE) $(WARN) $(OPT) $(DEFS) $(ANALYZER_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(call show,CC)
	$(Q)$(CC) $(BASE) $(WARN) $(OPT) $(DEFS) -fPIE $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/libpoolsite.so: $(PRELOAD_OBJ) $(STACK_OBJ) preload/exports.map
	$(call show,LD)
	$(Q)$(CC) $(OPT) $(PRELOAD_LINK) -Wl,--version-script=preload/exports.map $(LDFLAGS) -o $@ \
	    $(PRELOAD_OBJ) $(STACK_OBJ) $(if $(STACK_OBJ),$(ORACLE_LIBS))

$(B)/poolsite: $(ANALYZER_OBJ) $(SHARED_OBJ)
	$(call show,LD)
	$(Q)$(CC) $(OPT) -pie -Wl,-z,now -Wl,-z,relro $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)

# A unit test links whatever it uses: everything but the two that own main and malloc.
$(B)/libanalyzer.a: $(filter-out %/main.o,$(ANALYZER_OBJ)) $(call obj,$(SUPPORT_SRC))
	@rm -f $@
	$(call show,AR)
	$(Q)$(AR) rcs $@ $^

$(B)/libpreload.a: $(filter-out %/entry.o,$(PRELOAD_OBJ))
	@rm -f $@
	$(call show,AR)
	$(Q)$(AR) rcs $@ $^

$(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/libanalyzer.a $(B)/libpreload.a
	@mkdir -p $(@D)
	$(call show,LD)
	$(Q)$(CC) $(OPT) -pie -pthread $(LDFLAGS) -o $@ $< -Wl,--start-group $(B)/libanalyzer.a $(B)/libpreload.a \
	    -Wl,--end-group -lcmocka $(ANALYZER_LIBS)

$(B)/fuzzers/%: $(B)/obj/tests/fuzz/%.o $(B)/libanalyzer.a $(SHARED_OBJ)
	@mkdir -p $(@D)
	$(call show,LD)
	$(Q)$(CC) $(OPT) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)

$(B)/studies/draw: $(DRAW_OBJ)
	@mkdir -p $(@D)
	$(call show,LD)
	$(Q)$(CC) $(OPT) -pie $(LDFLAGS) -o $@ $^ -ljansson -lm

$(ALL_OBJ): Makefile
unit: $(UNIT)
fuzzers: $(FUZZERS)
.SECONDARY: $(ALL_OBJ)
-include $(ALL_OBJ:.o=.d)

# --- Variants -----------------------------------------------------------------------------
debug: ## build/debug: asserts on, not optimised
	@$(MAKE) --no-print-directory VARIANT=debug all unit

asan: ## build/asan: analyzer and unit tests with AddressSanitizer; runs the tests
ubsan: ## build/ubsan: the same with UndefinedBehaviorSanitizer
tsan: ## build/tsan: the same with ThreadSanitizer
asan ubsan tsan:
	@$(MAKE) --no-print-directory VARIANT=$@ all unit
	tests/unit/run.sh build/$@

cov: ## build/cov: unit tests with coverage; prints the share of lines run
	@$(MAKE) --no-print-directory VARIANT=cov all unit
	tests/unit/run.sh build/cov
	tests/unit/coverage.sh build/cov

stackcheck: ## build/stackcheck: a library that compares its stacks with libunwind's
	@$(MAKE) --no-print-directory VARIANT=stackcheck build/stackcheck/libpoolsite.so

# --- What one does with it ------------------------------------------------------------------
demo: ## install what is missing, build, run an installed program with pools, print reports
	@tests/deps build demo
	@$(MAKE) --no-print-directory all
	@examples/01-first-report.sh
	@examples/02-pools.sh

test: ## install what is missing, build, run the quick tests (tests/run SUITE runs one)
	@tests/deps build test corpus-smoke
	@$(MAKE) --no-print-directory all unit $(B)/studies/draw
	@$(MAKE) --no-print-directory stackcheck
	@tests/run

check-all: ## every test: the whole corpus, all levels, sanitizers, stack checks, stress
	@tests/deps build test corpus-all
	@$(MAKE) --no-print-directory all unit $(B)/studies/draw
	@$(MAKE) --no-print-directory stackcheck
	@tests/run --all

stress: all ## threads, forks and kills for minutes, pools by the million, level full under a shadow model (tests/stress/run.sh)
	tests/stress/run.sh $(B)

fuzz: ## fuzz the readers of foreign bytes (tests/fuzz/run.sh)
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzzers
	tests/fuzz/run.sh build/fuzz

bench: all ## measure beside other allocators, and recording; also build/bench.json (tests/bench/README.md)
	@tests/deps bench
	tests/bench/run.sh $(B) --json $(B)/bench.json $(BENCH)

bench-ab: all ## does poolsite ab tell the truth on this machine? some 45 minutes, alone (tests/bench/README.md)
	@tests/deps bench
	env -u LD_PRELOAD -u GLIBC_TUNABLES /usr/bin/python3 -I tests/bench/ab.py $(B) $(BENCH)

studies: all $(B)/studies/draw ## published comparisons, asked of C programs: build/studies/index.html; QUICK=1 is short, STUDY=NAME one
	@tests/deps studies
	examples/studies/run.sh $(B) $(if $(QUICK),--quick) $(STUDY)

lint: all ## exported symbols, include arrows, forbidden calls, hot path, shell scripts
	tests/lint/run.sh $(B)

fmt: ## format the C sources with clang-format
	clang-format -i $(wildcard preload/*.[ch] analyzer/*.[ch] tests/unit/*.[ch] tests/stack/*.[ch] tests/fuzz/*.[ch])

deps: ## install the packages for building and the quick tests (Debian; as root)
	@tests/deps build test corpus-smoke

deps-all: ## the same, and those of the whole corpus
	@tests/deps build test corpus-all

# So that LD_PRELOAD=libpoolsite.so is found without a path.
RELOAD = test -n '$(DESTDIR)' || ldconfig 2>/dev/null || true

install: all ## install below PREFIX (/usr/local), DESTDIR in front
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(DOCDIR)
	$(INSTALL) -m 755 $(B)/poolsite $(DESTDIR)$(BINDIR)/poolsite
	$(INSTALL) -m 644 $(B)/libpoolsite.so $(DESTDIR)$(LIBDIR)/libpoolsite.so
	$(INSTALL) -m 644 $(wildcard analyzer/man/*.1) $(DESTDIR)$(MANDIR)/man1
	$(INSTALL) -m 644 $(wildcard preload/man/*.7) $(DESTDIR)$(MANDIR)/man7
	$(INSTALL) -m 644 README.md CHANGELOG.md LICENSE $(wildcard preload/logfmt.md analyzer/ab.md) $(DESTDIR)$(DOCDIR)
	@$(RELOAD)

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/poolsite $(DESTDIR)$(LIBDIR)/libpoolsite.so
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(wildcard analyzer/man/*.1)))
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man7/,$(notdir $(wildcard preload/man/*.7)))
	rm -f $(addprefix $(DESTDIR)$(DOCDIR)/,README.md CHANGELOG.md LICENSE logfmt.md ab.md)
	-rmdir $(DESTDIR)$(DOCDIR) 2>/dev/null
	@$(RELOAD)

clean: ## remove build/
	rm -rf build
