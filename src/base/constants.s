# The constants as the build has compressed them: a struct slice. constants.gz is found with -I. A gzip file's header has 10 bytes.
.section .packed, "a"
.Lbegin:
.incbin "constants.gz", 10
.Lend:

.section .data.rel.ro, "aw"
.balign 8
.globl constants_packed
.hidden constants_packed
constants_packed:
.quad .Lbegin, .Lend - .Lbegin

.section .note.GNU-stack, "", %progbits
