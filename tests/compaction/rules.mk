# SPDX-License-Identifier: PostgreSQL
# A page of a real table before and after, for the report's picture.
$(RESULTS)/real-page.json: tests/compaction/picture.py tests/compaction/heap.py $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/python.stamp
	@$(PY) -m tests.compaction.picture
