/* The types that nvToolsExtCuda.h wants of the driver's header, which the programs here do not need. */
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
