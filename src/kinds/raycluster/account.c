/* Creates the objects that must exist before the head: service account, role and binding of KubeRay's autoscaler, and Secrets with the
 * cluster's token and its CA, all owned by the cluster. An object that exists already is not changed: it is the user's, or was created
 * earlier for this cluster. An object of an older cluster of the same name is garbage collected with that cluster; the head waits for that,
 * because it would soon lose the object. */
#include "record.h"

/* The generated token or CA key is not kept in memory: it is read from the Secret when it is needed. */
static bool build_secret(struct op *op, enum ray_account which, struct err *e)
{
    enum { SECRET_MAX = 8 * KIB };
    char bytes[RAY_TOKEN_BYTES];
    struct buf content;
    bool well = true;
    buf_init(&content, SECRET_MAX);
    buf_room(&content, SECRET_MAX / 2);
    random_bytes(bytes, sizeof bytes);
    if (which == RAY_ACCOUNT_CA)
        well = ca_write(op->now.wall_us, &content, e);
    else
        base64_encode((struct slice){bytes, sizeof bytes}, &content);
    buf_room(&op->out.body, SECRET_MAX); /* at once: growing would leave copies behind */
    ray_build_account(cluster_model(op), which, buf_slice(&content), &op->arenas.body, &op->out.body);
    mem_wipe(bytes, sizeof bytes);
    buf_wipe(&content);
    return well;
}

bool account_secret(int32_t index)
{
    return index >= RAY_ACCOUNT_SECRET;
}

bool account_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    enum ray_account which = (enum ray_account)act->index;
    struct slice name = ray_account_name(cluster_model(op), which, &op->arenas.body);
    f->looking = which == RAY_ACCOUNT_CA && !cluster_model(op)->auth.ca_ours; /* the user's Secret: it is only checked */
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(name));
    kube_path(&op->out.path, &ray_account_resources[which], istr_slice(c->ns), f->looking ? name : SLICE_NONE, SLICE_NONE);
    if (f->looking) {
        *t = (struct call_text){SLICE("GET"), SLICE_NONE, true};
        return true;
    }
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (account_secret(act->index))
        return build_secret(op, which, e);
    ray_build_account(cluster_model(op), which, SLICE_NONE, &op->arenas.body, &op->out.body);
    return true;
}

static bool look_up(struct op *op, struct flight *f)
{
    struct err e = {0};
    buf_clear(&op->out.path);
    kube_path(&op->out.path, &ray_account_resources[f->index], istr_slice(f->c->ns), slice_of(f->name), SLICE_NONE);
    if (flight_look(op, f, &e))
        return true;
    record_trouble(op, f->c, f, e.text);
    return false;
}

static void there(struct op *op, const struct flight *f)
{
    raycluster_of(f->c)->accounts |= (uint8_t)(1u << f->index);
    record_touch(op, f->c);
}

static bool is_users(struct op *op, struct record *c)
{
    model_load(op, c);
    return !cluster_model(op)->auth.ca_ours;
}

/* Blocks the head while the CA cannot sign: ray-cert would fail in each pod. */
static bool check_ca(struct op *op, struct flight *f, struct jval object)
{
    struct tls_trust *trust;
    struct tls_identity *identity;
    struct err e = {0};
    char text[ERR_TEXT_MAX];
    if (!ca_take(object, op->now.wall_us, &op->arenas.event, &trust, &identity, &e)) {
        snprintf(text, sizeof text, "secrets %s of tlsOptions: %.400s", f->name, e.text);
        flight_failed(op, f, text);
        return false;
    }
    tls_trust_drop(trust);
    tls_identity_drop(identity);
    return true;
}

/* Finds out whether the object of that name is this cluster's. */
static void found(struct op *op, struct flight *f, struct jval object)
{
    char text[ERR_TEXT_MAX];
    struct slice owner = extract_owner(op, object, &op->arenas.event);
    const struct record *other = slice_empty(owner) ? NULL : record_get(op, owner, istr_slice(f->c->ns));
    bool ours = slice_empty(owner) || slice_is(owner, f->c->uid), users = f->index == RAY_ACCOUNT_CA && is_users(op, f->c);
    if (!json_there(json_get(object, "metadata.deletionTimestamp")) && (ours || users)) {
        if (f->index != RAY_ACCOUNT_CA || check_ca(op, f, object))
            there(op, f);
        return;
    }
    const char *what = ray_account_resources[f->index].plural.ptr;
    if (other && other != f->c && other->present) {
        snprintf(text, sizeof text, "%s %s belongs to RayCluster %s: rename one of the two clusters", what, f->name, other->name);
        flight_failed(op, f, text);
        return;
    }
    snprintf(text, sizeof text, "%s %s belongs to another owner, which is gone, or of a kind that --kinds leaves out: waiting for it to go",
             what, f->name);
    record_wait(op, f->c, f, text);
}

/* A binding is refused as not found when the role that it names is: the API server looks that up in a cache of its own, which may not have
 * heard yet of the one that we made a moment ago. */
static bool role_unseen(const struct flight *f, const struct kube_status *s)
{
    return f->index == RAY_ACCOUNT_BINDING && s->code == 404;
}

static void refused(struct op *op, struct flight *f, const struct kube_status *s)
{
    char text[ERR_TEXT_MAX + POD_NAME_MAX + 160];
    op->stats.refused[verb_number(op, f->verb)]++;
    /* The remedy comes first: reasons are cut. */
    bool secret = account_secret(f->index);
    const char *flag = secret ? "ray-auth" : "autoscaler=sidecar", *of = f->index == RAY_ACCOUNT_CA ? "tlsOptions"
                                                                         : secret                   ? "authOptions"
                                                                                                    : "the autoscaler";
    snprintf(text, sizeof text, "%s %s of %s%s%s%s: %d %s: %s", ray_account_resources[f->index].plural.ptr, f->name, of,
             s->code == 403 ? " (mobula install --" : "", s->code == 403 ? flag : "", s->code == 403 ? " prints the rights)" : "", s->code,
             kube_reason_text(s->reason), s->message);
    if (role_unseen(f, s))
        record_wait(op, f->c, f, text);
    else if (answer_passing(s))
        record_trouble(op, f->c, f, text);
    else
        flight_failed(op, f, text);
}

/* Where it lies, and without a copy: it may hold a token, and what held the answer is wiped. */
static struct jval looked_up(struct op *op, const struct kube_answer *a)
{
    struct err e = {0};
    arena_reset(&op->arenas.event, 64 * KIB);
    struct jval doc;
    return json_read(&doc, a->body, &op->arenas.event, &e) ? doc : (struct jval){.at = -1};
}

bool account_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_OK && !f->looking) {
        there(op, f);
    } else if (a->outcome == KUBE_OK) {
        struct jval object = looked_up(op, a);
        f->failed = 0;
        if (json_type(object) == JSON_OBJECT)
            found(op, f, object);
        else
            record_trouble(op, f->c, f, "the server's answer is no object");
    } else if (!f->looking && (a->outcome == KUBE_UNKNOWN || a->status.reason == KUBE_ALREADY_EXISTS)) {
        return look_up(op, f);
    } else if (a->outcome != KUBE_REFUSED) {
        record_trouble(op, f->c, f, a->err.text);
    } else if (f->looking && a->status.code == 404 && !(f->index == RAY_ACCOUNT_CA && is_users(op, f->c))) {
        record_trouble(op, f->c, f, "it is not there: its answer was lost, or one of that name has just gone. It will be created again");
    } else {
        refused(op, f, &a->status);
    }
    return false;
}
