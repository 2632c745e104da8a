# mobula. `make` builds the one static binary; `make help` lists the targets; CONTRIBUTING.md says how to work on it.
#
# Everything made lies under build/, in one folder per way of compiling, each a mirror of the tree:
#   build/whole/   the product: musl, static-pie, hardened, all files optimized as one
#                                                               -> build/mobula (cross: build/ARCH/whole/ -> build/ARCH/mobula)
#   build/static/  for tests that run as the product does: the same file by file, and the vendored libraries of both
#   build/test/    for unit tests: glibc, ASan, UBSan           -> build/test/tests/unit/ROOM/t_NAME, …/kinds/KIND, …/world
#   build/host/    for valgrind, gdb, the model API server      -> build/host/mobula, build/apiserver
#   build/fuzz/    libFuzzer: clang, ASan, UBSan                -> build/fuzz/NAME
#   build/cover/   counts which branches were taken: gcov       -> build/cover/tests/unit/ROOM/t_NAME
#   build/vendor/  third-party source, fetched and patched by vendor/fetch
# Sources and tests are found by wildcard: a new file needs no line here. V=1 shows whole commands.

VERSION := 0.1.0

# Lowest first. A room knows only those before it, and so its tests are linked with only those.
ROOMS := base json yaml spec tls http net cloud ship serve kube grpc heads remote ray scale shape work plan control settings kinds hub \
    edge operator command submit storage egress schema artifact release explain dns logs check fleet cli

all: mobula

# ---- compilers and flags ----

HOST_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(shell uname -m)))
ARCH ?= $(HOST_ARCH)
GNU_amd64 := x86_64-linux-gnu
GNU_arm64 := aarch64-linux-gnu
CROSS := $(if $(filter-out $(HOST_ARCH),$(ARCH)),$(GNU_$(ARCH))-)
OUT := build$(if $(CROSS),/$(ARCH))
ifeq ($(origin CC),default)
CC := $(CROSS)gcc
endif
WERROR ?= -Werror
comma := ,

# gcc's warnings come once for each file: of the product as a whole, of tests with sanitizers. clang's are clang-tidy's.
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wcast-qual \
    -Wwrite-strings -Wundef -Wformat=2 -Wimplicit-fallthrough $(WERROR)
LANGUAGE := -std=gnu17 -D_GNU_SOURCE -DMOBULA_VERSION='"$(VERSION)"' -Iinclude
COMMON := $(LANGUAGE) $(WARNINGS)

# Linux has no landing pads for user programs (IBT), and the loader that would switch them on for arm64 (BTI) is not in a static program.
# Signed return addresses on arm64 (pac-ret) take 2.3 % of its code, 27 KB, which the limit of the program does not have; stacks with arrays
# of characters are guarded on both.
HARDEN_amd64 := -fcf-protection=return
# gcc before 12 and clang before 16 have no zero-initialised locals to offer.
cc_has = $(shell $(CC) -Werror $(1) -x c -c -o /dev/null /dev/null 2>/dev/null && echo $(1))
# Functions with arrays of characters are guarded: to guard all that take an address (-strong) costs 5 % of the binary.
HARDEN := -U_FORTIFY_SOURCE -fstack-protector -fstack-clash-protection $(call cc_has,-ftrivial-auto-var-init=zero) $(HARDEN_$(ARCH))
# The processor's guard for stacks lies in each thread's block on amd64, which takes longer instructions than musl's global copy of it.
HARDEN += $(call cc_has,-mstack-protector-guard=global)
SMALLEST := $(or $(call cc_has,-Oz),-Os)
# On arm64 functions that are called once take less room inside their callers, however large those get: 3 KB.
SMALLEST += $(if $(filter arm64,$(ARCH)),$(call cc_has,--param=large-function-growth=400 --param=large-stack-frame-growth=4000 \
    --param=large-unit-insns=100000 --param=inline-unit-growth=100))
# gcc aligns tables to cache lines on amd64; the ABI's smaller alignment saves 5 KB.
SMALLEST += $(call cc_has,-malign-data=abi)
# What makes code larger even at -Oz, by measurement with gcc 12. Leaving out the others gains nothing on arm64.
LARGER := optimize-sibling-calls shrink-wrap $(if $(filter amd64,$(ARCH)),caller-saves expensive-optimizations \
    inline-functions-called-once tree-ch tree-dominator-opts tree-loop-im tree-pre tree-sra tree-tail-merge)
SMALLER := $(call cc_has,$(LARGER:%=-fno-%))
FAST := -O2 $(if $(SMALLER),$(LARGER:%=-f%))
SMALL := $(SMALLEST) -fPIE -fvisibility=hidden -ffunction-sections -fdata-sections \
    -fno-asynchronous-unwind-tables -fno-unwind-tables -ffile-prefix-map=$(CURDIR)=.
