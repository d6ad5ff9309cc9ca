"""What every package uses: errors, files, settings, progress, signals, GPUs."""

import os

# Shared disks may have no locks (NFS without lockd, Lustre without flock), where HDF5 would end. Its files
# are written under another name, and appear when they are whole, so that no lock is needed.
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
