/* A container in which this binary runs: in Ray's image, where a ConfigMap brings the binary, or in our own. */
#include "build.h"

static bool by_configmap(const struct ray_options *o)
{
    return o->tools == RAY_TOOLS_CONFIGMAP;
}

void tools_command(struct jout *w, const struct ray_options *o)
{
    jout_form(w, "command:['%s'", by_configmap(o) ? "/mobula/mobula" : "/mobula");
}

void tools_image(struct jout *w, const struct ray_options *o, struct jval ray_container)
{
    struct jval policy = json_get(ray_container, "imagePullPolicy");
    if (!by_configmap(o)) {
        jout_kstr(w, "image", o->tools_image);
        return;
    }
    jout_kval(w, "image", json_get(ray_container, "image"));
    if (value_given(policy))
        jout_kval(w, "imagePullPolicy", policy);
}

bool ray_tools_resources(struct slice text, struct ray_tools_resources *out, struct err *e)
{
    *out = (struct ray_tools_resources){0};
    do {
        struct slice amount = slice_cut(&text, ','), key = slice_trim(slice_cut(&amount, '='));
        struct err why = {0};
        int64_t n;
        bool cpu = slice_is(key, "cpu");
        if (!cpu && !slice_is(key, "memory"))
            return err_set(e, ERR_CONFIG, "\"%.*s\": want cpu=QUANTITY,memory=QUANTITY", SLICE_ARG(slice_head(key, 60)));
        amount = slice_trim(amount);
        if (!quantity_parse(amount, cpu ? 3 : 0, &n, &why))
            return err_set(e, ERR_CONFIG, "%s: %s", cpu ? "cpu" : "memory", why.text);
        *(cpu ? &out->cpu : &out->memory) = amount;
    } while (text.ptr);
    return true;
}

static void write_said(struct jout *w, struct slice cpu, struct slice memory)
{
    cpu = slice_empty(cpu) ? SLICE("10m") : cpu;
    memory = slice_empty(memory) ? SLICE("16Mi") : memory;
    jout_form(w, "resources:{limits:{cpu:'%.*s',memory:'%.*s'},requests:{cpu:'%.*s',memory:'%.*s'}}", SLICE_ARG(cpu), SLICE_ARG(memory),
              SLICE_ARG(cpu), SLICE_ARG(memory));
}

/* Without devices: those would be taken twice. */
static void write_as_beside(struct jout *w, struct jval resources, struct arena *a)
{
    static const char *const sides[] = {"limits", "requests"}, *const keys[] = {"cpu", "memory", "ephemeral-storage"};
    if (!value_given(resources))
        return;
    jout_kobject(w, "resources");
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        struct pairs some = pairs_new(a);
        struct jval side = json_child(resources, sides[i]);
        for (size_t n = 0; n < COUNT_OF(keys); n++)
            if (value_given(json_child(side, keys[n])))
                pairs_set(&some, slice_of(keys[n]), json_raw(json_child(side, keys[n])));
        if (some.count > 0)
            jout_kraw(w, sides[i], pairs_numbers(&some));
    }
    jout_end(w);
}

void tools_resources(struct jout *w, const struct ray_options *o, struct jval annotations, struct jval beside, struct arena *a)
{
    struct ray_tools_resources said = o->tools_resources, own;
    struct jval note = json_child(annotations, RAY_ANNOTATION_TOOLS_RESOURCES);
    if (json_there(note) && ray_tools_resources(json_str(note, a), &own, NULL))
        said = own;
    if (!json_there(beside) || said.cpu.len + said.memory.len > 0)
        write_said(w, said.cpu, said.memory);
    else
        write_as_beside(w, json_get(beside, "resources"), a);
}

/* Passes where Pod Security "restricted" is enforced. Who runs it is the Ray container's business: an image may have only that user. */
void tools_security(struct jout *w, struct jval container, struct jval pod)
{
    static const char *const inherited[] = {"runAsUser", "runAsGroup", "runAsNonRoot"};
    struct jval given = json_get(container, "securityContext");
    jout_form(w, "securityContext:{allowPrivilegeEscalation:false,capabilities:{drop:['ALL']},readOnlyRootFilesystem:true,"
                 "seccompProfile:{type:'RuntimeDefault'}");
    for (size_t i = 0; i < COUNT_OF(inherited); i++) {
        struct jval v = json_child(given, inherited[i]);
        if (!value_given(v))
            v = json_child(pod, inherited[i]);
        if (value_given(v))
            jout_kval(w, inherited[i], v);
    }
    jout_end(w);
}

void tools_mount(struct jout *w)
{
    jout_form(w, "{mountPath:'/mobula',name:'" RAY_TOOLS_VOLUME "',readOnly:true}");
}

void tools_volume(struct jout *w)
{
    jout_form(w, "{name:'" RAY_TOOLS_VOLUME "',configMap:{name:'" RAY_TOOLS_CONFIGMAP_NAME "',defaultMode:%d}}", 0555);
}
