/* The profiler of profiler_later, with bindings to CUPTI. */
//: lib libcupti_tool.so
//: lib libcupti_tool_now.so -Wl,-z,now
int cuptiSubscribe(), cuptiSubscribe_v2(), cuptiGetThreadIdType(), cuptiActivityRegisterCallbacks();
int cuptiActivityGetNextRecord(), cuptiActivityEnable(), cuptiActivityDisable(), cuptiActivityFlushAll();
#define F(name) name
#include "cupti_tool.h"
