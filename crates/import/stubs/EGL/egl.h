/* What NVIDIA's EGL headers use of EGL's, so that nobody needs those to import. */
#ifndef CUTAP_EGL
#define CUTAP_EGL
typedef int EGLint;
typedef unsigned int EGLBoolean;
typedef void *EGLDisplay;
#endif
