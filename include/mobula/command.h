/* command: the parts that commands share: the table of flags and their values, files and output, findings about a manifest, questions to
 * the API server, and the turns of a process that runs until a signal comes. Texts are UTF-8, times milliseconds; results lie in the arena
 * that the caller gives. A function that fails returns false (or NULL) and sets *e; only those that say so print. */
#ifndef MOBULA_COMMAND_H
#define MOBULA_COMMAND_H

#include <mobula/base.h>
#include <mobula/json.h>
#include <mobula/kube.h>
#include <mobula/net.h>
#include <mobula/operator.h>
#include <mobula/ray.h>
#include <mobula/yaml.h>

/* ---- flags ---- */

/* The one parser of command-line flags. A command describes its flags in a table and gets its options filled in; the same table
 * prints its usage.
 *
 *     --name VALUE   --name=VALUE   --switch   --switch=false   -f VALUE
 *
 * -n and --namespace are one flag with one row, and so are -o and --output. Of other words a command takes at most one. A list that is
 * given twice has the entries of both. Any other flag that is given twice with different values is an error. */

enum flag_type {
    FLAG_SWITCH,   /* bool */
    FLAG_TEXT,     /* struct slice; a NUL stands behind it */
    FLAG_LIST,     /* struct slice: entries joined by commas; given again: the entries of both lists, each once */
    FLAG_TEXTS,    /* struct flag_texts: may be given again and again */
    FLAG_INT,      /* int64_t, not negative */
    FLAG_DURATION, /* int64_t, milliseconds: "500ms", "5s", "1m30s", "2h", "0" */
    FLAG_TLS,      /* no field: "1.2" or "1.3" is set for the whole process */
    FLAG_EACH,     /* stands for a row for each that flags.each makes; `at` is for those */
};

/* The row for commands that make or accept connections. */
#define TLS_FLAG                                                                                                                           \
    {                                                                                                                                      \
        "tls-min-version", FLAG_TLS, 0, "1.2|1.3"                                                                                          \
    }

enum { FLAG_TEXTS_MAX = 64, FLAGS_GIVEN_MAX = 128 };
struct flag_texts {
    struct slice list[FLAG_TEXTS_MAX];
    uint32_t count;
};

struct flag {
    const char *name;  /* without dashes; of one letter: given as -f */
    uint8_t type;      /* enum flag_type */
    uint16_t at;       /* offsetof the field in the command's options, which hold the default */
    const char *value; /* the value's name in the usage: "NS[,NS…]"; NULL for switches */
};                     /* its help is a line of EMBED_FLAGS */

/* Makes row number n of those that a row of FLAG_EACH stands for out of that row, and its help. False: there are no more. */
typedef bool flag_each(size_t n, struct flag *row, const char **help);

struct flags {
    const char *usage;              /* "mobula validate -f FILE [-f FILE …]" */
    const struct flag *list, *more; /* more: that several commands have */
    uint16_t count, more_count;
    uint16_t word;       /* offsetof the slice for a word that is no flag, which is never the first field; 0: none is taken */
    flag_each *each;     /* of a list with a row of FLAG_EACH */
    const char *section; /* of EMBED_FLAGS; NULL: the command's name */
};

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 }; /* exit statuses of every command */

/* Fills options from argv[1] on. False: the command ends with *status, which is STATUS_OK after --help (printed on stdout) or STATUS_USAGE
 * after a mistake (printed on stderr with where the usage is). */
bool flags_parse(const struct flags *f, int argc, char **argv, void *options, int *status);
/* The same without printing; *help is set by --help or -h and ends the reading. */
bool flags_read(const struct flags *f, int argc, char **argv, void *options, bool *help, struct err *e);
bool flags_has(const struct flags *f, struct slice name);
/* The value of options for a text, or for a switch as "true" or "false"; SLICE_NONE: there is no such flag, or it is of another type. */
struct slice flags_value(const struct flags *f, const void *options, const char *name);
/* For what the table cannot say ("--replicas must be at least 1"): prints it on stderr, and which command prints the usage, so that the
 * mistake is not lost above a page of flags. Returns STATUS_USAGE. */
