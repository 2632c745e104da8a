/* spec: custom resources of any kind. They are read by values that know how one gets to them, so that each complaint names its field, and
 * by typed reads that complain; objects made of them name their owner, and take over what they must not change byte for byte; their status
 * is written with conditions, as a merge patch. All functions are pure. Lists of labels and annotations are in pairs.h. */
#ifndef MOBULA_SPEC_H
#define MOBULA_SPEC_H

#include <mobula/base.h>
#include <mobula/json.h>

/* ---- findings ---- */

/* Something that is wrong with a resource, or (in a list of notes) has no effect. */
struct spec_error {
    struct slice path; /* "spec.workerGroupSpecs[1].minReplicas" */
    struct slice text; /* "is 5, above maxReplicas 3: lower it or raise maxReplicas" */
    size_t offset;     /* of the value in the document, for line numbers */
    uint32_t line;     /* the same in a text that was opened by text.h; 0: not known */
};
struct spec_errors {
    struct spec_error list[LIMIT_SPEC_ERRORS];
    uint32_t count;  /* stored */
    uint32_t beyond; /* found, but not stored */
};
/* One line: "spec.headGroupSpec.template.spec.containers: …; spec.…: …; and 3 more", at most max bytes. */
struct slice spec_errors_text(const struct spec_errors *errors, size_t max, struct arena *a);
/* The first error with its line, and how many more there are, as *e. There must be one. Returns false. */
bool spec_errors_tell(const struct spec_errors *errors, struct err *e);
/* Stores one, or counts it as beyond. */
void spec_errors_add(struct spec_errors *errors, struct spec_error one);
static inline uint32_t spec_errors_count(const struct spec_errors *errors)
{
    return errors->count + errors->beyond;
}
/* The path of a member of the object at path `up`: spec.labels, spec.labels["ray.io/x"]. */
struct slice spec_path_member(struct slice up, struct slice key, struct arena *a);

/* ---- values ---- */

#define NO_VALUE ((struct jval){NULL, -1})

/* null is how Kubernetes' own tools write "nothing". */
bool value_given(struct jval v);
const char *value_type_name(enum json_type type); /* "a number" */
const char *value_no_string(enum json_type type); /* that of a value that must be a string */
/* A quantity, written as string or number: in units of 10^-decimals, rounded up. */
bool value_quantity(struct jval v, int decimals, int64_t *out, struct err *e, struct arena *a);
/* Of an array of objects the first whose string member `key` is `text`; absent: there is none. */
struct jval list_find(struct jval array, const char *key, struct slice text);
bool list_has(struct jval array, const char *key, struct slice text);

/* ---- reading ---- */

/* A value and the way to it, as a chain up to the root: the path is written only when something is wrong. Places live in the arena that
 * place_root was given. */
struct place {
    struct arena *arena;
    const struct place *up; /* NULL: the document */
    struct slice key;       /* the member of `up`; .ptr NULL: its element `index` */
    size_t index;
    struct jval value; /* may be absent */
};

struct reader {
    struct arena *arena;
    struct spec_errors *errors;
};

const struct place *place_root(struct jval document, struct arena *a);
const struct place *place_key(const struct place *object, const char *key);
const struct place *place_member(const struct place *object, struct slice key, struct jval value);
const struct place *place_element(const struct place *array, size_t index, struct jval value);

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

/* Members of an object that are none of these, which end with NULL: notes, and what was meant. */
void note_unknown(struct reader *r, const struct place *object, const char *const *known);

/* A custom resource as its reader takes it: an object that somebody wrote, or a record, whose parts came out of an object before. */
struct spec_object {
    const struct place *root, *metadata, *spec; /* of a record root has no value, and metadata has what is not told below */
    bool kept;                                  /* it is a record, and the rest holds */
    struct slice api_version, name, ns, uid;
    int64_t generation, deleted_us; /* deleted_us: deletionTimestamp; 0: none that can be read */
    bool deleting;
};
struct spec_object spec_object_of(struct jval object, struct arena *a);

/* The metadata that every resource has. Its name may come of generateName, which stands for one that the API server will choose. */
struct metadata {
    struct slice ns, name, uid;
    int64_t generation, deleted_us; /* deleted_us: deletionTimestamp; 0: none that can be read */
    bool deleting;
    struct jval labels, annotations; /* objects of texts, or absent */
};
/* *out is cleared first. The name has at most max bytes, "so that why". False: there is no metadata. */
bool read_metadata(struct reader *r, const struct spec_object *from, int max, const char *why, struct metadata *out);
bool has_finalizer(struct jval metadata, const char *name);
/* apiVersion and kind are these, where they are given: objects in a list have neither. */
void read_type_meta(struct reader *r, const struct place *root, const char *version, const char *kind);

/* A PodTemplateSpec: what builders read or write of it must have the types that the Kubernetes API has; the rest is for the API server to
 * check. volume: the name of the one that the operator adds, which the template may not have. */
void check_pod_template(struct reader *r, const struct place *template, const char *volume);

/* Why the text is not a container image reference: "has an empty tag …"; NULL: it is one. */
const char *image_reference_bad(struct slice text);
bool image_reference_check(struct slice text, struct err *e); /* ERR_CONFIG: image "…" has an empty tag … */

/* ---- objects that are made of a resource ---- */

struct pairs;

struct owner {
    struct slice api_version, kind, ns, name, uid;
};
void write_owner(struct jout *w, const struct owner *o); /* "ownerReferences", with it as the controller */
/* "metadata" of a child: name, namespace, labels, annotations, owner, and what else `given` metadata holds and a new object may have. */
void write_metadata(struct jout *w, const struct owner *o, struct slice name, struct jval given, const struct pairs *labels,
                    const struct pairs *annotations, struct arena *a);
/* The members of object whose names are not in skip (ended by NULL), untouched; all elements of an array. */
void splice_members(struct jout *w, struct jval object, const char *const *skip, struct arena *a);
void splice_elements(struct jout *w, struct jval array);

/* ---- status ---- */

/* One condition. Its transition time is the prior one's where the status is the same, else stamp. */
struct condition {
    const char *type;
    bool yes;
    struct slice reason, message; /* a reason that the API server would not take becomes Unknown */
    int64_t generation;
};
void status_write_condition(struct jout *w, const struct condition *c, struct jval prior, struct slice stamp, struct arena *a);
/* The condition `type` of a status that the server has, of whatever object; not there when it has none. And whether what it says is
 * `word`: True, False. */
struct jval status_condition(struct jval status, struct slice type);
bool condition_is(struct jval status, const char *type, const char *word);
/* Writes "key": value, or null where the server has a value and there is none now: a merge patch deletes so. */
void status_put(struct jout *w, struct jval prior, const char *key, struct slice value);
/* Whether the server's status has all that the patch says; a null says that a member is not there. */
bool status_has(struct jval prior, struct jval next);

#endif
