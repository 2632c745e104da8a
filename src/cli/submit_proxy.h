/* Questions to a dashboard through the API server's proxy, one at a time: for who can reach no head, as most can from outside. */
#ifndef MOBULA_CLI_SUBMIT_PROXY_H
#define MOBULA_CLI_SUBMIT_PROXY_H

#include <mobula/heads.h>

struct submit_proxy {
    struct kube_client *client;
    struct slice path; /* "/api/v1/namespaces/NS/pods/POD:PORT/proxy" */
    /* private: the question under way */
    ray_dash_done *done; /* NULL: none is */
    ray_dash_text *text;
    void *owner;
    enum ray_dash_call call;
    uint64_t serial; /* its number: answers to earlier ones are nobody's any more */
    struct ray_log_text log;
    bool malformed;
};

/* As ray_dash_ask and ray_dash_forget; of `to` only the receiver counts. */
bool submit_proxy_ask(struct submit_proxy *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct now now,
                      struct err *e);
void submit_proxy_forget(struct submit_proxy *p);

#endif
