/* Part of wrong_uses.c: start, devices, contexts, memory. */

static void before(void) {
    C(cuDeviceGetCount, "before cuInit", &n);
    C(cuDeviceGetCount, "NULL, before cuInit", NUL);
    C(cuCtxGetCurrent, "before cuInit", &a);
    C(cuMemAlloc_v2, "before cuInit", &a, SIZE(16));
    C(cuMemFree_v2, "NULL, before cuInit", (U)0);
    C(cuGraphCreate, "before cuInit", &a, 0);
    C(cuDriverGetVersion, "NULL", NUL);
    C(cuGetErrorName, "NULL output", 1, NUL);
    C(cuGetErrorString, "unknown result", 4711, &a);
    C(cuInit, "flags 1", 1);
}

static void no_context(void) {
    DO(cuInit, 0);
    C(cuMemAlloc_v2, "no context", &a, SIZE(16));
    C(cuMemAlloc_v2, "NULL, no context", NUL, SIZE(16));
    C(cuMemAllocManaged, "no context", &a, SIZE(16), 1);
    C(cuMemAllocHost_v2, "no context", &a, SIZE(16));
    C(cuMemFree_v2, "wild, no context", (U)0x1234);
    C(cuMemFree_v2, "NULL, no context", (U)0);
    C(cuMemcpyHtoD_v2, "no context", (U)0x1234, bytes, SIZE(16));
    C(cuMemcpy, "no context", bytes, bytes + 100, SIZE(16));
    C(cuMemGetInfo_v2, "no context", &z, &y);
    C(cuMemHostRegister_v2, "no context", bytes, SIZE(4096), 0);
    C(cuPointerGetAttribute, "no context", &n, 2, bytes);
    C(cuStreamCreate, "no context", &a, 0);
    C(cuStreamSynchronize, "no context", NUL);
    C(cuStreamSynchronize, "bad stream, no context", BAD);
    C(cuStreamIsCapturing, "no context", NUL, &n);
    C(cuEventCreate, "no context", &a, 0);
    C(cuCtxSynchronize, "no context");
    C(cuCtxGetDevice, "no context", &n);
    C(cuCtxGetFlags, "no context", &n);
    C(cuCtxGetLimit, "no context", &z, 0);
    C(cuCtxPopCurrent_v2, "no context", &a);
    C(cuModuleLoadData, "no context", &a, ptx);
    C(cuGraphCreate, "no context", &a, 0);
    C(cuGraphAddEmptyNode, "no context", &b, a, NUL, SIZE(0));
    C(cuGraphInstantiateWithFlags, "no context", &c, a, (U)0);
    C(cuMemAddressReserve, "no context", &a, SIZE(2 << 20), SIZE(0), (U)0, (U)0);
    C(cuLibraryLoadData, "no context", &a, ptx, NUL, NUL, 0, NUL, NUL, 0);
    C(cuLinkCreate_v2, "no context", 0, NUL, NUL, &a);
    C(cuDeviceGetDefaultMemPool, "no context", &a, 0);
    C(cuMemAllocAsync, "no context", &a, SIZE(16), NUL);
}

