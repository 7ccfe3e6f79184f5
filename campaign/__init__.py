"""The standing campaign: damaged files, kills, full disks, hostile clients, long load."""
