// The kernel's routing messages. The header comes with the C library's development package on every Linux.
#include <linux/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

// setns(2): the C library declares it for _GNU_SOURCE alone, which Swift's importer does not set.
int setns(int descriptor, int kind);
enum { curlew_network_namespace = 0x40000000 /* CLONE_NEWNET */ };
