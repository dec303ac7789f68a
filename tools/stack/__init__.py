# SPDX-License-Identifier: PostgreSQL
"""`stack`: the file I/O stack under foreground and checkpoints, each part alone and all together."""
