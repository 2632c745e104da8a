/* Shared by the files of the GCS client: the messages that go and come. Field numbers are those of Ray's autoscaler.proto. */
#ifndef MOBULA_RAY_GCS_H
#define MOBULA_RAY_GCS_H

#include <mobula/heads.h>

#define GCS_SERVICE "/ray.rpc.autoscaler.AutoscalerStateService/"

/* A whole request; what does not fit is left out. */
void gcs_write_report(const struct ray_report *r, int64_t version, struct buf *out);
/* Likewise; false when it does not fit, or is malformed. */
bool gcs_write_drain(const struct ray_drain *d, struct buf *out, struct err *e);
/* Each reads a whole reply. */
bool gcs_read_drain(struct slice reply, bool *accepted, struct slice *words, struct err *e);
bool gcs_read_health(struct slice reply, struct err *e);

#endif
