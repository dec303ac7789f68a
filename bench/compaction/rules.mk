# SPDX-License-Identifier: PostgreSQL
# The picture of a real page, for the report.
report: $(RESULTS)/real-page.json
