# SPDX-License-Identifier: PostgreSQL
"""The command `pgquern`: the programs that people run, one command each. commands.toml files say which there are."""
