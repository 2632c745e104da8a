/* A container in which this binary runs: in Ray's image, where a ConfigMap brings the binary, or in our own. */
#include "build.h"

static bool by_configmap(const struct ray_options *o)
{
    return o->tools == RAY_TOOLS_CONFIGMAP;
}

void tools_command(struct jout *w, const struct ray_options *o)
{
    jout_karray(w, "command");
    jout_str(w, by_configmap(o) ? SLICE("/mobula/mobula") : SLICE("/mobula"));
}

void tools_image(struct jout *w, const struct ray_options *o, struct jval ray_container)
{
    struct jval policy = json_key(ray_container, SLICE("imagePullPolicy"));
    if (!by_configmap(o)) {
        jout_kstr(w, "image", o->tools_image);
        return;
    }
    jout_kraw(w, "image", json_raw(json_key(ray_container, SLICE("image"))));
    if (value_given(policy))
        jout_kraw(w, "imagePullPolicy", json_raw(policy));
}

void tools_resources(struct jout *w)
{
    static const char *const sides[] = {"limits", "requests"};
    jout_kobject(w, "resources");
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        jout_kobject(w, sides[i]);
        jout_kstr(w, "cpu", SLICE("10m"));
        jout_kstr(w, "memory", SLICE("16Mi"));
        jout_end(w);
    }
    jout_end(w);
}

/* Passes where Pod Security "restricted" is enforced. Who runs it is the Ray container's business: an image may have only that user. */
void tools_security(struct jout *w, struct jval container, struct jval pod)
{
    static const char *const inherited[] = {"runAsUser", "runAsGroup", "runAsNonRoot"};
    struct jval given = json_key(container, SLICE("securityContext"));
    jout_kobject(w, "securityContext");
    jout_kbool(w, "allowPrivilegeEscalation", false);
    jout_kobject(w, "capabilities");
    jout_karray(w, "drop");
    jout_str(w, SLICE("ALL"));
    jout_end(w);
    jout_end(w);
    jout_kbool(w, "readOnlyRootFilesystem", true);
    jout_kobject(w, "seccompProfile");
    jout_kstr(w, "type", SLICE("RuntimeDefault"));
    jout_end(w);
    for (size_t i = 0; i < COUNT_OF(inherited); i++) {
        struct jval v = json_key(given, slice_of(inherited[i]));
        if (!value_given(v))
            v = json_key(pod, slice_of(inherited[i]));
        if (value_given(v))
            jout_kraw(w, inherited[i], json_raw(v));
    }
    jout_end(w);
}

void tools_mount(struct jout *w)
{
    jout_object(w);
    jout_kstr(w, "mountPath", SLICE("/mobula"));
    jout_kstr(w, "name", SLICE(RAY_TOOLS_VOLUME));
    jout_kbool(w, "readOnly", true);
    jout_end(w);
}

void tools_volume(struct jout *w)
{
    jout_object(w);
    jout_kstr(w, "name", SLICE(RAY_TOOLS_VOLUME));
    jout_kobject(w, "configMap");
    jout_kstr(w, "name", SLICE(RAY_TOOLS_CONFIGMAP_NAME));
    jout_kint(w, "defaultMode", 0555);
    jout_end(w);
    jout_end(w);
}
