// The kernel's routing messages. Every Linux has these headers with the development package of its C library.
#include <linux/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

// setns(2). The C library declares it only if _GNU_SOURCE is defined, which Swift's importer does not define.
int setns(int descriptor, int kind);
enum { curlew_network_namespace = 0x40000000 /* CLONE_NEWNET */ };
