/* What NVIDIA's OpenGL headers use of OpenGL's, so that nobody needs those to import. */
typedef unsigned int GLenum;
typedef unsigned int GLuint;
typedef int GLint;
