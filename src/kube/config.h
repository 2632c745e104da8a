/* How a configuration is put together: a kubeconfig or the pod's service account is read into `struct kube_settings`, which says where
 * everything is; credentials.c loads and reloads what lies there; config.c makes the public struct of both. */
#ifndef MOBULA_KUBE_CONFIG_H
#define MOBULA_KUBE_CONFIG_H

#include <mobula/kube.h>

/* One credential: its bytes, or the file that holds them, or neither. */
struct kube_secret {
    struct slice data; /* PEM or token, decoded */
    const char *path;
    uint64_t seen; /* hash of what was last loaded; 0: nothing yet */
};

/* An exec plugin of a kubeconfig. */
struct kube_exec {
    struct slice api_version;
    const char **argv;  /* NULL: no plugin */
    const char **env;   /* NAME=value, added to ours */
    int64_t expires_us; /* of the credential it gave last; 0: it did not say */
    struct slice hint;  /* how it is installed; may be empty */
    bool interactive;   /* it may read from the terminal, which is there */
    bool always;        /* it cannot do without */
};

/* Everything points into the arena of the configuration. */
struct kube_settings {
    struct slice source, namespace_;
    struct slice server, tls_name, proxy_url;
    bool insecure;
    struct kube_secret ca, cert, key, token;
    struct kube_secret more_ca; /* beside ca, or beside the machine's own; never of an API server */
    struct slice username, password;
    struct slice as, as_uid;
    struct slice *as_groups;
    uint32_t as_group_count;
    struct http_header *as_extra; /* whole headers: Impersonate-Extra-KEY */
    uint32_t as_extra_count;
    struct kube_exec exec;
};

struct kube_config_private {
    struct arena arena;
    struct kube_settings settings;
    struct buf authorization; /* wiped before it is freed */
    int64_t reload_ms;        /* when the files are read again */
};

/* paths: a ':' list, of which files that do not exist are passed over unless `must` (one path that the user named). */
bool kube_kubeconfig_read(struct slice paths, bool must, const struct kube_config_options *o, struct arena *a, struct kube_settings *out,
                          struct err *e);
/* dir: where the kubelet puts token, ca.crt and namespace. */
bool kube_incluster_read(const char *dir, struct arena *a, struct kube_settings *out, struct err *e);
#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
struct kube_config *kube_config_incluster(const char *dir, struct err *e);

/* Loads every credential that is new or whose file holds something else now. Where one cannot be loaded, the old one stays and *e is set.
 * *changed: trust or identity are others now. */
bool kube_credentials_load(struct kube_config *c, int64_t wall_us, bool at_once, bool *changed, struct err *e);
void kube_credentials_wipe(struct kube_config *c);
/* The same when they are due (KUBE_RELOAD_MS) or now. Not for other rooms: a change is reported once, and the client must hear of it. */
bool kube_config_reload(struct kube_config *c, struct now now, bool at_once, bool *changed, struct err *e);

/* Runs an exec plugin (up to KUBE_EXEC_MS) and gives what its ExecCredential says; slices are in a. */
struct kube_exec_result {
    struct slice token, cert_pem, key_pem;
    int64_t expires_us;
};
bool kube_exec_run(const struct kube_exec *x, struct arena *a, struct kube_exec_result *out, struct err *e);
/* The second half of it: what the plugin wrote. text must stay as long as the result. */
bool kube_exec_read(const struct kube_exec *x, struct slice text, struct arena *a, struct kube_exec_result *out, struct err *e);

struct kube_url {
    bool tls;
    struct slice user; /* user:password as it stands, percent-encoded; usually empty */
    struct slice host; /* without brackets */
    uint16_t port;
    struct slice path; /* without a slash at its end */
};
/* name of the setting, for the message */
bool kube_url_parse(struct slice text, const char *what, struct kube_url *out, struct err *e);

/* The whole file in *out, whose max bounds it. */
bool kube_file_read(const char *path, struct buf *out, struct err *e);
bool kube_buf_put_secret(struct buf *b, struct slice piece); /* as buf_put, but what the buffer grows out of is wiped */
void kube_slice_wipe(struct slice s);                        /* for bytes that this room put into an arena or a buffer of its own */

#endif
