/* One HTTP request, from its target to the bytes of its answer. */
#ifndef APISERVER_REQUEST_H
#define APISERVER_REQUEST_H

#include "rules.h"

enum format {
    FORMAT_OBJECT,
    FORMAT_METADATA, /* as=PartialObjectMetadata(List) */
    FORMAT_TABLE,    /* as=Table */
};
enum table_object { TABLE_METADATA, TABLE_OBJECT, TABLE_NONE }; /* includeObject */

enum { REQUEST_BODY_MAX = 3 * MIB, REQUEST_WARNINGS = 16 };

struct request {
    struct apiserver *s;
    struct conn *conn;
    struct arena *a; /* until the answer is written */
    struct slice method, target, path, accept, content_type, agent, body;
    /* what the path names; api is NULL when it is none of the stored resources */
    const struct api *api;
    struct slice ns, name, sub;
    /* what the query asks */
    enum format format;
    enum table_object table_object;
    bool dry_run, strict, warn, force;
    struct slice other_kind;                 /* what a custom resource calls itself when that is not its kind */
    struct slice warnings[REQUEST_WARNINGS]; /* Warning headers of the answer */
    size_t warning_count;
    struct slice manager;
    /* the answer */
    struct status st; /* wins when its code is set */
    int code;
    struct buf *out;
    const char *type; /* NULL: application/json */
    bool streaming;   /* a watch has taken the connection over, or no answer comes */
    uint64_t wait_rv; /* not 0: to be asked again when the store has reached this resourceVersion, or when patience ends */
    bool patience_over;
};

/* route.c: reads target and headers into the request and carries it out. */
void request_serve(struct request *q);
struct slice request_query(const struct request *q, const char *name); /* percent-decoded; SLICE_NONE when absent */
bool request_flag(const struct request *q, const char *name);
bool request_is_status(const struct request *q);
bool request_is_json(struct request *q);                 /* the body; false with a 415 */
void request_warn(struct request *q, struct slice text); /* kept as it is */

/* view.c: from storage to what was asked for, and back. */
/* One object in the form of this api. */
void view_write(const struct api *api, enum format format, enum table_object with, struct apiserver *s, const struct version *v,
                bool in_list, bool columns, struct buf *out);
void view_answer(struct request *q, int code, const struct version *v);
/* The same for an object that is not stored (dry run). */
void view_answer_tree(struct request *q, int code, struct node *tree);
void view_list(struct request *q, struct version **list, size_t count, uint64_t rv, struct slice carry_on, int64_t remaining);
/* The body as a tree in storage form: kind and apiVersion checked and taken out. */
struct node *view_read(struct request *q, struct slice json);
/* The canonical form of what was read or what a patch has made; false with q->st when there is none. */
bool view_decode(struct request *q, struct node *tree);
void view_to_storage(const struct api *api, struct node *tree);
void view_from_storage(const struct api *api, struct node *tree);
void view_rename(const struct api *api, struct node *tree); /* the same for what a client has said itself: all of it stays */

/* select.c: label and field selectors; a NULL selector matches everything. */
struct selector;
struct selector *selector_parse(struct slice labels, struct slice fields, struct arena *a, struct status *st);
bool selector_fits(const struct selector *sel, const struct resource *r, struct status *st); /* its fields are such as may be selected by */
bool selector_matches(const struct selector *sel, const struct version *v, struct arena *a);
bool selector_empty(const struct selector *sel);

/* read.c */
void read_get(struct request *q);
void read_list(struct request *q);
/* watch.c */
void watch_open(struct request *q);
void watch_pump(struct apiserver *s);
void watch_close(struct apiserver *s, struct watch *w);
uint32_t watch_end_all(struct apiserver *s, struct resource *r, bool rude);
uint32_t watch_expire_all(struct apiserver *s, struct resource *r);
int64_t watch_deadline(const struct apiserver *s);

/* write.c */
void write_create(struct request *q);
void write_update(struct request *q);
/* Puts `tree` in the place of `old` under all rules of an update; also the end of every patch. */
void write_replace(struct request *q, struct object *o, struct node *old, struct node *tree, bool applied);
/* Is this named as the path says? false with a 400. */
bool write_names_fit(struct request *q, const struct node *meta);
/* Creates from a tree in storage form; also what apply does when there is nothing yet. */
void write_new(struct request *q, struct node *tree, bool applied);
/* mutate.c: what comes between a new object and its defaults */
void mutate_new(struct apiserver *s, const struct api *api, struct node *tree);
/* remove.c */
void remove_one(struct request *q);
void remove_collection(struct request *q);

/* patch.c */
bool patch_known(struct request *q); /* is it a patch of a kind that this api takes? false with a 415 */
void patch_object(struct request *q);
/* merge_keys.c: strategic merge patch; false with q->st. */
bool strategic_merge(struct request *q, struct node *into, struct node *patch);

/* apply.c */
void apply_object(struct request *q);
/* After a create or update: who owns what now. */
void managers_update(struct request *q, const struct node *old, struct node *tree);
/* Nobody owns any more what of old is not in tree. */
void managers_forget(const struct api *api, const struct node *old, struct node *tree, struct arena *a);

/* schema.c: what an openAPIV3Schema says. Unknown fields are cut out, and named in a 400 when strict. */
void schema_default(struct node *value, const struct node *schema, struct arena *a);
void schema_prune(struct request *q, struct node *object);
void schema_check(struct status *st, const struct node *value, const struct node *schema, struct slice path);
/* What is applied may hold no unknown field, or it is a 500. */
bool schema_declared(struct request *q, const struct node *config);
/* The CEL rules, or a cause that says that they were not looked at because of those that there are. old: NULL for a new object. */
void schema_rules(struct status *st, const struct node *object, const struct node *old, const struct node *schema);

/* table.c */
bool table_is_default(const struct api *api); /* the columns of kinds that have none of their own: no rows are null there */
void table_columns(const struct api *api, struct jout *w);
void table_row(const struct api *api, struct apiserver *s, const struct version *v, enum table_object with, struct jout *w);

/* passed.c: services/proxy */
bool passed_is(const struct request *q);
void passed_serve(struct request *q);

/* discovery.c, openapi.c, reviews.c: answers true when the path was one of theirs. */
bool discovery_serve(struct request *q);
bool openapi_serve(struct request *q);
bool reviews_serve(struct request *q);

#endif
