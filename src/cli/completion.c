/* mobula completion: scripts for shells, which are part of the binary. */
#include "cli.h"

int cli_completion(int argc, char **argv)
{
    static const struct flags flags = {
        .usage = "mobula completion bash|zsh|fish",
    };
    int status, named = argc > 1 && argv[1][0] != '-';
    struct arena a = {0};
    if (!flags_parse(&flags, argc - named, argv + named, NULL, &status))
        return status;
    const char *shell = named ? argv[1] : "";
    struct slice all = embed_all(&a), text = embed_optional(all, arena_printf(&a, EMBED_COMPLETE, shell).ptr);
    if (slice_empty(text))
        status = flags_wrong(&flags, "\"%s\" is no shell that is known here: bash, zsh or fish", shell);
    else
        status = cli_print(text) && (strcmp(shell, "zsh") != 0 || cli_print(embed_file(all, "src/cli/complete_bash.txt"))) ? STATUS_OK
                                                                                                                           : STATUS_ERROR;
    arena_free(&a);
    return status;
}
