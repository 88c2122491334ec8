// A program that serves a file system by itself, or page faults of itself, and whose server makes calls that the tracer
// stops. The tracer must not wait for such a server: the server waits for the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char PATH[4096] = "/proc/self/stat";

static void stopped(void) { close(open("/dev/null", O_RDONLY)); }

static void reply(int device, unsigned long unique, int error, const void *data, size_t size)
{
    static char all[8192];
    struct fuse_out_header head = {(unsigned)(sizeof head + size), error, unique};
    memcpy(all, &head, sizeof head);
    if (size) memcpy(all + sizeof head, data, size);
    if (write(device, all, head.len) < 0) return;
}

static struct fuse_attr attributes(unsigned long node)
{
    struct fuse_attr a = {.ino = node, .nlink = 1, .size = node == 1 ? 0 : sizeof PATH};
    a.mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644;
    return a;
}

static void serve(int device)
{
    static char asked[1 << 20];
    for (;;) {
        ssize_t n = read(device, asked, sizeof asked);
        if (n <= 0 && errno != EINTR && errno != ENOENT) return;
        if (n <= 0) continue;
        struct fuse_in_header *head = (void *)asked;
        struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
        struct fuse_attr_out attr = {.attr = attributes(head->nodeid)};
        struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes(2)};
        struct fuse_open_out opened = {0};
        stopped();
        switch (head->opcode) {
        case FUSE_INIT: reply(device, head->unique, 0, &init, sizeof init); break;
        case FUSE_GETATTR: reply(device, head->unique, 0, &attr, sizeof attr); break;
        case FUSE_LOOKUP: reply(device, head->unique, 0, &entry, sizeof entry); break;
        case FUSE_OPEN: reply(device, head->unique, 0, &opened, sizeof opened); break;
        case FUSE_READ: reply(device, head->unique, 0, PATH, sizeof PATH); break;
        case FUSE_RELEASE:
        case FUSE_FLUSH: reply(device, head->unique, 0, 0, 0); break;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET: break;
        default: reply(device, head->unique, -ENOSYS, 0, 0);
        }
    }
}

// What is at the address comes from the server: as a path, and as the argument of a request.
static void use(const char *what, const char *served)
{
    int fd = open(served, O_RDONLY);
    printf("%s: %s\n", what, fd >= 0 ? "opened" : strerror(errno));
    close(fd);
}

static void file_system(void)
{
    char folder[] = "/tmp/cutap-served-XXXXXX", file[64], options[99];
    int device = open("/dev/fuse", O_RDWR), x = 0;
    if (device < 0 || !mkdtemp(folder) || unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0)) {
        puts("skipped: FUSE needs root and /dev/fuse");
        return;
    }
    sprintf(options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    sprintf(file, "%s/file", folder);
    if (mount("served", folder, "fuse", 0, options)) {
        puts("skipped: no FUSE mount");
        return;
    }
    pid_t server = fork();
    if (server == 0) {
        serve(device);
        _exit(0);
    }
    // Only the server has it. Its end is then the end of the file system, whoever is killed.
    close(device);
    int fd = open(file, O_RDWR);
    printf("ioctl: %s\n", ioctl(fd, 0xc0104629u, &x) ? strerror(errno) : "done");
    char *mapped = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) perror("mmap");
    else use("mapped", mapped);
    close(fd);
    umount2(folder, MNT_DETACH);
    kill(server, SIGKILL);
    waitpid(server, 0, 0);
    rmdir(folder);
}

static void *handle(void *from)
{
    int fault = *(int *)from;
    struct uffd_msg message;
    while (read(fault, &message, sizeof message) == sizeof message) {
        stopped();
        struct uffdio_copy copy = {message.arg.pagefault.address & ~4095ull, (unsigned long)PATH, 4096, 0, 0};
        if (ioctl(fault, UFFDIO_COPY, &copy)) perror("UFFDIO_COPY");
    }
    return 0;
}

static void page_faults(void)
{
    enum { PAGES = 20 };
    int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (fault < 0 || ioctl(fault, UFFDIO_API, &api)) {
        puts("skipped: userfaultfd needs root");
        return;
    }
    char *pages = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register all = {{(unsigned long)pages, PAGES * 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (ioctl(fault, UFFDIO_REGISTER, &all)) perror("UFFDIO_REGISTER");
    pthread_t thread;
    pthread_create(&thread, 0, handle, &fault);
    for (int n = 0; n < PAGES; n++) use("faulted", pages + n * 4096);
}

int main(void)
{
    setvbuf(stdout, 0, _IONBF, 0);
    file_system();
    page_faults();
    puts("ok");
    return 0;
}