# gcc optimizes the whole program as one: 16 KB less on amd64. What comes of it is an ordinary object file, so any linker will do, and the
# same one each time, as no parts of it are made side by side. It takes 15 s: WHOLE= leaves it out. The vendored libraries stay outside:
# BearSSL's constant-time code is compiled file by file, as its authors had it.
WHOLE := $(call cc_has,-flto -flto-partition=one)
# src/share/as: an assembler that merges equal instructions of functions, which saves 92 KB on amd64 and 111 KB on arm64. ccache hashes it.
SHARE := -Bsrc/share
SHARE_FILES := $(sort $(wildcard src/share/*))
empty :=
export CCACHE_EXTRAFILES := $(subst $(empty) $(empty),:,$(SHARE_FILES))
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# musl's headers and the compiler's own, none of the machine's libc.
MUSL := $(OUT)/musl
MUSL_INCLUDE := -nostdinc -isystem $(MUSL)/include -isystem $(shell $(CC) -print-file-name=include)

# One way of compiling: its folder and its command. For those with sanitizers the vendored libraries are host's.
DIR_whole := $(OUT)/whole
STUB := $(DIR_whole)/stub
DIR_static := $(OUT)/static
DIR_test := build/test
DIR_host := build/host
DIR_fuzz := build/fuzz
DIR_cover := build/cover
# -g1: lines and functions for backtraces, but no variables: saves a quarter of the time to compile and link tests.
CC_product = $(CC) $(LANGUAGE) $(SMALL) -g1 $(SMALLER) $(HARDEN) $(MUSL_INCLUDE)
CC_static = $(CC_product) $(SHARE)
CC_whole = $(CC_product) $(WARNINGS) -g $(if $(WHOLE),$(WHOLE),$(SHARE)) -DMOBULA_PRODUCT -DMOBULA_STUB='"$(STUB)"'
# Without checks that ASan makes, too, or make fuzz does: unit tests take a fifth less time.
CC_test = $(CC) $(COMMON) -O1 -g1 $(SANITIZE) -fno-sanitize=null,alignment,object-size
CC_host = $(CC) $(LANGUAGE) -O2 -g1
CC_fuzz = clang $(LANGUAGE) -O1 -g1 $(SANITIZE) -fsanitize=fuzzer-no-link
CC_cover = $(CC) $(LANGUAGE) -O0 -g --coverage

# LLVM's linker for both architectures: addresses that the program corrects when it starts take a bit each instead of 24 bytes (DT_RELR),
# and literals that end alike are stored once. It is called by its folder: a cross compiler looks for linkers with its own prefix only.
LLD := $(dir $(realpath $(shell command -v ld.lld)))

# static-pie by hand: the musl-gcc of Debian 12 quietly makes a dynamic binary when asked for one.
LINK_static = $(CC) -B$(LLD) -fuse-ld=lld -nostdlib -nostartfiles -static -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now \
    -Wl,-z,noexecstack,--gc-sections,--build-id=none,-O2,--pack-dyn-relocs=relr $(MUSL)/lib/rcrt1.o $(MUSL)/lib/crti.o
# Functions of src/base/libc.h, which save 8 KB in place of musl's. All of the printf family ends in the first two.
LIBC := vsnprintf=format_text vfprintf=format_file qsort=libc_qsort
LINK_whole = $(LINK_static) $(LIBC:%=-Wl,--defsym=%)
LINK_static_end = $(MUSL)/lib/libc.a $(shell $(CC) -print-libgcc-file-name) $(MUSL)/lib/libc.a $(MUSL)/lib/crtn.o
LINK_test = $(CC) $(SANITIZE) -pthread -fuse-ld=lld
LINK_host = $(CC) -pthread
LINK_fuzz = clang $(SANITIZE) -fsanitize=fuzzer -pthread -fuse-ld=lld
LINK_cover = $(CC) --coverage -pthread

export LC_ALL := C.UTF-8
export TZ := UTC
ifndef SOURCE_DATE_EPOCH
export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
endif

# As many jobs as cores unless -j says otherwise; a make under this one shares its jobs.
MAKEFLAGS := $(MAKEFLAGS) --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(shell nproc))
.DELETE_ON_ERROR:
.SECONDARY:
Q := $(if $(V),,@)

# ---- what there is ----

VENDOR := build/vendor/.done
SOURCES := $(sort $(wildcard src/*/*.c src/kinds/*/*.c))
# Tests of a room, of a kind, of the whole operator, of control plane and operators together.
UNIT := $(patsubst %.c,%,$(sort $(wildcard $(patsubst %,%/t_*.c,tests/unit tests/unit/* tests/kinds/* tests/world tests/fleet))))
FUZZ := $(patsubst tests/fuzz/f_%.c,%,$(sort $(wildcard tests/fuzz/f_*.c)))
# Rooms that only tests have: the model API server, the simulator. They know every room; main.c is not of the room.
TEST_ROOMS := $(foreach r,apiserver sim,$(if $(wildcard tests/model/$(r)/*.c),$(r)))
REAL_ROOMS := $(foreach r,$(ROOMS),$(if $(wildcard src/$(r)/*.c src/$(r)/*/*.c),$(r)))

# below_ROOM: the room and all it may know, highest first, as the linker wants them.
seen :=
$(foreach r,$(REAL_ROOMS) $(TEST_ROOMS),$(eval seen := $(r) $(seen))$(eval below_$(r) := $(seen)))
ALL_ROOMS := $(seen)

sources_of = $(filter-out %/main.c,\
    $(wildcard $(if $(filter $(1),$(TEST_ROOMS)),tests/model,src)/$(1)/*.c) $(if $(filter kinds,$(1)),$(wildcard src/kinds/*/*.c)))

