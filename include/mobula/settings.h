/* settings: the texts in ConfigMaps of the operator's own namespace. Each has a file in src/settings with its table (struct setting_kind)
 * and a word in settings.c. The room control watches the ConfigMaps and passes their texts on; kinds use the settings in force, and decide
 * again after a change (kind.on_setting). docs/adding-a-setting.md says how to add one. */
#ifndef MOBULA_SETTINGS_H
#define MOBULA_SETTINGS_H

#include <mobula/control.h>
#include <mobula/policy.h>
#include <mobula/shape.h>

extern const struct setting_kind *const setting_kinds[]; /* ended by NULL */

/* instance_types.c */
extern const struct setting_kind setting_instance_types;
const struct shape_types *types_in_force(const struct op *op); /* NULL: not known */
/* types_in_force, or an empty list until the ConfigMap was read; NULL: it is not watched. */
const struct shape_types *types_get_or_empty(const struct op *op);
/* Applies instance types to a pod template outside of a cluster, such as a RayJob's submitter. False with *e: node_type does not exist. */
bool types_pod(const struct op *op, struct slice node_type, struct jval *template, struct arena *a, struct err *e);

/* patches.c */
extern const struct setting_kind setting_patches;
const struct shape_patches *patches_in_force(const struct op *op);                 /* NULL: there are none */
uint64_t patches_revision(const struct op *op);                                    /* changes with them; 0: there are none */
bool patches_amend(struct op *op, bool secret, struct buf *object, struct err *e); /* control_parts.amend */

/* policy.c: the policy for objects that a control plane asks for */
extern const struct setting_kind setting_policy;
void policy_in_force(const struct op *op, struct work_policy *out);
bool policy_awaited(const struct op *op);                         /* it is to be read, and nothing is known of it yet */
struct slice policy_frozen(const struct op *op, struct arena *a); /* why remote writes are frozen; .ptr NULL: they are not */
void policy_read_again(struct op *op);                            /* reads the policy file, if there is one, every POLICY_FILE_MS */
void policy_renew(struct op *op);                                 /* the next policy_read_again reads it at once */
bool policy_file_broken(const struct op *op);                     /* its content is invalid, and an earlier one is in force */

#endif
