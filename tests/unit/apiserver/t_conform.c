/* What tests/conform found: each row is a request, its answer, and what stands at a JSON pointer of it ("" for no such place). */
#include "drive.h"

#define NS "/api/v1/namespaces/default"
#define MAPS NS "/configmaps"
#define SECRETS NS "/secrets"
#define SERVICES NS "/services"
#define PODS NS "/pods"
#define EVENTS NS "/events"
#define NEW_EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define ROLES "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
#define BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define EXACT MAPS "?resourceVersionMatch=Exact&resourceVersion="
#define TABLE "application/json;as=Table;g=meta.k8s.io;v=v1"
#define MERGE "application/merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define APPLY "application/apply-patch+yaml"
#define MAP(name, more) "{\"metadata\":{\"name\":\"" name "\"" more "}}"
#define POD(name, more) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"" more "}]}}"
#define TWO_PORTS(name, more, port, other)                                                                                                 \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":" port  \
    "}]},{\"name\":\"d\",\"image\":\"i\",\"ports\":[{\"containerPort\":" other "}]}]" more "}}"
#define META_ORDER(finalizers) "\"metadata\":{\"name\":\"order\",\"finalizers\":[" finalizers "]}"
#define SERVICE(name, more) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"ports\":[{\"port\":80" more "}]}}"
#define ROLE(name, rule) "{\"metadata\":{\"name\":\"" name "\"},\"rules\":[{" rule "}]}"
#define BINDING(name, ref, subject)                                                                                                        \
    "{\"metadata\":{\"name\":\"" name "\"},\"roleRef\":{" ref "},\"subjects\":[{" subject ",\"name\":\"a\"}]}"
#define NEW_EVENT(name, note)                                                                                                              \
    "{\"metadata\":{\"name\":\"" name "\"},\"eventTime\":\"2021-01-01T00:00:00.000000Z\",\"reportingController\":\"a/b\","                 \
    "\"reportingInstance\":\"m\",\"action\":\"A\",\"reason\":\"R\",\"type\":\"Normal\",\"note\":\"" note "\","                             \
    "\"regarding\":{\"namespace\":\"default\"}}"

#define KEY_50 "0123456789012345678901234567890123456789abcdefghij"
#define KEY_253 KEY_50 KEY_50 KEY_50 KEY_50 KEY_50 "abc"

