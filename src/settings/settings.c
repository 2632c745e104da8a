/* The table of all settings. Each setting's own table is in the file of its name. */
#include <mobula/settings.h>

/* A new setting is one word here; it is declared in settings.h only if another file names it. */
#define SETTINGS(setting) setting(instance_types) setting(patches) setting(policy)
#define DECLARATION(name) extern const struct setting_kind setting_##name;
#define ENTRY(name) &setting_##name,
SETTINGS(DECLARATION)
const struct setting_kind *const setting_kinds[] = {SETTINGS(ENTRY) NULL};
_Static_assert(COUNT_OF(setting_kinds) - 1 <= LIMIT_SETTINGS, "each has a place in operator_options.settings");