static void devices(void) {
    DO(cuInit, 0);
    C(cuDeviceGetCount, "NULL", NUL);
    C(cuDeviceGet, "NULL", NUL, 0);
    C(cuDeviceGet, "device 99", &n, 99);
    C(cuDeviceGet, "device -1", &n, -1);
    C(cuDeviceGetName, "0 bytes", bytes, 0, 0);
    C(cuDeviceGetName, "NULL, 0 bytes", NUL, 0, 0);
    C(cuDeviceGetName, "NULL", NUL, 10, 0);
    C(cuDeviceGetName, "-1 bytes", bytes, -1, 0);
    C(cuDeviceGetName, "device 99", bytes, 10, 99);
    C(cuDeviceGetUuid_v2, "NULL", NUL, 0);
    C(cuDeviceTotalMem_v2, "NULL", NUL, 0);
    C(cuDeviceTotalMem_v2, "device 99", &z, 99);
    C(cuDeviceGetAttribute, "NULL", NUL, 1, 0);
    C(cuDeviceGetAttribute, "attribute 0", &n, 0, 0);
    C(cuDeviceGetAttribute, "attribute 99999", &n, 99999, 0);
    C(cuDeviceGetAttribute, "device 99", &n, 1, 99);
    C(cuDeviceComputeCapability, "NULL major", NUL, &n, 0);
    C(cuDeviceGetProperties, "NULL", NUL, 0);
    C(cuDeviceGetPCIBusId, "5 bytes", bytes, 5, 0);
    C(cuDeviceGetPCIBusId, "NULL", NUL, 20, 0);
    C(cuDeviceGetByPCIBusId, "no such place", &n, "FFFF:FF:1F.0");
    C(cuDeviceGetByPCIBusId, "no place at all", &n, "hello");
    C(cuDeviceGetByPCIBusId, "NULL", &n, NUL);
    C(cuDeviceCanAccessPeer, "same device", &n, 0, 0);
    T("can access itself", n);
    C(cuDeviceCanAccessPeer, "device 99", &n, 0, 99);
    C(cuDeviceCanAccessPeer, "NULL", NUL, 0, 0);
    C(cuDeviceGetP2PAttribute, "same device", &n, 2, 0, 0);
    C(cuDevicePrimaryCtxRetain, "NULL", NUL, 0);
    C(cuDevicePrimaryCtxRetain, "device 99", &a, 99);
    C(cuDevicePrimaryCtxRelease_v2, "not retained", 0);
    C(cuDevicePrimaryCtxSetFlags_v2, "flags 0x10000", 0, 0x10000);
    C(cuDevicePrimaryCtxGetState, "NULL flags", 0, NUL, &n);
    C(cuDevicePrimaryCtxGetState, "NULL active", 0, &u, NUL);
    C(cuDevicePrimaryCtxReset_v2, "not retained", 0);
    C(cuDeviceGetDefaultMemPool, "NULL", NUL, 0);
    C(cuDeviceGetTexture1DLinearMaxWidth, "format 99", &z, 99, 1, 0);
    C(cuDeviceGetExecAffinitySupport, "NULL", NUL, 0, 0);
    C(cuDeviceGetLuid, "device 0", bytes, &n, 0);
}

static void contexts(void) {
    start();
    C(cuCtxCreate_v2, "NULL", NUL, 0, 0);
    C(cuCtxCreate_v2, "flags 0x10000", &a, 0x10000, 0);
    C(cuCtxCreate_v2, "device 99", &a, 0, 99);
    C(cuCtxDestroy_v2, "NULL", NUL);
    C(cuCtxDestroy_v2, "bad", BAD);
    C(cuCtxSetCurrent, "bad", BAD);
    C(cuCtxPushCurrent_v2, "bad", BAD);
    C(cuCtxPushCurrent_v2, "NULL", NUL);
    C(cuCtxGetCurrent, "NULL", NUL);
    C(cuCtxGetDevice, "NULL", NUL);
    C(cuCtxGetApiVersion, "bad", BAD, &n);
    C(cuCtxGetApiVersion, "NULL output", context, NUL);
    C(cuCtxGetId, "bad", BAD, &a);
    C(cuCtxGetId, "NULL output", context, NUL);
    C(cuCtxGetLimit, "limit 99", &z, 99);
    C(cuCtxGetLimit, "NULL", NUL, 0);
    C(cuCtxSetLimit, "limit 99", 99, SIZE(1));
    C(cuCtxSetLimit, "stack of 1 GiB", 0, SIZE(1) << 30);
    C(cuCtxSetCacheConfig, "config 99", 99);
    C(cuCtxSetFlags, "flags 0x10000", 0x10000);
    C(cuCtxGetStreamPriorityRange, "NULL, NULL", NUL, NUL);
    C(cuCtxGetSharedMemConfig, "NULL", NUL);
    C(cuCtxEnablePeerAccess, "itself", context, 0);
    C(cuCtxEnablePeerAccess, "bad", BAD, 0);
    C(cuCtxDisablePeerAccess, "itself", context);
    C(cuThreadExchangeStreamCaptureMode, "NULL", NUL);
    n = 9;
    C(cuThreadExchangeStreamCaptureMode, "mode 9", &n);
    DO(cuCtxCreate_v2, &a, 0, 0);
    C(cuCtxDestroy_v2, "once", a);
    C(cuCtxDestroy_v2, "twice", a);
    C(cuCtxSetCurrent, "destroyed", a);
    DO(cuDevicePrimaryCtxRetain, &a, 0);
    C(cuCtxDestroy_v2, "primary", a);
}

