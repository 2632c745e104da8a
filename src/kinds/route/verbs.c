/* The verbs of routes. Those that create and change one are their owners'. */
#include <mobula/route.h>

const struct verb ingress_delete = {"delete-ingress", VERB_DELETE, {"FailedToDeleteIngress"}};
const struct verb gateway_delete = {"delete-gateway", VERB_DELETE, {"FailedToDeleteGateway"}};
const struct verb httproute_delete = {"delete-httproute", VERB_DELETE, {"FailedToDeleteHTTPRoute"}};
const struct verb grpcroute_delete = {"delete-grpcroute", VERB_DELETE, {"FailedToDeleteGRPCRoute"}};
const struct verb virtualservice_delete = {"delete-virtualservice", VERB_DELETE, {"FailedToDeleteVirtualService"}};
const struct verb route_write_tls = {"write-route-certificate", VERB_CREATE, {"FailedToWriteCertificate"}};
