/* Answers of a GCS, right and wrong ones, for canned.h. */
#ifndef MOBULA_TEST_GCS_H
#define MOBULA_TEST_GCS_H

#include "canned.h"

/* The answer of Ray's GCS: SETTINGS, their acknowledgement, HEADERS, one message of gRPC, HEADERS with the status. */
#define GCS_SETTINGS "\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0"
#define GCS_HEADERS "\0\0\1\1\4\0\0\0\1\x88"
#define GCS_TRAILERS                                                                                                                       \
    "\0\0\17\1\5\0\0\0\1\x40\13grpc-status\1"                                                                                              \
    "0"
#define GCS_MESSAGE(status) "\0\0\7\0\0\0\0\0\1\0\0\0\0\2\10" status
__attribute__((unused)) static const struct canned_answer gcs_serving = {
    .bytes = SLICE(GCS_SETTINGS GCS_HEADERS GCS_MESSAGE("\1") GCS_TRAILERS)};
__attribute__((unused)) static const struct canned_answer gcs_not_serving = {
    .bytes = SLICE(GCS_SETTINGS GCS_HEADERS GCS_MESSAGE("\2") GCS_TRAILERS)};
__attribute__((unused)) static const struct canned_answer gcs_silent = {.bytes = SLICE_NONE};
__attribute__((unused)) static const struct canned_answer gcs_nothing = {.bytes = SLICE(GCS_SETTINGS)};
__attribute__((unused)) static const struct canned_answer gcs_http1 = {.bytes =
                                                                           SLICE("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")};

#endif