static void memory(void) {
    start();
    C(cuMemAlloc_v2, "NULL", NUL, SIZE(16));
    C(cuMemAlloc_v2, "0 bytes", &a, SIZE(0));
    C(cuMemAlloc_v2, "1 PiB", &a, SIZE(1) << 50);
    C(cuMemAlloc_v2, "all bits set", &a, ~SIZE(0));
    C(cuMemAllocPitch_v2, "element of 3", &a, &z, SIZE(100), SIZE(10), 3);
    C(cuMemAllocPitch_v2, "width 0", &a, &z, SIZE(0), SIZE(10), 4);
    C(cuMemAllocPitch_v2, "height 0", &a, &z, SIZE(100), SIZE(0), 4);
    C(cuMemAllocPitch_v2, "NULL pitch", &a, NUL, SIZE(100), SIZE(10), 4);
    C(cuMemGetInfo_v2, "NULL, NULL", NUL, NUL);
    C(cuMemFree_v2, "wild", (U)0x1234);
    DO(cuMemAlloc_v2, &a, SIZE(100));
    C(cuMemFree_v2, "inside", a + 10);
    C(cuMemFreeHost, "device memory", a);
    C(cuMemHostGetFlags, "device memory", &n, a);
    C(cuMemHostUnregister, "device memory", a);
    C(cuMemGetAddressRange_v2, "NULL, NULL", NUL, NUL, a);
    C(cuMemGetAddressRange_v2, "of the host", &b, &z, bytes);
    C(cuMemGetAddressRange_v2, "NULL address", &b, &z, (U)0);
    C(cuMemGetAddressRange_v2, "one past the end", &b, &z, a + 512);
    C(cuMemFree_v2, "once", a);
    C(cuMemFree_v2, "twice", a);
    C(cuMemcpyHtoD_v2, "freed", a, bytes, SIZE(16));
    C(cuMemGetAddressRange_v2, "freed", &b, &z, a);
    C(cuPointerGetAttribute, "freed", &n, 2, a);
}

static void host_memory(void) {
    start();
    C(cuMemAllocHost_v2, "NULL", NUL, SIZE(16));
    C(cuMemAllocHost_v2, "0 bytes", &a, SIZE(0));
    C(cuMemHostAlloc, "flags 8", &a, SIZE(16), 8);
    C(cuMemHostAlloc, "1 PiB", &a, SIZE(1) << 50, 0);
    C(cuMemFreeHost, "NULL", NUL);
    C(cuMemFreeHost, "of the program", bytes);
    C(cuMemHostRegister_v2, "NULL", NUL, SIZE(4096), 0);
    C(cuMemHostRegister_v2, "0 bytes", bytes, SIZE(0), 0);
    C(cuMemHostRegister_v2, "flags 0x100", bytes, SIZE(4096), 0x100);
    C(cuMemHostRegister_v2, "not mapped", (P)0x10000, SIZE(4096), 0);
    C(cuMemHostUnregister, "never registered", bytes);
    C(cuMemHostGetDevicePointer_v2, "of the program", &a, bytes, 0);
    C(cuMemHostGetDevicePointer_v2, "NULL output", NUL, bytes, 0);
    C(cuMemHostGetFlags, "of the program", &n, bytes);
    DO(cuMemHostRegister_v2, bytes, SIZE(4096), 0);
    C(cuMemHostRegister_v2, "twice", bytes, SIZE(4096), 0);
    C(cuMemHostRegister_v2, "overlapping", bytes + 2048, SIZE(4096), 0);
    C(cuMemHostUnregister, "inside", bytes + 16);
    C(cuMemFreeHost, "registered", bytes);
    C(cuMemHostGetDevicePointer_v2, "flags 1", &a, bytes, 1);
    DO(cuMemAllocHost_v2, &b, SIZE(100));
    C(cuMemFreeHost, "inside", b + 8);
    C(cuMemHostUnregister, "allocated by the driver", b);
    C(cuMemHostRegister_v2, "allocated by the driver", b, SIZE(100), 0);
    C(cuMemFreeHost, "once", b);
    C(cuMemFreeHost, "twice", b);
}