/* In order, on one server: later rows meet what earlier ones have made. */
static const struct {
    const char *id, *method, *target, *type, *body;
    int status;
    const char *pointer, *want;
} rows[] = {
    {"put-needs-name", "PUT", MAPS "/no", NULL, "{}", 400, "/reason", "\"BadRequest\""},
    {"put-not-there", "PUT", MAPS "/no", NULL, MAP("no", ""), 404, "/reason", "\"NotFound\""},
    {"put-creates-service", "PUT", SERVICES "/put", NULL, SERVICE("put", ""), 201, "/metadata/name", "\"put\""},
    {"put-creates-with-rv", "PUT", LEASES "/put", NULL, MAP("put", ",\"resourceVersion\":\"7\""), 201, "/spec", "{}"},
    {"put-creates-no-uid", "PUT", LEASES "/new", NULL, MAP("new", ",\"uid\":\"u\""), 409, "/reason", "\"Conflict\""},
    {"options-first", "PATCH", MAPS "/no?fieldValidation=Loose", MERGE, "{}", 422, "/details/kind", "\"PatchOptions\""},
    {"options-dry", "PUT", MAPS "/no?dryRun=Some", NULL, MAP("no", ""), 422, "/details/kind", "\"UpdateOptions\""},
    {"options-force", "PATCH", MAPS "/no?force=true", MERGE, "{}", 422, "/details/causes/0/field", "\"force\""},
    {"delete-options-first", "DELETE", MAPS "/no", NULL, "{\"propagationPolicy\":\"No\"}", 422, "/details/kind", "\"DeleteOptions\""},
    {"delete-broken", "DELETE", MAPS "/no", NULL, "{", 500, "/reason", ""},
    {"no-name-and-more", "POST", PODS, NULL, "{\"spec\":{\"containers\":[{\"name\":\"U\",\"image\":\"i\"}]}}", 422,
     "/details/causes/1/field", "\"spec.containers[0].name\""},
    {"null-is-empty", "POST", MAPS, NULL, "null", 422, "/details/causes/0/field", "\"metadata.name\""},
    {"null-label", "POST", MAPS, NULL, MAP("null", ",\"labels\":{\"a\":null}"), 201, "/metadata/labels", "{\"a\":\"\"}"},
    {"long-label", "POST", MAPS, NULL,
     MAP("long", ",\"labels\":{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123\"}"), 422,
     "/details/causes/0/message",
     "\"Invalid value: \\\"0123456789012345678901234567890123456789012345678901234567890123\\\": must be no more than 63 characters\""},
    {"event-owner", "POST", MAPS, NULL,
     MAP("owned", ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"e\",\"uid\":\"u\"}]"), 422,
     "/details/causes/0/field", "\"metadata.ownerReferences\""},
    {"plain-finalizer", "POST", MAPS, NULL, MAP("fin", ",\"finalizers\":[\"plain\"]"), 422, "/details/causes/0/field",
     "\"metadata.finalizers[0]\""},
    {"plain-finalizer-lease", "POST", LEASES, NULL, MAP("fin", ",\"finalizers\":[\"plain\"]"), 201, "/spec", "{}"},
    {"escaped-name", "GET", MAPS "/a%20b", NULL, NULL, 404, "/details/name", "\"a b\""},
    {"no-custom-group", "GET", "/apis/x.y/v1/z", NULL, NULL, 404, "", NULL},
    {"unknown-version", "POST", MAPS, NULL, "{\"apiVersion\":\"v9\",\"kind\":\"ConfigMap\"}", 400, "/message",
     "\"ConfigMap in version \\\"v9\\\" cannot be handled as a ConfigMap: no kind \\\"ConfigMap\\\" is registered for version \\\"v9\\\" "
     "in "
     "scheme \\\"pkg/runtime/scheme.go:110\\\"\""},
    {"selector-field", "GET", MAPS "?fieldSelector=a%3Db", NULL, NULL, 400, "/message",
     "\"\\\"a\\\" is not a known field selector: only \\\"metadata.name\\\", \\\"metadata.namespace\\\"\""},
    {"selector-commas", "GET", MAPS "?labelSelector=a%3Dx,,", NULL, NULL, 400, "/reason", "\"BadRequest\""},
    {"limit-text", "GET", MAPS "?limit=many", NULL, NULL, 400, "/reason", "\"BadRequest\""},
    {"watch-match", "GET", MAPS "?watch=true&resourceVersionMatch=Exact", NULL, NULL, 422, "/details/causes/1/reason",
     "\"FieldValueForbidden\""},
    {"one-name-no-token", "GET", MAPS "?fieldSelector=metadata.name%3Dnull&limit=1", NULL, NULL, 200, "/metadata/continue", ""},
    {"limit-before-selector", "GET", MAPS "?labelSelector=%3Dx&limit=many", NULL, NULL, 400, "/message",
     "\"strconv.ParseInt: parsing \\\"many\\\": invalid syntax\""},
    {"watch-selector-first", "GET", MAPS "?watch=true&labelSelector=%3Dx&resourceVersionMatch=Exact", NULL, NULL, 400, "/reason",
     "\"BadRequest\""},
    {"client-generation", "POST", MAPS, NULL, MAP("gen", ",\"generation\":7"), 201, "/metadata/generation", "7"},
    {"other-namespace", "PUT", MAPS "/gen", NULL, MAP("gen", ",\"namespace\":\"x\""), 400, "/message",
     "\"the namespace of the provided object does not match the namespace sent on the request\""},
    {"going-is-not-asked", "PUT", MAPS "/gen", NULL,
     MAP("gen", ",\"deletionTimestamp\":\"2021-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":0"), 422, "/details/causes/1/field",
     "\"metadata.deletionGracePeriodSeconds\""},
    {"created-with-version", "POST", MAPS, NULL, MAP("no", ",\"resourceVersion\":\"5\""), 500, "/reason", ""},
    {"created-with-version-dry", "POST", MAPS "?dryRun=All", NULL, MAP("no", ",\"resourceVersion\":\"5\""), 201, "/metadata/name",
     "\"no\""},
    {"nobody-by-request", "PUT", MAPS "/gen", NULL, MAP("gen", ",\"managedFields\":[{}]"), 200, "/metadata/managedFields", ""},
    /* ConfigMaps, secrets */
    {"data-key", "POST", MAPS, NULL, "{\"metadata\":{\"name\":\"dk\"},\"data\":{\"a/b\":\"1\"}}", 422, "/details/causes/0/field",
     "\"data[a/b]\""},
    {"data-key-253", "POST", MAPS, NULL, "{\"metadata\":{\"name\":\"dk\"},\"data\":{\"" KEY_253 "\":\"1\"}}", 201, "/metadata/name",
     "\"dk\""},
    {"data-key-254", "POST", MAPS, NULL, "{\"metadata\":{\"name\":\"dl\"},\"data\":{\"" KEY_253 "x\":\"1\"}}", 422,
     "/details/causes/0/reason", "\"FieldValueInvalid\""},
    {"immutable", "POST", MAPS, NULL, "{\"metadata\":{\"name\":\"im\"},\"immutable\":true,\"data\":{\"k\":\"v\"}}", 201, "/immutable",
     "true"},
    {"immutable-data", "PATCH", MAPS "/im", MERGE, "{\"data\":{\"k\":\"w\"}}", 422, "/details/causes/0/field", "\"data\""},
    {"immutable-stays", "PATCH", MAPS "/im", MERGE, "{\"immutable\":false}", 422, "/details/causes/0/field", "\"immutable\""},
    {"string-data", "POST", SECRETS, NULL, "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"k\":\"2\"}}", 201, "/data",
     "{\"k\":\"Mg==\"}"},
    {"secret-type", "GET", SECRETS "/s", NULL, NULL, 200, "/type", "\"Opaque\""},
    {"secret-base64", "POST", SECRETS, NULL, "{\"metadata\":{\"name\":\"t\"},\"data\":{\"k\":\"%\"}}", 400, "/reason", "\"BadRequest\""},
    /* services */
    {"node-port-owned", "POST", SERVICES, NULL,
     "{\"metadata\":{\"name\":\"np\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80}]}}", 201,
     "/metadata/managedFields/0/fieldsV1/f:spec/f:externalTrafficPolicy", "{}"},
    {"protocol", "POST", SERVICES, NULL, SERVICE("pr", ",\"protocol\":\"tcp\""), 422, "/details/causes/0/field",
     "\"spec.ports[0].protocol\""},
    {"target-zero", "POST", SERVICES, NULL, SERVICE("tz", ",\"targetPort\":0"), 201, "/spec/ports/0/targetPort", "80"},
    {"target-name", "POST", SERVICES, NULL, SERVICE("tn", ",\"targetPort\":\"not_a_name\""), 422, "/details/causes/0/field",
     "\"spec.ports[0].targetPort\""},
    {"target-name-15", "POST", SERVICES, NULL, SERVICE("tn", ",\"targetPort\":\"a23456789012345\""), 201, "/spec/ports/0/targetPort",
     "\"a23456789012345\""},
    {"target-name-16", "POST", SERVICES, NULL, SERVICE("tm", ",\"targetPort\":\"a234567890123456\""), 422, "/details/causes/0/field",
     "\"spec.ports[0].targetPort\""},
    {"headless-any", "POST", SERVICES, NULL, "{\"metadata\":{\"name\":\"hl\"},\"spec\":{\"clusterIP\":\"None\"}}", 201,
     "/spec/ipFamilyPolicy", "\"RequireDualStack\""},
    {"address", "POST", SERVICES, NULL, "{\"metadata\":{\"name\":\"ad\"},\"spec\":{\"clusterIP\":\"300.1.1.1\",\"ports\":[{\"port\":1}]}}",
     422, "/details/causes/0/field", "\"spec.clusterIPs[0]\""},
    {"address-range", "POST", SERVICES, NULL,
     "{\"metadata\":{\"name\":\"ad\"},\"spec\":{\"clusterIP\":\"10.112.0.1\",\"ports\":[{\"port\":1}]}}", 422, "/details/causes/0/field",
     "\"spec.clusterIPs\""},
    {"address-last", "POST", SERVICES, NULL,
     "{\"metadata\":{\"name\":\"ad\"},\"spec\":{\"clusterIP\":\"10.111.255.254\",\"ports\":[{\"port\":1}]}}", 201, "/spec/clusterIP",
     "\"10.111.255.254\""},
    {"address-alone", "POST", SERVICES, NULL, "{\"metadata\":{\"name\":\"al\"},\"spec\":{\"clusterIP\":\"300.1.1.1\"}}", 422,
     "/details/causes/1", ""},
    {"port-twice", "POST", SERVICES, NULL,
     "{\"metadata\":{\"name\":\"tw\"},\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":80}]}}", 422,
     "/details/causes/0/reason", "\"FieldValueDuplicate\""},
    {"headless-selects", "PATCH", SERVICES "/hl", MERGE, "{\"spec\":{\"selector\":{\"a\":\"b\"}}}", 422, "/details/causes/0/message",
     "\"Invalid value: \\\"RequireDualStack\\\": this cluster is not configured for dual-stack services\""},
    {"headless-selects", "PATCH", SERVICES "/hl", MERGE, "{\"spec\":{\"selector\":{\"a\":\"b\"}}}", 422, "/details/causes/1/field",
     "\"spec.ipFamilies[1]\""},
    {"headless-stays-single", "POST", SERVICES, NULL,
     "{\"metadata\":{\"name\":\"hs\"},\"spec\":{\"clusterIP\":\"None\",\"selector\":{\"a\":\"b\"}}}", 201, "/spec/ipFamilyPolicy",
     "\"SingleStack\""},
    {"headless-stays-single", "PUT", SERVICES "/hs", NULL, "{\"metadata\":{\"name\":\"hs\"},\"spec\":{\"clusterIP\":\"None\"}}", 200,
     "/spec/ipFamilies", "[\"IPv4\"]"},
    {"no-longer-outside", "PATCH", SERVICES "/np", MERGE, "{\"spec\":{\"type\":\"ClusterIP\"}}", 200, "/spec/externalTrafficPolicy", ""},
    /* pods */
    {"no-account", "POST", PODS, NULL, "{\"metadata\":{\"generateName\":\"na-\"},\"spec\":{\"serviceAccountName\":\"missing\"}}", 403,
     "/message",
     "\"pods \\\"na-\\\" is forbidden: error looking up service account default/missing: serviceaccount \\\"missing\\\" not found\""},
    {"probe-one-thing", "POST", PODS, NULL, POD("pr", ",\"readinessProbe\":{\"exec\":{\"command\":[\"true\"]},\"tcpSocket\":{\"port\":1}}"),
     422, "/details/causes/0/field", "\"spec.containers[0].readinessProbe.tcpSocket\""},
    {"probe-nothing", "POST", PODS, NULL, POD("pr", ",\"readinessProbe\":{\"periodSeconds\":1}"), 422, "/details/causes/0/field",
     "\"spec.containers[0].readinessProbe\""},
    {"init-name", "POST", PODS, NULL,
     "{\"metadata\":{\"name\":\"in\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"initContainers\":[{\"name\":"
     "\"c\",\"image\":\"i\"}]}}",
     422, "/details/causes/0/reason", "\"FieldValueDuplicate\""},
    {"requests", "POST", PODS, NULL, POD("rq", ",\"resources\":{\"limits\":{\"cpu\":\"500m\"},\"requests\":{\"cpu\":\"1\"}}"), 422,
     "/details/causes/0/field", "\"spec.containers[0].resources.requests\""},
    {"pod", "POST", PODS, NULL, POD("p", ",\"resources\":{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"1\"}}"), 201, "/status/phase",
     "\"Pending\""},
    {"tolerations", "POST", PODS, NULL,
     "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"tolerations\":[{\"key\":\"k\","
     "\"operator\":\"Exists\"}]}}",
     201, "/spec/tolerations/0/key", "\"k\""},
    {"tolerations-stay", "PATCH", PODS "/t", MERGE, "{\"spec\":{\"tolerations\":[{\"key\":\"n\",\"operator\":\"Exists\"}]}}", 422,
     "/details/causes/0/field", "\"spec.tolerations\""},
    {"containers-stay", "PATCH", PODS "/p", MERGE, "{\"spec\":{\"containers\":[]}}", 422, "/details/causes/1/message",
     "\"Forbidden: pod updates may not add or remove containers\""},
    {"grace-stays", "PATCH", PODS "/p", MERGE, "{\"spec\":{\"terminationGracePeriodSeconds\":7}}", 422, "/details/causes/0/field",
     "\"spec\""},
    {"uid-and-more", "PATCH", PODS "/p", MERGE, "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"schedulerName\":\"x\"}}", 422,
     "/details/causes/1/field", "\"spec\""},
    {"deadline", "PATCH", PODS "/p", MERGE, "{\"spec\":{\"activeDeadlineSeconds\":50}}", 200, "/spec/activeDeadlineSeconds", "50"},
    {"deadline-later", "PATCH", PODS "/p", MERGE, "{\"spec\":{\"activeDeadlineSeconds\":51}}", 422, "/details/causes/0/field",
     "\"spec.activeDeadlineSeconds\""},
    {"deadline-goes", "PATCH", PODS "/p", MERGE, "{\"spec\":{\"activeDeadlineSeconds\":null}}", 422, "/details/causes/0/field",
     "\"spec.activeDeadlineSeconds\""},
    {"last-state", "PATCH", PODS "/p/status", MERGE, "{\"status\":{\"containerStatuses\":[{\"name\":\"c\"}]}}", 200,
     "/status/containerStatuses/0/lastState", "{}"},
    {"delete-dry", "DELETE", PODS "/p", NULL, "{\"dryRun\":[\"All\"]}", 200, "/metadata/deletionGracePeriodSeconds", "0"},
    {"delete-dry-gone", "DELETE", MAPS "/im", NULL, "{\"dryRun\":[\"All\"]}", 200, "/status", "\"Success\""},
    {"delete-body-speaks", "DELETE", MAPS "/im?propagationPolicy=Orphan", NULL, "{\"gracePeriodSeconds\":0}", 200, "/status",
     "\"Success\""},
    /* patches */
    {"replace-adds", "PATCH", MAPS "/null", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/metadata/annotations\",\"value\":{\"a\":\"b\"}}]",
     200, "/metadata/annotations", "{\"a\":\"b\"}"},
    {"patch-of-list", "PATCH", MAPS "/null", MERGE, "[]", 400, "/reason", "\"BadRequest\""},
    {"no-such-operation", "PATCH", MAPS "/null", JSON_PATCH, "[{\"op\":\"no\",\"path\":\"/a\"}]", 422, "/reason", "\"Invalid\""},
    {"no-list", "PATCH", MAPS "/null", JSON_PATCH, "{}", 400, "/reason", "\"BadRequest\""},
    {"managed-nil", "PATCH", MAPS "/null?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"managedFields\":[]}}", 400, "/reason", "\"BadRequest\""},
    /* who owns what */
    {"nobody", "POST", MAPS, NULL, MAP("nobody", ""), 201, "/metadata/managedFields", ""},
    {"nobody-stays", "PATCH", MAPS "/nobody", MERGE, "{\"data\":{\"k\":\"v\"}}", 200, "/metadata/managedFields", ""},
    {"before-first-apply", "PATCH", MAPS "/nobody?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"l\":\"w\"}}", 200, "/metadata/managedFields/0/manager",
     "\"before-first-apply\""},
    {"no-date", "PATCH", MAPS "/nobody?fieldManager=n", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"l\":\"w\"}}", 200,
     "/metadata/managedFields/2/time", ""},
    {"apply-other-name", "PATCH", MAPS "/fresh?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}", 400, "/reason", "\"BadRequest\""},
    {"apply-twice-one", "PATCH", PODS "/two?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"two\"},\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"c\"}]}"
     "}",
     500, "/message",
     "\"failed to create typed patch object (/two; /v1, Kind=Pod): .spec.containers: duplicate entries for key [name=\\\"c\\\"]\""},
    {"conflict-before-decoding", "PATCH", SECRETS "/c?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\"},\"type\":\"a/b\"}", 201, "/type", "\"a/b\""},
    {"conflict-before-decoding", "PATCH", SECRETS "/c?fieldManager=n", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\"},\"type\":\"c/d\",\"data\":{\"k\":\"%\"}}", 409, "/reason",
     "\"Conflict\""},
    {"undecodable", "PATCH", SECRETS "/c?fieldManager=n&force=true", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\"},\"data\":{\"k\":\"%\"}}", 500, "/reason", ""},
    {"emptied-spec", "POST", LEASES, NULL, "{\"metadata\":{\"name\":\"es\"},\"spec\":{\"holderIdentity\":\"h\"}}", 201,
     "/spec/holderIdentity", "\"h\""},
    {"emptied-spec", "PATCH", LEASES "/es", MERGE, "{\"spec\":{\"holderIdentity\":null}}", 200, "/metadata/managedFields", ""},
    {"twice-in-a-set", "PATCH", MAPS "/set?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"set\",\"finalizers\":[\"a/b\"]}}", 201,
     "/metadata/managedFields/0/manager", "\"m\""},
    {"twice-in-a-set", "PATCH", MAPS "/set?fieldManager=n", JSON_PATCH,
     "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"a/b\"}]", 200,
     "/metadata/managedFields/0/fieldsV1/f:metadata/f:finalizers", "{\"v:\\\"a/b\\\"\":{}}"},
    {"orphan-not-foreground", "DELETE", MAPS "/set", NULL, "{\"propagationPolicy\":\"Foreground\"}", 200, "/metadata/finalizers/2",
     "\"foregroundDeletion\""},
    {"orphan-not-foreground", "DELETE", MAPS "/set", NULL, "{\"propagationPolicy\":\"Orphan\"}", 200, "/metadata/finalizers/3", ""},
    {"empty-list-unowned", "PATCH", PODS "/el?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"el\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],"
     "\"initContainers\":[]}}",
     201, "/metadata/managedFields/0/fieldsV1/f:spec/f:initContainers", ""},
    {"item-goes-whole", "PATCH", SERVICES "/ig?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"ig\"},\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":1},"
     "{\"name\":\"b\",\"port\":2}]}}",
     201, "/spec/ports/1/name", "\"b\""},
    {"item-goes-whole", "PATCH", SERVICES "/ig?fieldManager=n", "application/strategic-merge-patch+json",
     "{\"spec\":{\"ports\":[{\"port\":2,\"name\":\"c\"}]}}", 200, "/spec/ports/1/name", "\"c\""},
    {"item-goes-whole", "PATCH", SERVICES "/ig?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"ig\"},\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":1}]}}", 200,
     "/spec/ports/1", ""},
    {"unowned-goes-too", "PATCH", SERVICES "/ug?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"ug\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"clusterIP\":\"None\"}"
     "}",
     201, "/metadata/labels", "{\"a\":\"b\"}"},
    {"unowned-goes-too", "PATCH", SERVICES "/ug?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"ug\"},\"spec\":{\"clusterIP\":\"None\"}}", 200,
     "/metadata/labels", ""},
    {"dry-conflict-key", "PUT", MAPS "/nobody?dryRun=All", NULL, MAP("nobody", ",\"uid\":\"u\""), 409, "/reason", "\"Conflict\""},
    {"port-twice-applied", "PATCH", SERVICES "/pt?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"pt\"},\"spec\":{\"ports\":[{\"port\":8},{\"port\":8}]}}", 500,
     "/message",
     "\"failed to create typed patch object (/pt; /v1, Kind=Service): .spec.ports: duplicate entries for key "
     "[port=8,protocol=\\\"TCP\\\"]\""},
    {"no-status", "PATCH", MAPS "/null/status?fieldValidation=Loose", MERGE, "{}", 404, "/reason", "\"NotFound\""},
    {"selector-key", "GET", MAPS "?labelSelector=a/b/c%3Dx", NULL, NULL, 400, "/reason", "\"BadRequest\""},
    {"secret-type-stays", "PATCH", SECRETS "/s", MERGE, "{\"type\":\"x/y\"}", 422, "/details/causes/0/field", "\"type\""},
    {"empty-data", "PATCH", SECRETS "/s", MERGE, "{\"data\":{\"k\":null}}", 200, "/data", ""},
    {"dots", "POST", PODS, NULL, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"containers\":[{\"name\":\"a.b\",\"image\":\"i\"}]}}", 422,
     "/details/causes/0/message", "\"Invalid value: \\\"a.b\\\": must not contain dots\""},
    {"first-apply-of-nothing", "POST", MAPS, NULL, MAP("fan", ""), 201, "/metadata/managedFields", ""},
    {"first-apply-of-nothing", "PATCH", MAPS "/fan", MERGE, "{\"data\":{\"k\":\"v\"}}", 200, "/metadata/managedFields", ""},
    {"first-apply-of-nothing", "PATCH", MAPS "/fan?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}", 200,
     "/metadata/managedFields/0/manager", "\"before-first-apply\""},
    {"born-going", "PUT", LEASES "/bg", NULL, MAP("bg", ",\"deletionTimestamp\":\"2021-01-01T00:00:00Z\""), 201,
     "/metadata/deletionTimestamp", "\"2021-01-01T00:00:00Z\""},
    {"born-going", "PATCH", LEASES "/bg", MERGE, "{}", 200, "/metadata/name", "\"bg\""},
    {"born-going", "GET", LEASES "/bg", NULL, NULL, 404, "/reason", "\"NotFound\""},
    /* roles */
    {"role-blank", "PUT", ROLES "/blank", NULL, MAP("blank", ""), 201, "/rules", "null"},
    {"role-blank-unowned", "GET", ROLES "/blank", NULL, NULL, 200, "/metadata/managedFields", ""},
    {"role-verbs", "POST", ROLES, NULL, ROLE("v", "\"apiGroups\":[\"\"],\"resources\":[\"pods\"]"), 422, "/details/causes",
     "[{\"reason\":\"FieldValueRequired\",\"message\":\"Required value: verbs must contain at least one value\",\"field\":"
     "\"rules[0].verbs\"}]"},
    {"role-groups", "POST", ROLES, NULL, ROLE("g", "\"verbs\":[\"get\"],\"resources\":[\"pods\"]"), 422, "/details/causes/0/field",
     "\"rules[0].apiGroups\""},
    {"role-resources", "POST", ROLES, NULL, ROLE("r", "\"verbs\":[\"get\"],\"apiGroups\":[\"\"]"), 422, "/details/causes/0/field",
     "\"rules[0].resources\""},
    {"role-urls", "POST", ROLES, NULL, ROLE("u", "\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/m\"]"), 422, "/details/causes/0/message",
     "\"Invalid value: [\\\"/m\\\"]: namespaced rules cannot apply to non-resource URLs\""},
    {"role-urls-and-more", "POST", ROLES, NULL, ROLE("u", "\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/m\"],\"apiGroups\":[\"\"]"), 422,
     "/details/causes/1/field", "\"rules[0].nonResourceURLs\""},
    {"role-no-names", "POST", ROLES, NULL,
     ROLE("n", "\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"resourceNames\":[]"), 201, "/rules/0/resourceNames",
     ""},
    {"binding-defaults", "POST", BINDINGS, NULL, BINDING("b", "\"kind\":\"Role\",\"name\":\"r\"", "\"kind\":\"User\""), 201,
     "/subjects/0/apiGroup", "\"rbac.authorization.k8s.io\""},
    {"binding-account", "POST", BINDINGS, NULL,
     BINDING("c", "\"kind\":\"Role\",\"name\":\"r\"", "\"kind\":\"ServiceAccount\",\"apiGroup\":\"\""), 201, "/subjects/0/apiGroup", ""},
    {"binding-account-group", "POST", BINDINGS, NULL,
     BINDING("d", "\"kind\":\"Role\",\"name\":\"r\"", "\"kind\":\"ServiceAccount\",\"apiGroup\":\"x\""), 422, "/details/causes/0/message",
     "\"Unsupported value: \\\"x\\\": supported values: \\\"\\\"\""},
    {"binding-kind", "POST", BINDINGS, NULL, BINDING("d", "\"kind\":\"Role\",\"name\":\"r\"", "\"kind\":\"Robot\""), 422,
     "/details/causes/0/field", "\"subjects[0].kind\""},
    {"binding-ref-kind", "POST", BINDINGS, NULL, BINDING("d", "\"kind\":\"Pod\",\"name\":\"r\"", "\"kind\":\"User\""), 422,
     "/details/causes/0/message", "\"Unsupported value: \\\"Pod\\\": supported values: \\\"Role\\\", \\\"ClusterRole\\\"\""},
    {"binding-no-ref", "POST", BINDINGS, NULL, MAP("d", ""), 422, "/details/causes/1/field", "\"roleRef.name\""},
    {"binding-ref-stays", "PATCH", BINDINGS "/b", MERGE, "{\"roleRef\":{\"name\":\"s\"}}", 422, "/details/causes/0/message",
     "\"Invalid value: {\\\"APIGroup\\\":\\\"rbac.authorization.k8s.io\\\",\\\"Kind\\\":\\\"Role\\\",\\\"Name\\\":\\\"s\\\"}: cannot "
     "change roleRef\""},
    {"binding-subjects", "PATCH", BINDINGS "/b", MERGE, "{\"subjects\":null}", 200, "/subjects", ""},
    /* what does not go together in a list or a watch is said before what may not be selected by */
    {"list-match-first", "GET", MAPS "?fieldSelector=spec.x%3D1&resourceVersionMatch=Exact", NULL, NULL, 422, "/details/causes/0/field",
     "\"resourceVersionMatch\""},
    {"list-match-all", "GET", MAPS "?resourceVersionMatch=Exact&continue=x", NULL, NULL, 422, "/details/causes/1/field",
     "\"resourceVersionMatch\""},
    {"list-initial", "GET", MAPS "?sendInitialEvents=true", NULL, NULL, 422, "/details/causes/0/field", "\"sendInitialEvents\""},
    {"list-syntax-first", "GET", MAPS "?fieldSelector=x&resourceVersionMatch=Exact", NULL, NULL, 400, "/reason", "\"BadRequest\""},
    {"list-field", "GET", MAPS "?fieldSelector=spec.y%3D1,spec.x%3D1&resourceVersion=x", NULL, NULL, 400, "/message",
     "\"\\\"spec.y\\\" is not a known field selector: only \\\"metadata.name\\\", \\\"metadata.namespace\\\"\""},
    {"watch-match-first", "GET", MAPS "?watch=true&resourceVersion=x&fieldSelector=spec.x%3D1&resourceVersionMatch=Exact", NULL, NULL, 422,
     "/details/causes/0/field", "\"resourceVersionMatch\""},
    {"watch-field-first", "GET", MAPS "?watch=true&resourceVersion=x&fieldSelector=spec.x%3D1", NULL, NULL, 400, "/reason",
     "\"BadRequest\""},
    /* ports of the node */
    {"host-port-default", "POST", PODS "?dryRun=All", NULL, TWO_PORTS("port", ",\"hostNetwork\":true", "80", "81"), 201,
     "/spec/containers/1/ports/0/hostPort", "81"},
    {"host-port-none", "POST", PODS, NULL, TWO_PORTS("port", "", "80", "80"), 201, "/spec/containers/1/ports/0/hostPort", ""},
    {"host-port-update", "PATCH", PODS "/port", MERGE, "{\"spec\":{\"hostNetwork\":true}}", 422, "/details/causes/0/message",
     "\"Duplicate value: \\\"TCP//80\\\"\""},
    {"host-port-other", "POST", PODS, NULL, TWO_PORTS("other", ",\"hostNetwork\":true", "80", "81,\"hostPort\":82"), 422,
     "/details/causes/0/field", "\"spec.containers[1].ports[0].hostPort\""},
    {"host-port-no", "POST", PODS, NULL, TWO_PORTS("other", "", "80", "81,\"hostPort\":65536"), 422, "/details/causes/0/field",
     "\"spec.containers[1].ports[0].hostPort\""},
    /* a set in another order is another one, and has its date */
    {"apply-order", "POST", MAPS, NULL, MAP("order", ",\"finalizers\":[\"a/b\",\"a/c\"]"), 201, "/metadata/managedFields/1", ""},
    {"apply-order", "PATCH", MAPS "/order?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," META_ORDER("\"a/b\",\"a/c\"") "}", 200, "/metadata/managedFields/1/time", ""},
    {"apply-order", "PATCH", MAPS "/order?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," META_ORDER("\"a/c\",\"a/b\"") "}", 200, "/metadata/managedFields/1/time",
     "\"2027-01-15T08:00:00Z\""},
    /* events */
    {"event", "POST", NEW_EVENTS, NULL, NEW_EVENT("e", "n"), 201, "/note", "\"n\""},
    {"event-fixed", "PUT", NEW_EVENTS "/e", NULL, NEW_EVENT("e", "other"), 422, "/details/causes/0/field", "\"message\""},
    {"event-other-name", "PATCH", EVENTS "/e", MERGE, "{\"message\":\"other\"}", 200, "/metadata/managedFields/0/apiVersion", "\"v1\""},
    {"event-finalizer", "PATCH", NEW_EVENTS "/e", MERGE, "{\"metadata\":{\"finalizers\":[\"plain\"]}}", 422, "/details/causes/0/field",
     "\"metadata.finalizers[0]\""},
    {"event-long-name", "POST", NEW_EVENTS, NULL, NEW_EVENT("E_", "n"), 422, "/details/causes/0/field", "\"metadata.name\""},
    {"event-old-fields", "POST", NEW_EVENTS, NULL,
     "{\"metadata\":{\"name\":\"o\"},\"eventTime\":\"2021-01-01T00:00:00.000000Z\",\"reportingController\":\"a/b\","
     "\"reportingInstance\":\"m\",\"action\":\"A\",\"reason\":\"R\",\"type\":\"Normal\",\"deprecatedCount\":2}",
     422, "/details/causes/0/field", "\"count\""},
    {"event-null", "POST", "/api/v1/namespaces/kube-system/events", NULL, "null", 422, "/details/causes/0/field",
     "\"involvedObject.namespace\""},
    {"event-applied-before", "PATCH", NEW_EVENTS "/ab?fieldManager=m", APPLY,
     "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"ab\",\"finalizers\":[\"a/b\"]},"
     "\"eventTime\":\"2021-01-01T00:00:00.000000Z\",\"reportingController\":\"a/b\",\"reportingInstance\":\"m\",\"action\":\"A\","
     "\"reason\":\"R\",\"type\":\"Normal\",\"note\":\"n\",\"regarding\":{\"namespace\":\"default\"}}",
     201, "/metadata/managedFields/0/apiVersion", "\"events.k8s.io/v1\""},
    {"event-applied-before", "PATCH", EVENTS "/ab?fieldManager=m", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"ab\",\"finalizers\":[\"a/b\"]}}", 200,
     "/metadata/managedFields/0/time", "\"2027-01-15T08:00:00Z\""},
    {"event-orphan", "DELETE", EVENTS "/e?propagationPolicy=Orphan", NULL, NULL, 200, "/status", "\"Success\""},
};

