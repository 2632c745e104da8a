/* The pod that submits a RayJob: this binary, in the head's image or in ours, or what the user brings. */
#include "build.h"

struct submitter_build {
    const struct ray_job *job;
    const struct ray_submitter *s;
    const struct ray_options *options;
    struct arena *arena;
    struct jval head, template;  /* PodTemplateSpecs; the latter may not be there */
    struct jval spec, container; /* of the template */
    struct ray_submission submission;
    struct slice secret; /* with the token that the dashboard asks for; empty: it asks for none */
};

/* ---- the command ---- */

/* Kubernetes makes $(NAME) of $$(NAME) and $ of $$ in commands, and leaves every other $ alone. The shell's own $$ must survive that. */
static struct slice unexpanded(struct slice text, struct arena *a)
{
    struct slice rest = text;
    size_t dollars = 0;
    for (; !slice_empty(rest); rest = slice_skip(rest, 1))
        dollars += rest.ptr[0] == '$';
    if (!dollars)
        return text;
    char *out = arena_alloc(a, text.len + dollars), *to = out;
    for (; !slice_empty(text); text = slice_skip(text, 1)) {
        if (text.ptr[0] == '$')
            *to++ = '$';
        *to++ = text.ptr[0];
    }
    return (struct slice){out, (size_t)(to - out)};
}

/* Of the form that leaves no value to be taken for a flag. */
static void write_flag(struct jout *w, const struct submitter_build *b, const char *flag, struct slice value)
{
    value = unexpanded(value, b->arena);
    if (!slice_empty(value))
        jout_form(w, "'--%s=%.*s'", flag, SLICE_ARG(value));
}

static void write_submit(struct jout *w, const struct submitter_build *b)
{
    const struct ray_submission *s = &b->submission;
    tools_command(w, b->options);
    jout_str(w, SLICE("submit"));
    write_flag(w, b, "address", arena_printf(b->arena, "http://%.*s", SLICE_ARG(b->s->dashboard)));
    write_flag(w, b, "submission-id", s->id);
    write_flag(w, b, "runtime-env-json", s->runtime_env);
    write_flag(w, b, "metadata-json", s->metadata);
    write_flag(w, b, "entrypoint-num-cpus", s->num_cpus);
    write_flag(w, b, "entrypoint-num-gpus", s->num_gpus);
    write_flag(w, b, "entrypoint-resources", s->resources);
    struct slice entrypoint = unexpanded(s->entrypoint, b->arena);
    jout_form(w, "'--','%.*s']", SLICE_ARG(entrypoint));
}

bool ray_submitter_fits(const struct ray_job *job, struct err *e)
{
    const struct ray_submission s = ray_job_submission(job, SLICE_NONE);
    const struct {
        const char *field;
        struct slice value;
    } list[] = {{"entrypoint", s.entrypoint},
                {"runtimeEnvYAML (as JSON)", s.runtime_env},
                {"metadata", s.metadata},
                {"entrypointResources", s.resources}};
    for (size_t i = 0; i < COUNT_OF(list) && !job->own_submitter; i++)
        if (list[i].value.len > LIMIT_RAY_ARGUMENT)
            return err_set(e, ERR_LIMIT,
                           "spec.%s has %zu bytes, and a submitter pod takes %d (LIMIT_RAY_ARGUMENT): make it shorter, or let the operator "
                           "submit (submissionMode HTTPMode)",
                           list[i].field, list[i].value.len, LIMIT_RAY_ARGUMENT);
    return true;
}

/* ---- the container ---- */

static void write_variable(struct jout *w, const char *name, struct slice value)
{
    jout_form(w, "{name:'%s',value:'%.*s'}", name, SLICE_ARG(value));
}

/* A command of the user's reads from these where to submit and under which id. */
static void write_variables(struct jout *w, const struct submitter_build *b)
{
    static const char dashboard[] = "RAY_DASHBOARD_ADDRESS", id[] = "RAY_JOB_SUBMISSION_ID", unbuffered[] = "PYTHONUNBUFFERED";
    struct jval given = json_get(b->container, "env"), k, v;
    jout_karray(w, "env");
    for (struct jiter it = json_iter(given); json_next(&it, &k, &v);) {
        struct jval name = json_get(v, "name");
        bool taken = json_is(name, dashboard) || json_is(name, id);
        if (!taken && (slice_empty(b->secret) || !is_auth_variable(name)))
            jout_val(w, v);
    }
    if (!list_has(given, "name", slice_of(unbuffered)))
        write_variable(w, unbuffered, SLICE("1"));
    write_variable(w, dashboard, b->s->dashboard);
    write_variable(w, id, unexpanded(b->s->id, b->arena));
    write_auth_env(w, b->secret);
    jout_end(w);
}

static bool mounts_tools(const struct submitter_build *b)
{
    return !b->job->own_submitter && b->options->tools == RAY_TOOLS_CONFIGMAP;
}