static void managed(void) {
    U place = 0xffffffff00000002; /* host */
    start();
    C(cuMemAllocManaged, "NULL", NUL, SIZE(16), 1);
    C(cuMemAllocManaged, "flags 0", &a, SIZE(16), 0);
    C(cuMemAllocManaged, "flags 3", &a, SIZE(16), 3);
    C(cuMemAllocManaged, "flags 4", &a, SIZE(16), 4);
    C(cuMemAllocManaged, "0 bytes", &a, SIZE(0), 1);
    DO(cuMemAllocManaged, &a, SIZE(4096), 1);
    C(cuMemAdvise, "advice 99", a, SIZE(4096), 99, 0);
    C(cuMemAdvise, "device 99", a, SIZE(4096), 3, 99);
    C(cuMemAdvise, "0 bytes", a, SIZE(0), 1, 0);
    C(cuMemAdvise, "past the end", a, SIZE(1) << 30, 1, 0);
    C(cuMemPrefetchAsync, "device 99", a, SIZE(4096), 99, NUL);
    C(cuMemPrefetchAsync, "to the host", a, SIZE(4096), -1, NUL);
    C(cuMemPrefetchAsync, "past the end", a, SIZE(1) << 30, 0, NUL);
    C(cuMemPrefetchAsync, "of the program", bytes, SIZE(4096), 0, NUL);
    C(cuMemPrefetchAsync_v2, "flags 1", a, SIZE(4096), place, 1, NUL);
    C(cuMemRangeGetAttribute, "size 8 for 4", &c, SIZE(8), 1, a, SIZE(4096));
    C(cuMemRangeGetAttribute, "read mostly", &n, SIZE(4), 1, a, SIZE(4096));
    T("read mostly", n);
    C(cuMemRangeGetAttribute, "attribute 99", &n, SIZE(4), 99, a, SIZE(4096));
    C(cuMemRangeGetAttribute, "of the program", &n, SIZE(4), 1, bytes, SIZE(4096));
    C(cuStreamAttachMemAsync, "flags 9", NUL, a, SIZE(0), 9);
    C(cuStreamAttachMemAsync, "of the program", NUL, bytes, SIZE(0), 1);
    C(cuStreamAttachMemAsync, "a part", NUL, a, SIZE(16), 1);
    C(cuMemFreeHost, "managed", a);
    C(cuMemFree_v2, "managed", a);
    DO(cuMemAlloc_v2, &a, SIZE(4096));
    C(cuMemAdvise, "device memory", a, SIZE(4096), 1, 0);
    C(cuMemPrefetchAsync, "device memory", a, SIZE(4096), 0, NUL);
}

