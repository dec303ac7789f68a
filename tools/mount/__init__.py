# SPDX-License-Identifier: PostgreSQL
"""`mount`: a file system under an unmodified server, on which no crash tears a page."""
