/* What NVIDIA's VDPAU headers use of VDPAU's, so that nobody needs those to import. */
#ifndef CUTAP_VDPAU
#define CUTAP_VDPAU
typedef unsigned int VdpDevice;
typedef unsigned int VdpFuncId;
typedef unsigned int VdpStatus;
typedef unsigned int VdpVideoSurface;
typedef unsigned int VdpOutputSurface;
typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function_id, void **function_pointer);
#endif