static void copies(void) {
    U plane[16] = { 0 };
    start();
    DO(cuMemAlloc_v2, &a, SIZE(100));
    C(cuMemcpyHtoD_v2, "NULL host", a, NUL, SIZE(16));
    C(cuMemcpyHtoD_v2, "NULL device", (U)0, bytes, SIZE(16));
    C(cuMemcpyHtoD_v2, "past the end", a, bytes, SIZE(4096));
    C(cuMemcpyHtoD_v2, "far past the end", a, bytes, SIZE(1) << 40);
    C(cuMemcpyHtoD_v2, "0 bytes to nowhere", (U)0, bytes, SIZE(0));
    C(cuMemcpyDtoH_v2, "NULL host", NUL, a, SIZE(16));
    C(cuMemcpyDtoH_v2, "from the host", bytes, bytes + 100, SIZE(16));
    C(cuMemcpyDtoD_v2, "from nowhere", a, (U)0x1234, SIZE(16));
    C(cuMemcpyDtoD_v2, "overlapping", a, a + 8, SIZE(16));
    C(cuMemcpy, "nowhere to nowhere", (U)0, (U)0, SIZE(16));
    C(cuMemcpyHtoDAsync_v2, "bad stream", a, bytes, SIZE(16), BAD);
    C(cuMemcpyAsync, "past the end", a, bytes, SIZE(1) << 40, NUL);
    C(cuMemcpyPeer, "bad contexts", a, BAD, a, BAD, SIZE(16));
    C(cuMemcpyPeer, "NULL contexts", a, NUL, a, NUL, SIZE(16));
    C(cuMemcpy2D_v2, "NULL", NUL);
    C(cuMemcpy2D_v2, "all zero", plane);
    plane[2] = 1, plane[3] = (U)bytes, plane[6] = 8, plane[9] = 2, plane[11] = a, plane[13] = 8, plane[14] = 16, plane[15] = 2;
    C(cuMemcpy2D_v2, "pitch below width", plane);
    plane[2] = 99, plane[6] = plane[13] = 16;
    C(cuMemcpy2D_v2, "memory type 99", plane);
    C(cuMemcpy3D_v2, "NULL", NUL);
    C(cuMemcpy3D_v2, "all zero", memset(room, 0, sizeof room));
    C(cuMemsetD8_v2, "NULL device", (U)0, 0, SIZE(16));
    C(cuMemsetD8_v2, "past the end", a, 0, SIZE(1) << 40);
    C(cuMemsetD8_v2, "0 bytes of nowhere", (U)0, 0, SIZE(0));
    C(cuMemsetD16_v2, "at an odd address", a + 1, 0, SIZE(4));
    C(cuMemsetD32_v2, "at address + 2", a + 2, 0, SIZE(4));
    C(cuMemsetD32Async, "bad stream", a, 0, SIZE(4), BAD);
    C(cuMemsetD2D8_v2, "pitch below width", a, SIZE(8), 0, SIZE(16), SIZE(2));
    C(cuMemsetD8_v2, "of the program", bytes, 0, SIZE(16));
}

static void arrays(void) {
    struct { size_t w, h; unsigned format, channels; } plane = { 16, 16, 0x20, 3 };
    struct { size_t w, h, d; unsigned format, channels, flags; } volume = { 16, 16, 16, 0x20, 1, 0x8000 };
    start();
    C(cuArrayCreate_v2, "3 channels", &a, &plane);
    plane.channels = 1, plane.format = 99;
    C(cuArrayCreate_v2, "format 99", &a, &plane);
    plane.format = 0x20, plane.w = 0;
    C(cuArrayCreate_v2, "width 0", &a, &plane);
    plane.w = 1 << 20;
    C(cuArrayCreate_v2, "width 1 Mi", &a, &plane);
    plane.w = 16;
    C(cuArrayCreate_v2, "NULL output", NUL, &plane);
    C(cuArrayCreate_v2, "NULL description", &a, NUL);
    C(cuArray3DCreate_v2, "flags 0x8000", &a, &volume);
    C(cuArrayDestroy, "NULL", NUL);
    C(cuArrayDestroy, "bad", BAD);
    C(cuArrayGetDescriptor_v2, "bad", room, BAD);
    DO(cuArrayCreate_v2, &a, &plane);
    C(cuArrayGetDescriptor_v2, "NULL", NUL, a);
    C(cuArrayGetPlane, "plane 0 of one", &b, a, 0);
    C(cuArrayGetSparseProperties, "not sparse", room, a);
    C(cuArrayGetMemoryRequirements, "not deferred", room, a, 0);
    C(cuMemcpyHtoA_v2, "past the end", a, SIZE(0), bytes, SIZE(2000));
    C(cuMemcpyHtoA_v2, "NULL host", a, SIZE(0), NUL, SIZE(16));
    C(cuMemcpyAtoH_v2, "NULL array", bytes, NUL, SIZE(0), SIZE(16));
    C(cuArrayDestroy, "once", a);
    C(cuArrayDestroy, "twice", a);
    volume.flags = 0;
    C(cuMipmappedArrayCreate, "0 levels", &a, &volume, 0);
    C(cuMipmappedArrayCreate, "99 levels", &a, &volume, 99);
    DO(cuMipmappedArrayCreate, &a, &volume, 2);
    C(cuMipmappedArrayGetLevel, "level 9", &b, a, 9);
    C(cuMipmappedArrayGetLevel, "level 1", &b, a, 1);
    C(cuArrayDestroy, "a level", b);
    C(cuMipmappedArrayDestroy, "bad", BAD);
    C(cuMipmappedArrayDestroy, "once", a);
}
