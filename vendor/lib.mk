# One static library from fetched source, by our own rules: only what a client needs, our flags, our compiler.
#   make -f vendor/lib.mk LIB=bearssl OUT=build/host/libbearssl.a CC=gcc AR=ar CFLAGS='…'
# The main Makefile calls this after vendor/fetch, so that the wildcards below see the source.
SRC := build/vendor/$(patsubst crux,libcrux,$(patsubst yaml,libyaml,$(LIB)))
OBJ := $(OUT:.a=.o)

# CFLAGS say how to optimize. BearSSL's AES for processors without instructions for it is compiled for speed, which makes it a third faster.
# The rest gains nothing by it (AES and GHASH with instructions, X25519) or 2 to 13 % (other curves, RSA, ChaCha20) and 11 KB more.
# Randomness and time come from our base room only: with these switches the engine refuses to start until it was given both (RDRAND as the
# only source is what 0.6 would do by itself).
# A file that is needed and not named here shows when a program is linked. Half of BearSSL is left out: the same algorithms for other
# processors, and what a client or server of ours does not do.
bearssl_sources  = $(foreach f,$(bearssl_files),$(wildcard $(SRC)/src/*/$(f).c))
bearssl_files    = aes_ct64* aes_x86ni* ccm ccopy chacha20_* dec32* dec64be des_ct* des_support ec_all_m31 ec_c25519_m31 ec_default \
    ec_keygen ec_p256_m31 ec_prime_i31 ec_pubkey ec_secp* ecdsa_atr ecdsa_rta ecdsa_default_*_asn1 ecdsa_i31_* enc32* enc64be \
    ghash_ctmul64 ghash_pclmul hmac* i31_* i32_div32 i62_* md5 multihash poly1305_ctmul poly1305_ctmulq prf* rsa_default_modulus \
    rsa_default_pkcs1_* rsa_default_priv rsa_default_pub rsa_i31_modulus rsa_i31_pkcs1_vrfy rsa_i31_pub rsa_i62_pkcs1_* rsa_i62_priv \
    rsa_i62_pub rsa_pkcs1_* rsa_ssl_decrypt sha* skey_decoder ssl_* sysrng x509_*
bearssl_flags    = -I$(SRC)/inc -I$(SRC)/src -DBR_RDRAND=0 -DBR_USE_URANDOM=0 -DBR_USE_UNIX_TIME=0
bearssl_optimize = $(if $(filter aes_ct64%,$(notdir $<)),-O2)

# libcrux: ML-KEM-768, compiled for size. Compiled for speed it would be twice as fast and 30 KB larger, and each connection generates and
# uses only one key. For the product its functions share instructions, too (SHARE in the Makefile).
crux_sources = $(SRC)/mlkem768.c
crux_flags   = $(SHARE)
crux_needs   = $(SHARE_FILES)

# libyaml: the event parser; the emitter and the document loader stay out.
yaml_sources  = $(patsubst %,$(SRC)/src/%.c,api parser reader scanner)
yaml_flags    = -I$(SRC)/include -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"'

OBJECTS := $(patsubst $(SRC)/%.c,$(OBJ)/%.o,$(sort $($(LIB)_sources)))

$(OUT): $(OBJECTS)
	@echo '  AR      $@'
	@rm -f $@
	@$(AR) rcsD $@ $^

$(OBJECTS): $(OBJ)/%.o: $(SRC)/%.c vendor/lib.mk build/vendor/.done $(dir $(OUT)).flags $($(LIB)_needs)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $($(LIB)_optimize) $($(LIB)_flags) -w -c -o $@ $<