static void table(void)
{
    struct world w;
    world_open(&w, &(struct apiserver_config){.seed = 1, .no_nodes = true});
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_case("%s", rows[i].id);
        struct answer a = rows[i].type ? ask_typed(&w, rows[i].method, rows[i].target, rows[i].type, rows[i].body)
                                       : ask(&w, rows[i].method, rows[i].target, rows[i].body);
        CHECK_INT(a.status, rows[i].status);
        if (*rows[i].pointer)
            CHECK_SLICE(json_raw(json_pointer(a.json, slice_of(rows[i].pointer))), slice_of(rows[i].want));
    }
    world_close(&w);
}

/* The object that ends the initial events is one that says nothing, as its kind prints it. */
static void first_bookmark(void)
{
    struct world w;
    struct stream s;
    world_open(&w, NULL);
    test_case("first-bookmark");
    stream_open(&s, &w, PODS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    stream_look(&s);
    struct json doc;
    CHECK(json_parse(&doc, s.last, &w.mem, NULL));
    CHECK_SLICE(json_raw(json_pointer(json_root(&doc), SLICE("/object/spec"))), SLICE("{\"containers\":null}"));
    stream_close(&s);
    world_close(&w);
}

/* What was before the server started is known only as it is now. */
static void no_past(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("no-past");
    CHECK_INT(ask(&w, "GET", MAPS "?resourceVersion=1&resourceVersionMatch=Exact", NULL).status, 410);
    world_close(&w);
}

/* Who is bound to what, as kubectl get -o wide prints it. */
static void binding_columns(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("default-columns-empty");
    CHECK_SLICE(json_raw(json_get(ask_accept(&w, ROLES, TABLE).json, "rows")), SLICE("null"));
    test_case("binding-columns");
    CHECK_SLICE(json_raw(json_get(ask_accept(&w, BINDINGS, TABLE).json, "rows")), SLICE("[]"));
    ask(&w, "POST", BINDINGS,
        "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"u\"},"
        "{\"kind\":\"User\",\"name\":\"v\"},{\"kind\":\"ServiceAccount\",\"name\":\"s\",\"namespace\":\"n\"}]}");
    struct answer a = ask_accept(&w, BINDINGS "/b", TABLE);
    static const char *const cells[] = {"\"b\"", "\"Role/r\"", NULL, "\"u, v\"", "\"\"", "\"n/s\""};
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        if (cells[i])
            CHECK_SLICE(json_raw(json_pointer(a.json, arena_printf(&w.mem, "/rows/0/cells/%zu", i))), slice_of(cells[i]));
    world_close(&w);
}

/* When etcd alone forgets, lists of the past and their tokens are expired; watches begin where they always did. */
static void compacted_lists(void)
{
    struct world w;
    struct stream s;
    world_open(&w, NULL);
    test_case("compacted-lists");
    for (const char *name = "abc"; *name; name++)
        ask(&w, "POST", MAPS, arena_printf(&w.mem, MAP("%c", ""), *name).ptr);
    struct answer a = ask(&w, "GET", MAPS "?limit=1", NULL);
    struct slice token = text(a, &w, "metadata.continue"), rv = text(a, &w, "metadata.resourceVersion");
    ask(&w, "DELETE", MAPS "/b", NULL);
    apiserver_compact_lists(w.server);
    a = ask(&w, "GET", arena_printf(&w.mem, MAPS "?limit=1&continue=%.*s", SLICE_ARG(token)).ptr, NULL);
    CHECK_INT(a.status, 410);
    token = text(a, &w, "metadata.continue");
    a = ask(&w, "GET", arena_printf(&w.mem, MAPS "?limit=1&continue=%.*s", SLICE_ARG(token)).ptr, NULL);
    CHECK_SLICE(json_raw(json_pointer(a.json, SLICE("/items/0/metadata/name"))), SLICE("\"c\""));
    stream_open(&s, &w, arena_printf(&w.mem, MAPS "?watch=true&resourceVersion=%.*s", SLICE_ARG(rv)).ptr);
    CHECK_SLICE(stream_look(&s), SLICE("DELETED b"));
    stream_close(&s);
    test_case("compacted-events"); /* no cache knows of them */
    stream_open(&s, &w, arena_printf(&w.mem, EVENTS "?watch=true&resourceVersion=%.*s", SLICE_ARG(rv)).ptr);
    CHECK_SLICE(stream_look(&s), SLICE("ERROR Expired"));
    stream_close(&s);
    CHECK_INT(ask(&w, "GET", arena_printf(&w.mem, EXACT "%.*s", SLICE_ARG(rv)).ptr, NULL).status, 410);
    rv = text(ask(&w, "GET", MAPS, NULL), &w, "metadata.resourceVersion");
    CHECK_INT(ask(&w, "GET", arena_printf(&w.mem, EXACT "%.*s", SLICE_ARG(rv)).ptr, NULL).status, 200);
    world_close(&w);
}

/* The selector of a service is printed in the order of its keys. */
static void sorted_selector(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("sorted-selector");
    ask(&w, "POST", SERVICES, "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":1}],\"selector\":{\"b\":\"1\",\"a\":\"2\"}}}");
    struct answer a = ask_accept(&w, SERVICES "/s", TABLE);
    CHECK_SLICE(json_raw(json_pointer(a.json, SLICE("/rows/0/cells/6"))), SLICE("\"a=2,b=1\""));
    world_close(&w);
}