# The libraries that a test of room $(2) is linked with in build way $(1). A test of something else may use everything.
archives = $(patsubst %,$(DIR_$(1))/%.a,$(filter-out $(if $(filter static,$(1)),$(unused_$(2))),$(or $(below_$(2)),$(ALL_ROOMS))))
# Rooms below another one that need not be compiled for its tests as the product is, because they use nothing of them: its linker drops what
# names them.
unused_command := remote ray scale shape work plan control settings kinds hub edge operator
unused_artifact := $(unused_command)
libraries_static := $(DIR_static)/libbearssl.a $(DIR_static)/libcrux.a $(DIR_static)/libyaml.a
libraries_host := $(DIR_host)/libbearssl.a $(DIR_host)/libcrux.a $(DIR_host)/libyaml.a
libraries_test := $(libraries_host)
libraries_fuzz := $(libraries_host)
libraries_cover := $(libraries_host)

# The room that a file belongs to: src/json/x.c and tests/unit/json/t_x.c are json's. Third-party headers are given only to the room that
# wraps them, and to tests.
room_of = $(patsubst %.c,test,$(word $(if $(filter tests/unit/% tests/model/%,$(1)),3,2),$(subst /, ,$(1))))
headers_json := -isystem build/vendor/jsmn
headers_yaml := -isystem build/vendor/libyaml/include
headers_tls := -isystem build/vendor/bearssl/inc -isystem build/vendor/libcrux/inc
headers_tests := $(headers_json) $(headers_yaml) $(headers_tls) -I. -Wno-string-conversion
# What every event passes through, and what tries every demand on every node, is compiled for speed, the rest of the product for size: so
# are the files of the fast rooms that no event waits for.
speed_json := $(FAST)
speed_base := $(FAST)
unhurried := base64 chains deflate err fatal format gzip inflate intern libc log names nearest quantity random slab slice time \
    equal form merge number patch pointer tree write
$(foreach f,$(unhurried),$(eval speed_$(f) := $(SMALLEST) $(SMALLER)))
speed_pack_fit := $(FAST)
speed_pack_choose := $(FAST)
speed_sha256 := $(FAST)
# Test programs are compiled without optimization: that takes a third less time, and they spend theirs in the rooms and models.
TEST_PROGRAMS := tests/unit/% tests/kinds/% tests/world/% tests/fleet/%
room_flags = -DMOBULA_ROOM='"$(room_of)"' \
    $(if $(filter $(DIR_test)/%,$@),$(if $(filter $(TEST_PROGRAMS),$(1)),-O0)) \
    $(if $(filter $(DIR_static)/% $(DIR_whole)/%,$@),$(speed_$(room_of)) $(speed_$(basename $(notdir $(1))))) \
    $(if $(filter tests/%,$(1)),$(headers_tests),$(headers_$(room_of)))

SPEEDS := $(foreach v,$(sort $(filter speed_%,$(.VARIABLES))),$(v)=$($(v)))

# ---- how things are made, once for each build way ----

quote = '$(subst ','\'',$(1))'

define build_way
$(DIR_$(1))/.flags: FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' $$(call quote,$$(CC_$(1)) $$(LINK_$(1)) $$(headers_tests) $(if $(filter static whole,$(1)),$(SPEEDS))) >$$@.new
	@cmp -s $$@ $$@.new && rm $$@.new || mv $$@.new $$@

$(DIR_$(1))/%.o: %.c $(DIR_$(1))/.flags $(VENDOR) $(if $(filter static whole,$(1)),$(MUSL)/lib/libc.a) \
    $(if $(filter static,$(1)),$(SHARE_FILES))
	@echo '  CC      $$(if $(filter test whole,$(1)),,$(1)/)$$<'
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(call room_flags,$$<) -MMD -MP -c -o $$@ $$<

$(foreach r,$(REAL_ROOMS) $(TEST_ROOMS),
$(DIR_$(1))/$(r).a: $(patsubst %.c,$(DIR_$(1))/%.o,$(call sources_of,$(r)))
	@echo '  AR      $$@'
	@rm -f $$@ && $$(AR) rcsD $$@ $$^
)
-include $(if $(wildcard $(DIR_$(1))),$(shell find $(DIR_$(1)) -name '*.d'))
endef

FORCE:
$(foreach way,whole static test host fuzz cover,$(eval $(call build_way,$(way))))

