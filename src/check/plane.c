/* Judges the way from the operator to its control plane from outside the cluster, through the API server: its proxy of the control plane's
 * Service, and the Cloud in which the control plane records the operator's calls. */
#include <mobula/check.h>
#include <mobula/spec.h>

/* Reports the answer of the API server's proxy to GET /healthz of the control plane. */
void check_plane_answer(struct check *c, struct slice name, struct slice ns, int code, struct slice message)
{
    static const struct {
        int code;
        enum check_result result;
        const char *found, *remedy;
    } rows[] = {
        {200, CHECK_PASS, "answers through the API server's proxy; only mobula check in a pod tries its name and certificate", NULL},
        {403, CHECK_SKIP, "may not be tried through the API server's proxy",
         "grant get on services/proxy there, or run mobula check in a pod of the cluster"},
        {404, CHECK_FAIL, "does not exist, or has no such port", "correct --control-plane-url, or install the control plane there"},
        {0, CHECK_FAIL, "does not answer", "look at its pods and their logs, and at NetworkPolicies"},
    };
    size_t i = 0;
    while (rows[i].code && rows[i].code != code)
        i++;
    check_say(c, rows[i].result, rows[i].remedy, "Service %.*s in namespace %.*s %s%s%.*s", SLICE_ARG(name), SLICE_ARG(ns), rows[i].found,
              code == 200 ? "" : ": ", SLICE_ARG(code == 200 ? SLICE("") : message));
}

void check_plane_service(struct check *c, struct slice host, uint16_t port)
{
    struct slice rest = host, name = slice_cut(&rest, '.'), ns = slice_cut(&rest, '.');
    struct ask_answer answer = {0};
    struct err e = {0};
    struct slice path =
        arena_printf(c->a, "/api/v1/namespaces/%.*s/services/https:%.*s:%u/proxy/healthz", SLICE_ARG(ns), SLICE_ARG(name), (unsigned)port);
    if (!name_dns1123_label(ns) || !name_dns1035_label(name))
        check_say(c, CHECK_FAIL, "want https://NAME.NAMESPACE.svc", "%.*s is not the name of a Service", SLICE_ARG(host));
    else if (ask_get(&c->ask, path, NULL, c->a, &answer, &e))
        check_plane_answer(c, name, ns, answer.code, answer.message);
    else
        check_say(c, CHECK_FAIL, NULL, "Service %.*s in namespace %.*s: %s", SLICE_ARG(name), SLICE_ARG(ns), e.text);
}

/* Reports whether the operator calls, as the Cloud of its deployment id says. Other Clouds are passed over. */
void check_cloud_item(struct check *c, void *state, struct jval cloud)
{
    const struct slice *id = state;
    struct jval connected = status_condition(json_get(cloud, "status"), SLICE("Connected"));
    struct slice name = json_get_str(cloud, "metadata.name", c->a), at = json_get_str(cloud, "status.lastContactTime", c->a);
    if (!json_str_eq(json_get(cloud, "status.deploymentId"), *id))
        return;
    if (json_is(json_get(connected, "status"), "True"))
        check_say(c, CHECK_PASS, NULL, "the control plane records in Cloud %.*s that the operator has called at %.*s", SLICE_ARG(name),
                  SLICE_ARG(at));
    else
        check_say(c, CHECK_FAIL, "its log names the step that fails: kubectl logs deployment/mobula -n NAMESPACE",
                  "the operator does not call the control plane, as Cloud %.*s says; the last call: %.*s", SLICE_ARG(name),
                  SLICE_ARG(slice_empty(at) ? SLICE("never") : at));
}

/* Clouds are in this API server if the control plane is. Without the right to list them, or without the kind, no row is added. */
void check_cloud(struct check *c)
{
    struct slice id = check_argument(c, "--cloud-deployment-id");
    struct ask_answer answer = {0};
    struct err e = {0};
    struct jval doc, k, cloud;
    struct slice path = arena_printf(c->a, "/apis/mobula.dev/v1/namespaces/%.*s/clouds", SLICE_ARG(c->ns));
    if (slice_empty(id) || !ask_get(&c->ask, path, NULL, c->a, &answer, &e) || answer.code != 200 ||
        !json_read(&doc, answer.body, c->a, &e))
        return;
    for (struct jiter it = json_iter(json_get(doc, "items")); json_next(&it, &k, &cloud);)
        check_cloud_item(c, &id, cloud);
}