static void write_mounts(struct jout *w, const struct submitter_build *b)
{
    struct jval given = json_get(b->container, "volumeMounts");
    if (!json_len(given) && !mounts_tools(b))
        return;
    jout_karray(w, "volumeMounts");
    splice_elements(w, given);
    if (mounts_tools(b))
        tools_mount(w);
    jout_end(w);
}

/* The user's, with our command in it where it has none of its own. */
static void write_users_container(struct jout *w, const struct submitter_build *b)
{
    static const char *const whole[] = {"env", "volumeMounts", NULL};
    static const char *const but_command[] = {"env", "volumeMounts", "command", "args", "image", "imagePullPolicy", "resources", NULL};
    bool own = b->job->own_submitter;
    struct jval resources = json_get(b->container, "resources");
    splice_members(w, b->container, own ? whole : but_command, b->arena);
    if (own)
        return;
    tools_image(w, b->options, b->container);
    write_submit(w, b);
    if (value_given(resources))
        jout_kval(w, "resources", resources);
    else
        tools_resources(w, b->options, b->job->annotations, NO_VALUE, b->arena);
}

static void write_our_container(struct jout *w, const struct submitter_build *b)
{
    struct jval container = json_at(json_get(b->head, "spec.containers"), 0);
    jout_kstr(w, "name", SLICE(RAY_SUBMITTER_CONTAINER));
    tools_image(w, b->options, container);
    write_submit(w, b);
    tools_resources(w, b->options, b->job->annotations, NO_VALUE, b->arena);
    tools_security(w, container, json_get(b->head, "spec.securityContext"));
}

static void write_container(struct jout *w, const struct submitter_build *b)
{
    jout_object(w);
    if (value_given(b->template))
        write_users_container(w, b);
    else
        write_our_container(w, b);
    write_variables(w, b);
    write_mounts(w, b);
    jout_end(w);
}

/* ---- the pod ---- */

/* Where the head's image is and may be pulled. It talks to the dashboard and to nobody else: it needs no account. */
static void write_our_place(struct jout *w, const struct submitter_build *b)
{
    static const char *const heads[] = {"imagePullSecrets", "nodeSelector", "tolerations"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct jval v = json_child(json_get(b->head, "spec"), heads[i]);
        if (value_given(v))
            jout_kval(w, heads[i], v);
    }
    jout_form(w, "automountServiceAccountToken:false,enableServiceLinks:false");
}

static void write_spec(struct jout *w, const struct submitter_build *b)
{
    static const char *const skip[] = {"containers", "volumes", "restartPolicy", NULL};
    struct jval volumes = json_get(b->spec, "volumes"), k, v;
    bool first = true;
    jout_kobject(w, "spec");
    splice_members(w, b->spec, skip, b->arena);
    if (!value_given(b->template))
        write_our_place(w, b);
    jout_form(w, "restartPolicy:'Never',containers:[");
    write_container(w, b);
    for (struct jiter it = json_iter(json_get(b->spec, "containers")); json_next(&it, &k, &v); first = false)
        if (!first)
            jout_val(w, v);
    jout_end(w);
    if (json_len(volumes) || mounts_tools(b)) {
        jout_karray(w, "volumes");
        splice_elements(w, volumes);
        if (mounts_tools(b))
            tools_volume(w);
        jout_end(w);
    }
    jout_end(w);
}

static void write_pod_metadata(struct jout *w, const struct submitter_build *b)
{
    const struct owner owner = owner_job(b->job);
    struct jval given = json_get(b->template, "metadata");
    struct pairs labels = pairs_new(b->arena), annotations = pairs_new(b->arena);
    pairs_set_all(&labels, json_get(given, "labels"));
    pairs_set_all(&annotations, json_get(given, "annotations"));
    pairs_set(&labels, SLICE(RAY_LABEL_CLUSTER), b->s->cluster);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_NAME), b->job->name);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_KIND), SLICE("RayJob"));
    write_metadata(w, &owner, b->s->name, given, &labels, &annotations, b->arena);
}

bool ray_build_submitter_pod(const struct ray_job *job, const struct ray_submitter *s, const struct ray_options *o, struct arena *a,
                             struct buf *out, struct err *e)
{
    struct submitter_build b = {.job = job, .s = s, .options = o, .arena = a, .template = job->submitter_template};
    b.head = json_get(s->spec, "headGroupSpec.template");
    b.spec = json_get(b.template, "spec");
    b.container = json_at(json_get(b.spec, "containers"), 0);
    b.submission = ray_job_submission(job, s->id);
    b.secret = s->secret;
    if (!job->own_submitter && o->tools == RAY_TOOLS_NONE)
        return err_set(e, ERR_CONFIG,
                       "a submitter pod runs this binary, and --tools=none says that it is not to be had: run the operator with "
                       "--tools=configmap or --tools=image:REF, or with --submitter=operator");
    if (!ray_submitter_fits(job, e))
        return false;
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'v1',kind:'Pod'");
    write_pod_metadata(&w, &b);
    write_spec(&w, &b);
    jout_end(&w);
    return !out->full || err_set(e, ERR_LIMIT, "pod %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(s->name), out->max);
}
