/* Folders that were packed where a job was submitted: a zip file in a ConfigMap, in the control plane's cluster first, and then where the
 * job runs. Its name and its key are made from what the workload says, so nobody has to be told them. */
#include <mobula/work.h>

bool work_folder_hash(struct slice working_dir, struct slice *hash)
{
    if (working_dir.len != strlen(WORK_FOLDER) + WORK_FOLDER_HASH || !slice_starts(working_dir, SLICE(WORK_FOLDER)))
        return false;
    struct slice hex = slice_skip(working_dir, strlen(WORK_FOLDER));
    for (size_t i = 0; i < hex.len; i++)
        if (!((hex.ptr[i] >= '0' && hex.ptr[i] <= '9') || (hex.ptr[i] >= 'a' && hex.ptr[i] <= 'f')))
            return false;
    *hash = hex;
    return true;
}

struct slice work_folder_map(struct slice uid, struct slice version, struct arena *a)
{
    return arena_printf(a, "mobula-dir-%.*s-%.*s", SLICE_ARG(uid), SLICE_ARG(slice_head(version, WORK_FOLDER_SHORT)));
}

struct slice work_folder_key(struct slice hash, struct arena *a)
{
    return arena_printf(a, "%.*s.zip", SLICE_ARG(slice_head(hash, WORK_FOLDER_SHORT)));
}

void work_folder_write(const struct work_folder *f, struct arena *a, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w,
              "{apiVersion:'v1',kind:'ConfigMap',metadata:{name:'%.*s',namespace:'%.*s',labels:{" WORK_LABEL_MANAGED_BY ":'" WORK_MANAGED_BY
              "'," WORK_LABEL_UID ":'%.*s'},ownerReferences:[{apiVersion:'%.*s',kind:'%.*s',name:'%.*s',uid:'%.*s'}]},"
              "immutable:true,binaryData:{",
              SLICE_ARG(f->name), SLICE_ARG(f->ns), SLICE_ARG(f->uid), SLICE_ARG(f->owner_version), SLICE_ARG(f->owner_kind),
              SLICE_ARG(f->owner_name), SLICE_ARG(f->owner_uid));
    jout_key(&w, work_folder_key(f->hash, a));
    jout_str(&w, f->base64);
    jout_form(&w, "}}");
}
