"""Memory that a training step frees is kept for the next step.

glibc returns each large block to the system when it is freed. A step frees and allocates the same blocks
again, and the system fills every page of them with zeros.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
DEFAULTS = {M_TRIM_THRESHOLD: 128 * 1024, M_MMAP_MAX: 65536}  # glibc's constants, see `man mallopt`
NEVER_TRIM = -1


def keep_freed_memory(keep: bool = True) -> None:
    """Keep freed memory for later allocations, or return it to the system; does nothing without glibc."""
    if sys.platform != "linux" or not hasattr(library := ctypes.CDLL(None), "mallopt"):
        return
    values = {M_TRIM_THRESHOLD: NEVER_TRIM, M_MMAP_MAX: 0} if keep else DEFAULTS
    for parameter, value in values.items():
        library.mallopt(parameter, value)