int flags_wrong(const struct flags *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- embed ---- */

/* Files of the repository that are part of the binary, byte for byte: airgap/crds/, airgap/install/, airgap/patches/ and the texts of
 * src/cli/, src/dns/, src/egress/ and src/schema/, all of them compressed as one. */

#define EMBED_EGRESS "src/egress/domains.txt"
#define EMBED_CRD_CLOUD "airgap/crds/clouds.mobula.dev.yaml" /* these three are for the cluster of a control plane */
#define EMBED_CRD_COMPUTE_CONFIG "airgap/crds/computeconfigs.mobula.dev.yaml"
#define EMBED_CRD_WORKLOAD "airgap/crds/workloads.mobula.dev.yaml"
#define EMBED_FLAGS "src/cli/flags.txt"          /* help of commands and flags: its first lines say how */
#define EMBED_COMPLETE "src/cli/complete_%s.txt" /* bash, zsh, fish */

/* Each file's path and its text, a NUL behind both. */
struct slice embed_all(struct arena *a);
/* The text of one of them, which must be there: a path from the repository's root. */
struct slice embed_file(struct slice all, const char *path);
/* The same, empty if it is not there. */
struct slice embed_optional(struct slice all, const char *path);
/* The definition of a kind, by its struct kind.plural. */
struct slice embed_definition(struct slice all, const char *plural);

/* ---- io ---- */

/* Files that a command reads, and its output. */

/* Opens those of 0, 1 and 2 that were given to us closed, so that no socket or file becomes one of them and gets what is printed. As
 * before, what is read from them or written to them is an error. */
bool cli_hold_standard(struct err *e);
/* The whole file, or standard input for "-", at most LIMIT_YAML_INPUT bytes. The error names the file. */
bool cli_read_file(struct slice path, struct arena *a, struct slice *out, struct err *e);
/* The same with another limit, and its name for the error. */
bool cli_read_most(struct slice path, size_t max, const char *limit, struct arena *a, struct slice *out, struct err *e);
enum { CLI_HINT_MS = 2000 }; /* without an answer for so long, a line says so */
void cli_say_silent(struct slice place, struct slice why, int64_t timeout_ms);
/* All of it to standard output; what cannot be written is an error that is printed. */
bool cli_print(struct slice text);
/* A line to standard output, at once: progress of a change. */
void cli_say(struct slice line);
/* "mobula: TEXT" on stderr. Returns STATUS_ERROR. */
int cli_fail(const struct err *e);

/* ---- settings ---- */

/* Values of flags that several commands take. */

/* --autoscaler=operator | sidecar | off, as the operator, install and explain take it. */
enum cli_scaler { CLI_SCALER_OPERATOR, CLI_SCALER_SIDECAR, CLI_SCALER_OFF };
bool cli_scaler(struct slice text, enum cli_scaler *out, struct err *e);

/* --ray-access=direct | service | proxy, as the operator and install take it. */
bool cli_access(struct slice text, enum operator_access *out, struct err *e);

/* --kinds=all | ray.io | legacy, as the operator and install take it. */
bool cli_kinds(struct slice text, enum operator_kinds *out, struct err *e);

/* A flag for each kind that an installation may be without, as the operator and install take it: of the n-th of these kinds the row of the
 * table, which puts its switch into an array by place in kinds[], but for the help. NULL: there are no more. */
struct kind;
const struct kind *cli_kind_switch(size_t n, struct flag *row);
/* The operator's flags for settings: the n-th row out of one for an array of struct operator_configmap by place in setting_kinds[]. False:
 * there are no more. */
bool cli_setting_flag(size_t n, struct flag *row);

/* "https://HOST[:PORT][/PREFIX]" of a control plane. No message quotes it, because it may contain a user and a password. */
bool cli_plane_url(struct slice url, struct slice *host, uint16_t *port, struct err *e);
/* --cloud-deployment-id of the operator and of install. */
bool cli_cloud_id(struct slice text, struct err *e);

/* --cluster-domain of the operator and of explain: names of services end in it. */
bool cli_route_hosts(struct slice hosts, struct err *e); /* patterns of hosts that the CA of routes signs for */
bool cli_domain(struct slice text, struct err *e);

/* --namespace of the operator and --watch-namespace of install: "a,b". The names lie in the text. */
enum { CLI_NAMESPACES_MAX = 16 };
_Static_assert(CLI_NAMESPACES_MAX *LIMIT_KINDS <= LIMIT_KUBE_WATCHES, "each kind is watched in each namespace");
struct cli_namespaces {
    struct slice list[CLI_NAMESPACES_MAX];
    uint32_t count;
};
bool cli_namespaces(struct slice text, const char *flag, struct cli_namespaces *out, struct err *e);
bool cli_namespace(struct slice name, const char *flag, struct err *e); /* whether it can be one */

/* The items of a flag that is given again and again, or as "a,b", or both. */
struct cli_items {
    const struct flag_texts *of;
    uint32_t next;
    struct slice rest;
};
bool cli_items_next(struct cli_items *it, struct slice *item);

/* --egress-allow=HOST[:PORT][,…] of the operator and of egress: they go on the allowlist. */
bool cli_egress_entries(const struct flag_texts *given, bool strict, struct net_allow *allow, struct err *e);

/* --tools=configmap | image:REF | none, as the operator and explain take it. */
struct ray_options;
bool cli_tools(struct slice text, struct ray_options *out, struct err *e);
/* cpu=100m,memory=90Mi, one of the two, or empty, which leaves *out as it is: --tools-resources and others. */
struct ray_tools_resources;
bool cli_resources(const char *flag, struct slice text, struct ray_tools_resources *out, struct err *e);
/* --submitter=operator | pod, beside those tools, as the operator and install take it. */
bool cli_submitter(struct slice text, const struct ray_options *tools, bool *pods, struct err *e);
/* --namespace and --all-namespaces. */
bool cli_projects(struct slice given, bool all, struct slice otherwise, struct cli_namespaces *out, struct err *e);
/* --tls-name: what a certificate of the control plane's own making is for, "localhost" before them. */
bool cli_server_names(struct slice text, struct arena *a, const struct slice **out, uint32_t *count, struct err *e);
/* Environment variables of KubeRay's operator, for Deployments that were written for it. */
bool cli_kuberay_settings(struct operator_options *to, struct err *e);

/* ---- findings ---- */

/* Errors and oddities of a manifest: gathered from several sources, said once, in the order of lines. */

enum { FINDINGS_MAX = 256 }; /* of one document; more are counted */

struct finding {
    bool warning;
    uint32_t source;   /* which of several told of it */
    struct slice path; /* "spec.workerGroupSpecs[1].minReplicas" */
    struct slice text; /* "is 5, above maxReplicas 3: lower it or raise maxReplicas" */
    size_t offset;     /* of the value in the document's JSON text */
    uint32_t below;    /* lines below it, where the value is a text of many lines and the place is in it */
};

struct findings {
    struct arena *arena;
    struct schemas *schemas; /* the values to compare with, once asked for */
    struct slice prefix;     /* "items[2].", in front of the paths of what is added now */
    struct finding list[FINDINGS_MAX];
    uint32_t count, beyond;
    uint32_t source;           /* of what is added now */
    uint32_t errors, warnings; /* in all, those beyond too */
};

/* The same thing may be found by several sources: what the first says about a path stands, all of it, and others are passed over. path and
 * text lie in the arena or longer. */
void findings_add(struct findings *f, bool warning, struct slice path, size_t offset, struct slice text);
/* The same for a place in a text of many lines. */
void findings_add_below(struct findings *f, struct slice path, size_t offset, uint32_t below, struct slice text);
/* Whether no more is kept: then one more is counted, and need not be put into words. */
bool findings_full(struct findings *f, bool warning);
/* The findings of ray_read or ray_notes. */
void findings_add_spec(struct findings *f, bool warning, const struct spec_errors *errors);
/* "file:line: path: text" for each, "file:line: warning: path: text" for warnings. */
void findings_write(struct findings *f, const char *file, const struct yaml_doc *doc, struct buf *out);

/* "file:line: text" for what kept a file or document from being read. line 0: the error's text begins with "line N, column N: ". */
void findings_error(const char *file, uint32_t line, const struct err *e, struct buf *out);

/* Ends the line that begins at `from`: what somebody else wrote in it can neither steer a terminal nor make a line of its own. */
void findings_end_line(struct buf *out, size_t from);

/* Forgets what was found, and keeps the memory and the schemas. */
void findings_clear(struct findings *f);

/* ---- diff ---- */

/* Two objects in JSON as a diff of their YAML, in the form of `diff -u`. False: *e says why not. */
bool diff_yaml(struct slice before, struct slice after, struct slice title_before, struct slice title_after, struct buf *out,
               struct err *e);

/* ---- ask ---- */

/* A command's conversation with the API server: one question at a time, each waited for. */

enum {
    ASK_MS = 15 * 1000, /* for one answer, from DNS to its last byte */
};

/* The row of flag --timeout; at: the offset of an int64_t that becomes ask.timeout_ms. */
#define ASK_TIMEOUT_FLAG(at)                                                                                                               \
    {                                                                                                                                      \
        "timeout", FLAG_DURATION, at, "TIME"                                                                                               \
    }

struct ask {
    struct net_allow *allow;
    struct kube_config *config;
    struct loop *loop;
    struct kube_client *client;
    int64_t timeout_ms; /* of a request, and of all attempts until the first answer; set before ask_open; 0: ASK_MS */
    int64_t until_ms;   /* deadline of the first answer, monotonic; 0: no request was sent */
    bool heard, told;   /* heard: a request was answered; told: the reason for no answer was printed */
    int signal;         /* number of the signal that ended a request or a pause; 0: none */
};
/* kubeconfig and context as the operator's flags have them; empty: not given. ask_close also after a failure. */
bool ask_open(struct ask *k, struct slice kubeconfig, struct slice context, struct err *e);
/* The same with another server, which is called in the same way. */
bool ask_open_url(struct ask *k, const struct kube_config_url *o, struct err *e);
void ask_close(struct ask *k);

struct ask_answer {
    int code; /* HTTP status */
    enum kube_reason reason;
    bool object;                                  /* a Status object says so: the API server itself, and nobody behind it */
    bool manager_conflict, namespace_terminating; /* causes that the Status names */
    struct slice body;                            /* in the arena given */
    struct slice message;                         /* of what is not 2xx: the server's words */
};
/* The refusing part and its words: "403 Forbidden: …". The message of an answer without a Status object is the HTTP status alone. */
enum { ASK_WORDS = ERR_TEXT_MAX + 64 };
const char *ask_words(const struct ask_answer *answer, char out[ASK_WORDS]);
/* header: one more, for whom the server passes the request on to; NULL: none. False: no answer came, and *e says at which step it failed.
 */
bool ask_get(struct ask *k, struct slice path, const struct http_header *header, struct arena *a, struct ask_answer *out, struct err *e);
/* Sends a JSON body to be created, once: with ?dryRun=All, or a review, it changes nothing. warnings: lines of what the server warned of;
 * may be NULL. */
bool ask_post(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct slice *warnings,
              struct err *e);
/* The server's own clock, of which every account may ask. False: it does not tell, and *out and *e say why. review: of the account that
 * asks.
 */
bool ask_time(struct ask *k, struct arena *a, int64_t *wall_us, struct json *review, struct ask_answer *out, struct err *e);
/* Server-side apply, which may be sent again: the path has fieldManager, and force or dryRun. And a DELETE with its options, and a PUT with
 * its resourceVersion. */
bool ask_apply(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool ask_merge(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e); /* RFC 7386 */
bool ask_put(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool ask_delete(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
/* The same as ask_get for an answer without bound, of which each part goes to piece(owner, 0, …) as it comes: out->body is empty then. */
bool ask_text(struct ask *k, struct slice path, const struct http_header *header, kube_piece *piece, void *owner, struct arena *a,
              struct ask_answer *out, struct err *e);
/* False: a signal has ended it. */
bool ask_pause(struct ask *k, int64_t ms);

/* ---- way ---- */

/* Connection settings of a server that a command calls: trusted CAs, proxy and entry in the allowlist. */

/* Loads trusted CAs from a PEM file; empty: this machine's. flag: the setting's name, for the error. NULL with *e. */
struct tls_trust *way_trust(struct slice file, const char *flag, struct arena *a, struct err *e);
/* Adds the server to the allowlist, finds its proxy in the environment, parses it into *proxy and adds it, too. setting: the server's, for
 * the error. Texts lie in a. */
bool way_find(struct net_allow *allow, struct endpoint *at, struct net_proxy *proxy, const char *setting, struct arena *a, struct err *e);

/* ---- daemon ---- */

/* Commands that run until a signal comes. */

struct cli_daemon {
    void (*renew)(void *of, struct now now); /* SIGHUP */
    void (*wake)(void *of, struct now now);  /* before links are stepped; NULL: nothing */
    int64_t (*step)(void *of, struct now now);
    bool (*stop)(void *of, struct now now); /* true: nothing is left to wait for */
    int64_t stop_ms;                        /* the longest that is waited for it */
};
void cli_daemon_run(const struct cli_daemon *d, struct loop *l, void *of);
/* The exit status; an error is printed. */
int cli_daemon_end(const struct flags *f, bool started, const struct err *e);
bool cli_log(struct slice level, struct slice format, struct err *e); /* --log-level, --log-format */
/* Empty address: nowhere. */
bool cli_listen(struct loop *l, struct slice address, struct link_accept *accept, const char *flag, struct err *e);
bool cli_listen_tls(struct loop *l, struct slice address, struct link_accept *accept, struct tls_identity *const *identity,
                    const char *flag, struct err *e);

/* ---- sandbox ---- */

/* The sandbox of commands that run until a signal comes: from its start on the process may make only the system calls of a table, some
 * with certain arguments only. Any other one ends it (SIGSYS). There is no way out of it, for threads and children neither. */

/* One instruction of a filter, as the kernel has it: struct sock_filter of linux/filter.h. */
struct sandbox_op {
    uint16_t code;
    uint8_t then, otherwise; /* instructions to leave out when a comparison holds, and when not */
    uint32_t value;
};
enum { SANDBOX_OPS_MAX = 256 };
size_t sandbox_filter(struct sandbox_op out[SANDBOX_OPS_MAX]);

/* --sandbox=auto|on|off. plugin: the process runs other programs, which a filter would end. *state says in words what is the case now. With
 * auto a kernel that has no filters, and a plugin, are warned of; with on they are an error. */
bool sandbox_enter(struct slice mode, bool plugin, const char **state, struct err *e);

/* NULL, or why this kernel has no such filter. */
const char *sandbox_impossible(void);

#define SANDBOX_FLAG(at)                                                                                                                   \
    {                                                                                                                                      \
        "sandbox", FLAG_TEXT, at, "auto|on|off"                                                                                            \
    }

#endif
