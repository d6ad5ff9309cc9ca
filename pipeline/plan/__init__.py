"""What a job reads, with which settings, and which jobs a table needs: functions without Snakemake."""
