/* Reading custom resources: values that know how one gets to them, so that a complaint names its field, and typed reads that complain. */
#ifndef MOBULA_RAY_READER_H
#define MOBULA_RAY_READER_H

#include <mobula/ray.h>

#define NO_VALUE ((struct jval){NULL, -1})

/* A value and the way to it, as a chain up to the root: the path is written only when something is wrong. Places live on the stack of
 * whoever reads; one points at the place above it and must not outlive it. */
struct place {
    const struct place *up; /* NULL: the document */
    struct slice key;       /* the member of `up`; .ptr NULL: its element `index` */
    size_t index;
    struct jval value; /* may be absent */
};

struct reader {
    struct arena *arena;
    struct ray_errors *errors;
    struct ray_cluster *cluster;
};

struct place place_root(struct jval document);
struct place place_key(const struct place *object, const char *key);
struct place place_member(const struct place *object, struct slice key, struct jval value);
struct place place_element(const struct place *array, size_t index, struct jval value);

/* null is how Kubernetes' own tools write "nothing". */
bool value_given(struct jval v);
const char *value_type_name(enum json_type type); /* "a number" */
static inline bool place_given(const struct place *p)
{
    return value_given(p->value);
}
static inline enum json_type place_type(const struct place *p)
{
    return place_given(p) ? json_type(p->value) : JSON_NONE;
}

/* Notes that the value here is wrong: what is wrong, then what to do. */
void place_bad(struct reader *r, const struct place *p, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Each returns whether a value of that type is there. Another type is an error; so is none where it is required. */
enum presence { OPTIONAL, REQUIRED };
bool read_object(struct reader *r, const struct place *p, enum presence presence);
bool read_array(struct reader *r, const struct place *p, enum presence presence);
/* These leave *out as it was when they return false. */
bool read_text(struct reader *r, const struct place *p, enum presence presence, struct slice *out);
bool read_flag(struct reader *r, const struct place *p, bool *out);
bool read_int(struct reader *r, const struct place *p, int64_t least, int64_t most, int64_t *out);
/* One of the words, which end with NULL. */
bool read_word(struct reader *r, const struct place *p, const char *const *words, struct slice *out);
/* An object whose values are all strings; an array whose elements are. */
bool read_text_map(struct reader *r, const struct place *p);
bool read_text_list(struct reader *r, const struct place *p);

/* metadata.name, or what generateName makes of it: of at most max bytes, "so that why". */
void read_name(struct reader *r, const struct place *meta, int max, const char *why, struct slice *out);

/* The model before anything is read: the head's defaults, and ports. */
void cluster_clear(struct ray_cluster *c);

/* ---- the two kinds; each fills r->cluster from spec ---- */

void read_v1(struct reader *r, const struct place *spec);
void read_legacy(struct reader *r, const struct place *spec);
/* Clamps, suspends, counts: the same for both. spec is where too many pods are complained of. */
void read_desired(struct reader *r, const struct place *spec);

/* What of a pod template we read or write must have the types that the Kubernetes API has; the rest is for the API server to check. */
void check_template(struct reader *r, const struct place *template);
/* Rules between fields that only the first kind has. */
void check_v1(struct reader *r, const struct place *spec);
void check_v1_features(struct reader *r, const struct place *spec);
void check_auth(struct reader *r, const struct place *spec); /* auth.c; reads it too */
/* "2.56.0" as 2056; 0 when it is no version. */
int64_t version_number(struct slice version);
void check_v1_group(struct reader *r, const struct place *spec, const struct place *group, struct ray_group *g);

/* What Ray would refuse of a runtime environment, which is JSON here; at: where it stands. */
void check_runtime_env(struct reader *r, const struct place *at, struct slice json);
/* What is likely to be a mistake in the groups of a cluster: for ray_notes. */
void note_groups(struct reader *r, const struct place *spec);

/* Who scales it: sidecar.c. */
void read_scaler(struct reader *r, const struct place *annotations);
void read_tools_resources(struct reader *r, const struct place *annotations);

/* The groups' hashes, when everything else is read. */
void hash_groups(struct reader *r);

#endif