# Files that the assembler puts into the binary (src/command/embed.c): each one's name and text, NULs between, compressed as one. zopfli
# writes what gzip does, in 5 % less room.
build/embed.gz: $(sort $(wildcard airgap/crds/* airgap/install/* airgap/patches/* $(patsubst %,src/%/*.txt,cli dns egress schema)))
	@echo '  PACK    $@'
	@mkdir -p $(@D)
	$(Q)for f in $^; do printf '%s\0' $$f && cat $$f && printf '\0'; done >$(@:.gz=)
	$(Q)zopfli -c $(@:.gz=) >$@
$(foreach way,whole static test host fuzz cover,$(DIR_$(way))/src/command/embed.o): build/embed.gz

$(VENDOR): vendor/lock $(wildcard vendor/patches/*/*.patch)
	$(Q)vendor/fetch build/vendor
	@touch $@

$(MUSL)/lib/libc.a: vendor/build-musl $(VENDOR) $(DIR_static)/.flags
	@echo '  MUSL    $(MUSL)'
	+$(Q)vendor/build-musl build/vendor/musl $(MUSL) $(ARCH) $(CC) $(SMALLEST) $(SMALLER)

$(DIR_static)/lib%.a: $(MUSL)/lib/libc.a vendor/lib.mk $(SHARE_FILES) $(DIR_static)/.flags
	+$(Q)$(MAKE) -s -f vendor/lib.mk LIB=$* OUT=$@ CC='$(CC)' AR=$(AR) CFLAGS='$(SMALL) -g $(HARDEN) $(MUSL_INCLUDE)' SHARE=$(SHARE) \
	    SHARE_FILES='$(SHARE_FILES)'

$(DIR_host)/lib%.a: $(VENDOR) vendor/lib.mk $(DIR_host)/.flags
	+$(Q)$(MAKE) -s -f vendor/lib.mk LIB=$* OUT=$@ CC='$(CC)' AR=$(AR) CFLAGS='-g1 -Os'

# ---- programs ----

OBJECTS := $(SOURCES:%.c=$(DIR_whole)/%.o)
mobula: $(OUT)/mobula ## the static binary (the default); ARCH=arm64 cross-builds it
.PHONY: mobula

$(OUT)/mobula: $(OUT)/mobula.debug
	@echo '  STRIP   $@'
	$(Q)$(CROSS)strip -o $@ $<
	@echo "          $$(stat -c %s $@) bytes of 1572864"

$(OUT)/mobula.debug: $(if $(WHOLE),$(DIR_whole)/mobula.o,$(OBJECTS)) $(libraries_static)
	@echo '  LINK    $@'
	$(Q)$(LINK_whole) -Wl,-Map=$@.map -o $@ $^ $(LINK_static_end)

# The stub that begins the carried form of the program (src/artifact/carry.c). It is linked without a libc and has one segment, no data
# and no relocations. The unpacker is compiled for speed, because the program starts when it is done; the rest for size.
STUB_CC = $(CC) $(COMMON) -ffreestanding -fno-pie -fno-stack-protector -fno-asynchronous-unwind-tables -fno-unwind-tables \
    -ffunction-sections -fno-tree-loop-distribute-patterns $(HARDEN_$(ARCH)) $(MUSL_INCLUDE) -B$(LLD) -fuse-ld=lld
$(STUB): src/artifact/carried/stub.c src/artifact/unpack.c src/artifact/coder.h $(addprefix include/mobula/,carried.h base.h limits.h) \
    $(MUSL)/lib/libc.a $(DIR_whole)/.flags Makefile
	@echo '  STUB    $@'
	$(Q)$(STUB_CC) $(SMALLEST) -c -o $@.o src/artifact/carried/stub.c
	$(Q)$(STUB_CC) -O2 -fno-inline-functions -fno-tree-vectorize -nostdlib -static -no-pie -s \
	    -Wl,--no-rosegment,--gc-sections,--build-id=none,-z,noexecstack -o $@ $@.o src/artifact/unpack.c
$(DIR_whole)/src/artifact/carry.o: $(STUB)

# To be an object (-r) with nothing visible in it but main, gcc must be told that it makes a program and must not ask the linker.
$(DIR_whole)/mobula.o: $(OBJECTS) $(SHARE_FILES)
	@echo '  WHOLE   $@'
	$(Q)$(CC_whole) $(SHARE) -fwhole-program -fno-use-linker-plugin -flinker-output=pie -Wno-maybe-uninitialized -nostdlib -r -o $@ \
	    $(OBJECTS)

define link
	@echo '  LINK    $@'
	@mkdir -p $(@D)
	$(Q)$(LINK_$(1)) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_$(1)_end)
endef

# One program: build way, its path, its objects, the room whose archives it needs.
define program
$(2): $(patsubst %,$(DIR_$(1))/%.o,$(3)) $(call archives,$(1),$(4)) $(libraries_$(1))
	$$(call link,$(1))

endef
unit_room = $(if $(filter tests/unit/%,$(1)),$(if $(word 4,$(subst /, ,$(1))),$(word 3,$(subst /, ,$(1)))))
unit_helpers = $(patsubst %.c,%,$(filter-out $(dir $(1))t_%,$(wildcard $(dir $(1))*.c)))
# fleet_call tests control plane and operator together and links with all rooms. A target of room fleet needs another exemption.
fuzz_room = $(filter-out fleet,$(firstword $(subst _, ,$(1))))

$(foreach way,static test cover,$(foreach u,$(UNIT),$(eval \
    $(call program,$(way),$(DIR_$(way))/$(u),$(u) $(call unit_helpers,$(u)),$(call unit_room,$(u))))))
$(foreach way,test cover,$(foreach f,$(FUZZ),$(eval \
    $(call program,$(way),$(DIR_$(way))/fuzz/$(f),tests/fuzz/f_$(f) tests/fuzz/replay,$(call fuzz_room,$(f))))))
# Targets that read JSON have a mutator that knows what JSON is.
FUZZ_JSON := fleet_call remote_answer cli_explain json_parse json_patch kube_exec kube_status legacy operator_answers \
    operator_objects ray_auth ray_dash raycluster rayjob rayjob_decide shape_compute work_policy work_render work_state
$(foreach f,$(FUZZ),$(eval $(call program,fuzz,build/fuzz/$(f),\
    tests/fuzz/f_$(f) $(if $(filter $(f),$(FUZZ_JSON)),tests/fuzz/mutate_json),$(call fuzz_room,$(f)))))