/* A namespace that ends loses its pods first: what they may need stays as long as they do. */
static void pods_first(void)
{
    struct world w;
    world_open(&w, &(struct apiserver_config){.seed = 1, .no_nodes = true});
    test_case("pods-first");
    ask(&w, "POST", "/api/v1/namespaces", MAP("end", ""));
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/end/configmaps", MAP("m", "")).status, 201);
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/end/pods",
                  "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"a/b\"]},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}")
                  .status,
              201);
    struct answer a = ask(&w, "DELETE", "/api/v1/namespaces/end", NULL);
    CHECK_INT(a.status, 200);
    CHECK(!json_there(json_pointer(a.json, SLICE("/metadata/deletionGracePeriodSeconds"))));
    world_sleep(&w, 60000);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/end/configmaps/m", NULL).status, 200);
    CHECK_INT(ask_typed(&w, "PATCH", "/api/v1/namespaces/end/pods/p", MERGE, "{\"metadata\":{\"finalizers\":null}}").status, 200);
    world_sleep(&w, 60000);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/end", NULL).status, 404);
    world_close(&w);
}

/* A second deletion with less time counts from the first one, and leaves a second when that is over. */
static void shorter_grace(void)
{
    struct world w;
    world_open(&w, &(struct apiserver_config){.seed = 1, .no_nodes = true});
    test_case("shorter-grace");
    ask(&w, "POST", PODS,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    struct answer a = ask(&w, "DELETE", PODS "/p", NULL);
    CHECK_SLICE(text(a, &w, "metadata.deletionTimestamp"), SLICE("2027-01-15T08:00:30Z"));
    world_sleep(&w, 5000);
    a = ask(&w, "DELETE", PODS "/p?gracePeriodSeconds=20", NULL);
    CHECK_SLICE(text(a, &w, "metadata.deletionTimestamp"), SLICE("2027-01-15T08:00:20Z"));
    CHECK_INT(whole(a, "metadata.deletionGracePeriodSeconds"), 20);
    world_sleep(&w, 10000);
    a = ask(&w, "DELETE", PODS "/p?gracePeriodSeconds=10", NULL);
    CHECK_SLICE(text(a, &w, "metadata.deletionTimestamp"), SLICE("2027-01-15T08:00:15Z"));
    CHECK_INT(whole(a, "metadata.deletionGracePeriodSeconds"), 1);
    CHECK_INT(ask(&w, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL).status, 200);
    CHECK_INT(ask(&w, "GET", PODS "/p", NULL).status, 404);
    world_close(&w);
}

int main(void)
{
    shorter_grace();
    pods_first();
    sorted_selector();
    binding_columns();
    compacted_lists();
    table();
    first_bookmark();
    no_past();
    return test_done();
}
