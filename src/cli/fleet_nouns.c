/* mobula cloud, compute-config, job and node: the objects of a control plane. Each command is a table of verbs over one kind of object. */
#include "cli.h"
#include "fleet.h"

static const struct flag cloud_list[] = {
    {"f", FLAG_TEXT, FLEET_AT(file), "FILE"},
    {"provider", FLAG_TEXT, FLEET_AT(site.provider), "aws|gcp|azure|generic"},
    {"compute-stack", FLAG_TEXT, FLEET_AT(site.stack), "k8s"},
    {"region", FLAG_TEXT, FLEET_AT(site.region), "NAME"},
    {"kubernetes-zones", FLAG_LIST, FLEET_AT(site.zones), "ZONE[,…]"},
    {"kubernetes-namespaces", FLAG_TEXT, FLEET_AT(site.spaces), "NS"},
    {"kubernetes-ingress-external-address", FLAG_TEXT, FLEET_AT(site.address), "HOST"},
    {"networking-mode", FLAG_TEXT, FLEET_AT(site.networking), "private|public"},
    {"cloud-storage-bucket-name", FLAG_TEXT, FLEET_AT(site.bucket), "s3://NAME"},
    {"s3-bucket-id", FLAG_TEXT, FLEET_AT(site.bucket), "NAME"},
    {"cloud-storage-bucket-endpoint", FLAG_TEXT, FLEET_AT(site.endpoint), "URL"},
    {"file-storage-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"efs-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"filestore-instance-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"nfs-mount-target", FLAG_TEXT, FLEET_AT(site.nfs_server), "HOST"},
    {"nfs-mount-path", FLAG_TEXT, FLEET_AT(site.nfs_path), "PATH"},
    {"operator-identity", FLAG_TEXT, FLEET_AT(site.identity), "USER"},
    {"force", FLAG_SWITCH, FLEET_AT(force), NULL},
};
static const struct flag config_list[] = {{"f", FLAG_TEXT, FLEET_AT(file), "FILE"}};
static const struct flag node_list_flags[] = {{"cloud", FLAG_TEXT, FLEET_AT(cloud), "NAME"}};

static const struct cli_fleet_command cloud = {
    {"Cloud",
     "cloud",
     &hub_clouds,
     NULL,
     {{"NAME", FLEET_NAME},
      {"PROVIDER", "spec.provider"},
      {"REGION", "spec.region"},
      {"HEALTH", FLEET_HEALTH},
      {"LAST CONTACT", "status.lastContactTime"},
      {"DEPLOYMENT ID", "status.deploymentId"}}},
    {"mobula cloud register|list|get|update|verify|delete|config get|config update [[--name] NAME] [FLAG…]", cloud_list, cli_fleet_flags,
     COUNT_OF(cloud_list), FLEET_FLAGS, FLEET_AT(word), NULL, NULL},
    {{"register", cli_cloud_register},
     {"list", cli_fleet_show},
     {"get", cli_fleet_show},
     {"config get", cli_cloud_config},
     {"config update", cli_cloud_update},
     {"update", cli_cloud_update},
     {"verify", cli_cloud_verify},
     {"delete", cli_cloud_delete}},
};
static const struct cli_fleet_command config = {
    {"ComputeConfig",
     "compute-config",
     &hub_configs,
     NULL,
     {{"NAME", FLEET_NAME}, {"CLOUD", "spec.cloud"}, {"HEAD", FLEET_HEAD}, {"CREATED", "metadata.creationTimestamp"}}},
    {"mobula compute-config create|list|get|archive|render|check [[--name] NAME] [FLAG…]", config_list, cli_fleet_flags,
     COUNT_OF(config_list), FLEET_FLAGS, FLEET_AT(word), NULL, "compute-config create"},
    {{"create", cli_config_create}, {"list", cli_fleet_show}, {"get", cli_config_get}, {"archive", cli_config_archive}},
};
static const struct cli_fleet_command job = {
    {"Workload",
     "job",
     &hub_workloads,
     NULL,
     {{"NAME", FLEET_NAME},
      {"CLOUD", "spec.cloud"},
      {"STATE", FLEET_STATE},
      {"REASON", "status.reason"},
      {"RAY", "status.ray.health"},
      {"CREATED", "metadata.creationTimestamp"}}},
    {"mobula job submit|list|status|logs|wait|terminate|delete [[--name] NAME] [FLAG…] [-- COMMAND…]", cli_job_flags, cli_fleet_flags,
     JOB_FLAGS, FLEET_FLAGS, FLEET_AT(word), NULL, NULL},
    {{"submit", cli_job_submit},
     {"list", cli_fleet_show},
     {"status", cli_job_status},
     {"logs", cli_job_logs},
     {"wait", cli_job_wait},
     {"terminate", cli_job_terminate},
     {"delete", cli_fleet_remove}},
};
static const struct cli_fleet_command node = {
    .noun = {.kind = "Cloud", .word = "cloud", .resource = &hub_clouds},
    .flags = {"mobula node list [--cloud] NAME", node_list_flags, cli_fleet_flags, COUNT_OF(node_list_flags), FLEET_FLAGS, FLEET_AT(word),
              NULL, NULL},
    .verbs = {{"list", cli_node_list}},
};

int cli_cloud(int argc, char **argv)
{
    return cli_fleet_run(&cloud, argc, argv);
}

int cli_compute_config(int argc, char **argv)
{
    return cli_fleet_run(&config, argc, argv);
}

int cli_job(int argc, char **argv)
{
    return cli_fleet_run(&job, argc, argv);
}

int cli_node(int argc, char **argv)
{
    return cli_fleet_run(&node, argc, argv);
}