$(foreach way,host test,$(eval $(call program,$(way),$(DIR_$(way))/mobula,src/cli/main,cli)))
$(eval $(call program,host,build/apiserver,tests/model/apiserver/main,apiserver))
$(eval $(call program,test,build/test/apiserver,tests/model/apiserver/main,apiserver))
$(foreach way,static test,$(eval $(call program,$(way),$(DIR_$(way))/autoscaler-cases,$(patsubst %.c,%,$(wildcard tests/cases/*.c)),scale)))
$(eval $(call program,static,build/tests/bench-autoscaler,tests/bench/autoscaler,scale))
$(eval $(call program,static,build/tests/bench-patches,tests/bench/patches,shape))
$(eval $(call program,static,build/tests/bench-sign,tests/bench/sign,cloud))
$(eval $(call program,host,build/tests/heads,tests/bench/heads,heads))
$(eval $(call program,host,build/tests/bench-tls,tests/bench/tls,tls))
build/tests/bench-tls: LINK_host_end = -lssl -lcrypto
$(eval $(call program,host,build/sim,tests/model/sim/main,sim))
$(eval $(call program,test,build/test/sim,tests/model/sim/main,sim))

# The name that `mobula install` expects when it is told no other.
IMAGE ?= localhost/mobula:$(VERSION)
image: $(OUT)/mobula ## build/mobula-ARCH.tar, OCI layout and docker-archive at once; IMAGE=NAME:TAG, ARCH=arm64
	@echo '  IMAGE   build/mobula-$(ARCH).tar'
	$(Q)scratch-image/build build/mobula-$(ARCH).tar $(IMAGE) $(ARCH)=$<

image-multi: ## build/mobula-multi.tar, the image for both architectures
	+$(Q)$(foreach a,amd64 arm64,$(MAKE) ARCH=$(a) mobula &&) true
	@echo '  IMAGE   build/mobula-multi.tar'
	$(Q)scratch-image/build build/mobula-multi.tar $(IMAGE) \
	    $(foreach a,amd64 arm64,$(a)=build/$(if $(filter $(a),$(HOST_ARCH)),,$(a)/)mobula)

# A private key on P-256, kept elsewhere. Without one a key is made that is good for trying only.
KEY ?= build/bundle-try.pem
BUNDLE := build/mobula-$(VERSION).bundle
build/bundle-try.pem:
	$(Q)mkdir -p $(@D) && openssl ecparam -name prime256v1 -genkey -noout -out $@

bundle: ## build/mobula-VERSION.bundle for an air gap, signed with KEY=private.pem; its public key is beside it, and travels by another way
	@tests/tools/setup build arm64 bundle
	+@$(MAKE) image-multi $(KEY)
	@echo '  BUNDLE  $(BUNDLE)'
	$(Q)airgap/bundle $(BUNDLE) $(VERSION) $(KEY) build/mobula-multi.tar $(IMAGE) \
	    $(foreach a,amd64 arm64,$(a)=build/$(if $(filter $(a),$(HOST_ARCH)),,$(a)/)mobula)
	$(Q)openssl ec -in $(KEY) -pubout -out $(BUNDLE).pub 2>build/bundle.log || { cat build/bundle.log >&2; exit 1; }
	$(Q)$(OUT)/mobula bundle verify -f $(BUNDLE) --key $(BUNDLE).pub
	@$(MAKE) -s bundle-key

bundle-key:
	@echo '          signed by $(if $(filter build/bundle-try.pem,$(KEY)),a throwaway key: one to be carried wants KEY=private.pem,$(KEY))'

verify-bundle: $(OUT)/mobula ## what the bundle must be: signed, complete, and refused with any bit changed; FLIPS=10000
	$(Q)tests/tools/check-bundle $(OUT)/mobula $(BUNDLE) $(or $(FLIPS),300)
.PHONY: bundle bundle-key verify-bundle image image-multi host apiserver

host: build/host/mobula ## the same program against glibc, for gdb and valgrind
apiserver: build/apiserver ## the model Kubernetes API server

# ---- tests ----

UNIT_OF_ROOM = $(if $(ROOM),$(filter tests/unit/$(ROOM)/% tests/kinds/$(ROOM)/% tests/$(ROOM)/%,$(UNIT)),$(UNIT))
QEMU_arm64 := qemu-aarch64

t: $(UNIT_OF_ROOM:%=build/test/%) ## unit tests of one room or kind: make t ROOM=json, ROOM=rayjob; ROOM=world: the whole operator
	$(Q)tests/tools/each $^

unit: $(UNIT:%=build/test/%) ## all unit tests, with ASan and UBSan
	$(Q)tests/tools/each $^

# STATIC_ROOMS: rooms whose unit tests run a second time in the product's build (musl, no sanitizers), because they call the C library or
# vendored code. The files, folders and terminals of rooms above them are tested with the program itself: by check-binary (check-carried
# packs and unpacks it), check-image and make e2e.
# EMULATED_ROOMS: those of them whose results can depend on the processor as well; only these run for arm64, because qemu is slow.
STATIC_ROOMS := base json yaml tls http net kube
EMULATED_ROOMS := base json yaml tls http grpc
UNIT_STATIC := $(if $(ROOM),$(UNIT_OF_ROOM),\
    $(filter $(patsubst %,tests/unit/%/%,$(if $(CROSS),$(EMULATED_ROOMS),$(STATIC_ROOMS))),$(UNIT)))
unit-static: $(UNIT_STATIC:%=$(DIR_static)/%) ## unit tests of some rooms linked as the product is; ARCH=arm64 runs them under qemu
	$(Q)RUNNER='$(if $(CROSS),$(QEMU_$(ARCH)))' LIMIT=$(if $(CROSS),900,120) tests/tools/each $^

replay: $(FUZZ:%=build/test/fuzz/%) ## the fuzz corpora once through the sanitizers
	$(Q)tests/tools/each $^

cases: $(DIR_$(or $(WAY),test))/autoscaler-cases ## Ray's own vectors for the autoscaler: make cases [CASES=FILE.json] [WAY=static]
	$(Q)$< $(CASES)
CASES ?= tests/data/scale/autoscaler-cases.json tests/data/scale/cases-words.json

# The simulator's programs end with the same line as all tests.
sim: build/sim ## the operator in a simulated world: make sim SEED=n [MINIMISE=1], or SEEDS=n [FIRST=m]
	$(Q)build/sim $(if $(SEED),$(if $(MINIMISE),--minimise) $(SEED),--seeds $(or $(SEEDS),200) --first $(or $(FIRST),1))

soak: build/sim ## as many seeds as there is time for, and what their faults have met: make soak SECONDS=600 [FIRST=m]
	$(Q)build/sim --soak $(SECONDS) --first $(or $(FIRST),1)
.PHONY: sim soak

SECONDS ?= 60
FUZZED := $(addprefix build/fuzz/,$(or $(TARGET),$(FUZZ)))
fuzz: ## libFuzzer over every parser of foreign bytes: make fuzz SECONDS=60 [TARGET=name]
	@tests/tools/setup build fuzz
	+@$(MAKE) $(FUZZED)
	$(Q)tests/tools/fuzz $(SECONDS) $(FUZZED)

fuzz-seeds: ## seeds for make fuzz of what a real kube-apiserver (tests/rig) says; needs Go and clang
	+$(Q)tests/fuzz/seeds.sh

# The rooms where every branch is somebody's bytes or somebody's pods, and how much of them tests must go through.
COVERED := json http tls kube remote scale work plan decisions
COVERED_PERCENT := 90
coverage: $(UNIT:%=build/cover/%) $(FUZZ:%=build/cover/fuzz/%) ## branches that unit tests and the fuzz corpora go through, by room and file
	$(Q)tests/tools/coverage build/cover $(COVERED_PERCENT) $(COVERED) -- $^

mutants: $(UNIT:%=build/test/%) build/sim ## seeded bugs, each of which some test must catch; MUTANT=tests/mutants/NAME.mutant: only that
	+$(Q)MAKE='$(MAKE)' tests/tools/mutants $(MUTANT)

mutants-sim: build/sim ## those that the simulator must catch alone, and why it cannot see the others
	+$(Q)MAKE='$(MAKE)' tests/tools/mutants --sim $(MUTANT)

mutants-quick: $(UNIT:%=build/test/%) ## a few of them, each held against the one test that knows it
	+$(Q)MAKE='$(MAKE)' tests/tools/mutants --quick

check-stages: ## the tool that runs the parts of make test and adds up what they say
	@tests/tools/check-stages
valgrind: build/host/mobula build/apiserver ## the operator under valgrind against the model API server
	$(Q)tests/tools/valgrind build/host/mobula build/apiserver

check-binary: $(OUT)/mobula $(OUT)/unpack ## what the artefact must be: static-pie, hardened, small, runs alone; and its carried form
	$(Q)tests/tools/check-binary $(OUT)/mobula $(if $(CROSS),$(QEMU_$(ARCH)))
	$(Q)tests/tools/check-carried $(OUT)/mobula $(OUT)/unpack $(if $(CROSS),$(QEMU_$(ARCH)))
	$(Q)tests/tools/check-share '$(CC)' $(if $(CROSS),$(QEMU_$(ARCH)))

$(OUT)/unpack: tests/bench/unpack.c src/artifact/unpack.c src/artifact/coder.h include/mobula/carried.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) -O2 -static -o $@ $(filter %.c,$^)

check-sandbox: ## the sandbox's table for arm64: its numbers, and the calls that the operator makes under an emulator
	@tests/tools/setup build arm64
	+@$(MAKE) ARCH=arm64 mobula && $(MAKE) apiserver
	$(Q)tests/tools/sandbox-arm64 build/arm64/mobula qemu-aarch64 build/apiserver

size: $(OUT)/mobula ## what takes up room in the binary, and what the last commit (or all since BASE=COMMIT) has changed
	@MAKE='$(MAKE)' tests/tools/size $< $<.debug.map $(BASE)
BASE ?= HEAD~1

check-image: $(OUT)/mobula ## what the image must be: the same bytes each time, digests that agree, only the binary in it
	$(Q)tests/tools/check-image $< $(IMAGE)

reproducible: $(OUT)/mobula ## a second build in another folder gives the same bytes
	+$(Q)MAKE='$(MAKE)' tests/tools/reproducible $(OUT)/mobula

# Builds the objects of all files of the product: graph.py reads their symbol tables.
graph: $(REAL_ROOMS:%=$(DIR_test)/%.a) ## which files need which to link: circles, references upwards, large structs, shares of the lines
	$(Q)tests/tools/graph.py --print $(DIR_test) $(ROOMS)
.PHONY: graph

lint: $(VENDOR) $(REAL_ROOMS:%=$(DIR_test)/%.a) ## layout, rooms, lengths, words, shellcheck
	$(Q)OBJECTS=$(DIR_test) ROOMS='$(ROOMS)' tests/tools/lint

.PHONY: t unit unit-static replay cases fuzz fuzz-seeds coverage mutants mutants-quick valgrind check-binary size check-image reproducible
.PHONY: lint tidy cppcheck programs mutants-sim check-sandbox check-stages

# The second compiler's opinion and clang-tidy's in one pass, once for each file that changed.
ALL_C := $(SOURCES) $(sort $(wildcard tests/*/*.c tests/unit/*/*.c tests/kinds/*/*.c tests/model/*/*.c))
TIDY := $(ALL_C:%.c=build/lint/%.ok)
$(TIDY:%.ok=%.c.ok): build/lint/%.c.ok: build/lint/%.ok ;
$(TIDY): build/lint/%.ok: %.c tests/tools/clang-tidy $(DIR_fuzz)/.flags $(VENDOR)
	@mkdir -p $(@D)
	$(Q)clang -M -MP -MT $@ -MF $(@:.ok=.d) $(COMMON) $(call room_flags,$<) $< && \
	    clang-tidy --quiet --config-file=tests/tools/clang-tidy $(if $(filter tests/%,$<),--checks='-clang-analyzer-*') $< \
	        -- $(COMMON) $(call room_flags,$<) -Xclang -analyzer-config -Xclang mode=shallow 2>$(@:.ok=.log) && touch $@
-include $(wildcard $(TIDY:.ok=.d))
tidy: $(TIDY) cppcheck ## clang and clang-tidy over what changed, and cppcheck over the product

# One processor, beside tidy's jobs. cppcheck before 2.13 does not know __VA_OPT__: it sees calls of log_NAME instead of what the macros
# make of them. The ends of an embedded file are two symbols of one object, which C cannot say.
cppcheck:
	@mkdir -p build/lint/cppcheck
	$(Q)cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --cppcheck-build-dir=build/lint/cppcheck --library=tests/tools/cppcheck.cfg -Ulog_at -Ulog_debug -Ulog_info -Ulog_warn \
	    -Ulog_error -DMOBULA_VERSION='""' --suppress=identicalInnerCondition --suppress=normalCheckLevelMaxBranches \
	    $(addprefix --suppress=,comparePointers:src/command/embed.c subtractPointers:src/command/embed.c) -Iinclude src tests/model/apiserver

json_quote = $(subst ",\",$(subst \,\\,$(1)))
compile_commands.json: Makefile $(ALL_C) | $(VENDOR) ## for editors
	@echo '  GEN     $@'
	$(file >$@.new,[)
	$(foreach f,$(ALL_C),$(file >>$@.new,{"directory": "$(CURDIR)", "file": "$(f)",\
	    "command": "$(call json_quote,$(CC_test) $(call room_flags,$(f)) -c $(f))"}$(comma)))
	$(file >>$@.new,{"directory": "$(CURDIR)", "file": "none.c", "command": "true"}])
	@mv $@.new $@

# ---- from nothing: each of these is the only command to type on a fresh machine ----

run: ## set up, build, and show the operator at work on loopback (KUBECONFIG: on that cluster); ONCE=1 stops after one round
	@tests/tools/setup build
	+@$(MAKE) mobula apiserver
	@tests/run/demo.sh

run-fleet: ## the same of a control plane: a hub, an operator that calls it, two model clusters, and a job; ONCE=1 ends with its success
	@tests/tools/setup build
	+@$(MAKE) mobula apiserver
	@tests/run/fleet.sh

# All that the stages of `make test` run. One make builds it, so that the other core compiles tests while gcc optimizes the program.
programs: $(OUT)/mobula $(OUT)/unpack $(UNIT:%=build/test/%) $(UNIT_STATIC:%=$(DIR_static)/%) $(FUZZ:%=build/test/fuzz/%) \
    $(REAL_ROOMS:%=$(DIR_test)/%.a) build/sim build/test/autoscaler-cases

# Only .ci/run runs mutants-quick, tidy (with cppcheck), valgrind, fuzz, the arm64 stages and a second build that must have the same bytes:
# they take long, and few changes can break them.
TEST_STAGES := check-stages programs unit unit-static sim replay cases lint check-binary check-image
test: ## set up, build, and everything that needs only Debian packages; the last line says N passed, N failed
	@tests/tools/setup build test
	+@tests/tools/stages $(foreach s,$(TEST_STAGES),'$(s)=$(MAKE) $(s)')

conform: ## the model API server and a real one get the same random requests: make conform [SEQUENCES=2000] [SEED=1]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula apiserver
	@tests/conform/run.sh

e2e: ## both kinds of RayCluster on a real kube-apiserver (tests/rig builds it: needs Go)
	@tests/tools/setup build e2e
	+@$(MAKE) mobula apiserver
	@tests/e2e/run.sh

fault: ## the fault matrix: a proxy between the operator and a real kube-apiserver; make fault [BLOCK=A] [CASE=id] [WORKERS=n]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula build/test/mobula
	@tests/fault/run.sh

fault-quick: ## about 300 of its cases, in eight minutes; QUICK=n: about n
	@tests/tools/setup build e2e
	+@$(MAKE) mobula build/test/mobula
	@QUICK=$(or $(QUICK),1) tests/fault/run.sh

e2e-ray: ## clusters of real Ray on a real kubelet, in a network namespace without a way out (needs root, Go, 2 GB of disk)
	@tests/tools/setup build e2e node
	+@$(MAKE) mobula
	@tests/e2e/ray/run.sh

bench: ## all figures of this commit but bench-peer's, one after the other
	@tests/tools/setup build e2e
	+@for b in bench-autoscaler bench-tls bench-jobs bench-heads bench-patches bench-quick bench-hub bench-item; do $(MAKE) $$b || exit 1; done

bench-quick: ## the figures of this commit, with the API server's floor beside them
	@tests/tools/setup build e2e
	+@$(MAKE) mobula
	@tests/bench/quick.sh

bench-autoscaler: build/tests/bench-autoscaler ## how long one decision of the autoscaler takes
	@$<
bench-tls: ## processor time of TLS handshakes and of bulk data beside OpenSSL's
	@tests/tools/setup build test
	+@$(MAKE) build/tests/bench-tls
	@build/tests/bench-tls
bench-jobs: build/test/tests/kinds/rayjob/t_job_many ## 1,000 RayJobs, and ten of their heads hang: how late the others are asked
	@JOBS=1000 FIGURES=1 $<
bench-heads: mobula build/apiserver build/tests/heads ## what 1,000 autoscaling clusters cost: make bench-heads [CLUSTERS=1000] [WORKERS=3]
	@tests/bench/heads.py $(OUT)/mobula build/apiserver build/tests/heads $(or $(CLUSTERS),1000) $(or $(WORKERS),3)
bench-patches: mobula build/apiserver build/tests/bench-patches ## what 40 patches and 30 instance types cost in 5,000 pods
	@tests/bench/patches.py $(OUT)/mobula build/apiserver build/tests/bench-patches
bench-storage: ## signed URLs, uploads and downloads beside curl, logs that an agent stores: make bench-storage [MIB=256]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula build/tests/bench-sign
	@build/tests/bench-sign
	@tests/bench/storage.py $(or $(MIB),256)
bench-hub: ## one control plane with 200 operators and 10,000 workloads: make bench-hub [OPERATORS=200] [WORKLOADS=10000]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula
	@FIGURES=hub tests/bench/quick.sh $(or $(OPERATORS),200) $(or $(WORKLOADS),10000)
bench-services: ## many VersionedServices of two versions: make bench-services [SERVICES=200]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula
	@FIGURES=services tests/bench/quick.sh $(or $(SERVICES),200)
bench-edge: ## the edge beside nginx and HAProxy of Debian (those that are installed): make bench-edge [SECONDS=8]
	@command -v nginx wrk >/dev/null || { echo 'bench-edge: install nginx and wrk, and haproxy to compare with it'; exit 1; }
	+@$(MAKE) mobula
	@tests/bench/edge.py $(or $(SECONDS),8)
bench-item: ## from a job at the control plane to its head pod: make bench-item [JOBS=30]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula
	@FIGURES=item tests/bench/quick.sh $(or $(JOBS),30)
bench-peer: ## beside KubeRay and no operator, a control plane a turn: make bench-peer [RUNS=3] [PHASES='hundred one fleet'] [LIMIT=0]
	@tests/tools/setup build e2e
	+@$(MAKE) mobula
	@RUNS=$(or $(RUNS),3) tests/bench/peer.sh $(PHASES)
.PHONY: bench bench-autoscaler bench-edge bench-tls bench-jobs bench-heads bench-patches bench-hub bench-item bench-peer bench-services

SUITE ?= bookworm
FRESH ?= 'make run ONCE=1' 'make run-fleet ONCE=1' 'make test'
fresh: ## make run, make run-fleet and make test on a fresh Debian in a chroot, as its only commands: make fresh [SUITE=trixie]
	@SUITE=$(SUITE) tests/tools/fresh.sh . $(FRESH)

setup: ## install the Debian packages that building and testing need
	@tests/tools/setup build test fuzz arm64

docs/rooms.svg: $(wildcard src/*/*.[ch] src/kinds/*/*.[ch]) tests/tools/rooms-picture ## draw the rooms from their includes
	$(Q)tests/tools/rooms-picture >$@

docs/architecture.svg: docs/architecture.dot ## draw the picture of docs/architecture.md (needs graphviz)
	$(Q)dot -Tsvg -o $@ $<

docs/cli.md: $(OUT)/mobula FORCE ## write the reference of the command line
	$(Q)tests/tools/cli-reference $< >$@

vendor: $(VENDOR) ## fetch and patch third-party source
vendor-archive: ## write build/vendor.tar, from which VENDOR_ARCHIVE=FILE builds without a network
	@mkdir -p build
	@vendor/fetch --archive build/vendor.tar

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

clean: ## forget what was built (fetched tarballs and musl stay in the user's cache)
	rm -rf build compile_commands.json

.PHONY: all run run-fleet test conform e2e e2e-ray fault fault-quick bench-quick fresh setup vendor vendor-archive help clean FORCE
