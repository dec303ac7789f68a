# SPDX-License-Identifier: PostgreSQL
"""What people run, a folder for each command, and what the scripts of all layers share (common/)."""
