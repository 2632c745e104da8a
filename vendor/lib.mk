# One static library from fetched source, by our own rules: only what a client needs, our flags, our compiler.
#   make -f vendor/lib.mk LIB=bearssl OUT=build/host/libbearssl.a CC=gcc AR=ar CFLAGS='…'
# The main Makefile calls this after vendor/fetch, so that the wildcards below see the source.
SRC := build/vendor/$(patsubst crux,libcrux,$(patsubst yaml,libyaml,$(LIB)))
OBJ := $(OUT:.a=.o)

# CFLAGS say how to optimize. BearSSL's AES for processors without instructions for it is compiled for speed, which makes it a third faster.
# The rest gains nothing by it (AES and GHASH with instructions, X25519) or 2 to 13 % (other curves, RSA, ChaCha20) and 11 KB more.
# Randomness and time come from our base room only: with these switches the engine refuses to start until it was given both (RDRAND as the
# only source is what 0.6 would do by itself).
bearssl_sources  = $(wildcard $(SRC)/src/*/*.c)
bearssl_flags    = -I$(SRC)/inc -I$(SRC)/src -DBR_RDRAND=0 -DBR_USE_URANDOM=0 -DBR_USE_UNIX_TIME=0
bearssl_optimize = $(if $(filter aes_ct64%,$(notdir $<)),-O2)

# libcrux: ML-KEM-768, compiled for size. Compiled for speed it would be twice as fast and 30 KB larger, and each connection generates and
# uses only one key. For the product its functions share instructions, too (SHARE in the Makefile).
crux_sources = $(SRC)/mlkem768.c
crux_flags   = $(SHARE)

# libyaml: the event parser; the emitter and the document loader stay out.
yaml_sources  = $(patsubst %,$(SRC)/src/%.c,api parser reader scanner)
yaml_flags    = -I$(SRC)/include -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"'

OBJECTS := $(patsubst $(SRC)/%.c,$(OBJ)/%.o,$(sort $($(LIB)_sources)))

$(OUT): $(OBJECTS)
	@echo '  AR      $@'
	@rm -f $@
	@$(AR) rcsD $@ $^

$(OBJECTS): $(OBJ)/%.o: $(SRC)/%.c vendor/lib.mk build/vendor/.done $(dir $(OUT)).flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $($(LIB)_optimize) $($(LIB)_flags) -w -c -o $@ $<
