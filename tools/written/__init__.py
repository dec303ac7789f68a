# SPDX-License-Identifier: PostgreSQL
"""`written`: bytes that each protection against torn pages writes."""
