/* What NVIDIA's EGL headers use of EGL's extensions. */
#ifndef CUTAP_EGLEXT
#define CUTAP_EGLEXT
#include "egl.h"
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
#endif
