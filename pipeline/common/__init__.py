"""What every package uses: errors, files, locks, bounds, progress, signals, GPUs."""
