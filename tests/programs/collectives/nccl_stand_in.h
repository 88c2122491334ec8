/* What the stand-in for NCCL has, with the numbers of nccl.h. */
#pragma once
#include <stddef.h>

struct ncclComm;
typedef struct ncclComm *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
/* The head of ncclConfig_t. */
struct ncclConfig { size_t size; unsigned magic, version; int blocking; };
enum { ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage };
enum { ncclInProgress = 7 };
enum { ncclInt32 = 2, ncclInt64 = 4, ncclFloat16 = 6, ncclFloat32 = 7 };
enum { ncclSum, ncclProd, ncclMax };

int ncclGetVersion(int *version);
int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, const struct ncclConfig *config);
int ncclCommInitAll(ncclComm_t *comms, int devices, const int *list);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *to, void *config);
int ncclCommInitRankScalable(ncclComm_t *to, int ranks, int rank, int id_count, ncclUniqueId *ids, struct ncclConfig *config);
int ncclCommShrink(ncclComm_t comm, int *excluded, int excluded_count, ncclComm_t *to, struct ncclConfig *config, int flags);
int ncclCommGrow(ncclComm_t comm, int ranks, const ncclUniqueId *id, int rank, ncclComm_t *to, struct ncclConfig *config);
int ncclCommCount(const struct ncclComm *comm, int *count);
int ncclCommUserRank(const struct ncclComm *comm, int *rank);
int ncclCommGetAsyncError(ncclComm_t comm, int *error);
int ncclCommFinalize(ncclComm_t comm);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommAbort(ncclComm_t comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream);
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t comm, void *stream);
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, ncclComm_t comm, void *stream);
int ncclAllGather(const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream);
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream);
int ncclSend(const void *send, size_t count, int type, int peer, ncclComm_t comm, void *stream);
int ncclRecv(void *recv, size_t count, int type, int peer, ncclComm_t comm, void *stream);
