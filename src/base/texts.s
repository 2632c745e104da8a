# The literals as the build has compressed them: texts.gz is found with -I. A gzip file's header has 10 bytes.
.section .rodata.texts, "a"
.globl texts_packed, texts_packed_end
.hidden texts_packed, texts_packed_end
texts_packed:
.incbin "texts.gz", 10
texts_packed_end:
.section .note.GNU-stack, "", %progbits
