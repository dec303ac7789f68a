# SPDX-License-Identifier: PostgreSQL
# The mount: a file system of libfuse3's under a server. Debian's libfuse3-dev is a need of its own: who never asks for the
# mount need not have it.
APT_fuse   := libfuse3-dev fuse3
TOOLS_fuse := fuse3/fuse_opt.h fusermount3

MOUNT         := $(BUILD)/mount
MOUNT_OBJECTS := $(patsubst tools/mount/%.c,$(MOUNT)/%.o,$(wildcard tools/mount/*.c))

$(MOUNT)/%.o: tools/mount/%.c $(SETUP)/c.stamp $(SETUP)/fuse.stamp
	@mkdir -p $(@D)
	@echo "gcc $<"
	@gcc $(CFLAGS_KERNEL) -D_FILE_OFFSET_BITS=64 $$(pkg-config --cflags fuse3) -MMD -MP -c $< -o $@

-include $(MOUNT_OBJECTS:.o=.d)

$(MOUNT)/pgquern-mount: $(SETUP)/fuse.stamp $(MOUNT_OBJECTS) $(BUILD)/lib/libpgquern.a
	@gcc $(filter-out %.stamp,$^) $$(pkg-config --libs fuse3) -lpthread -o $@

# For a test: all of it is looked at by ThreadSanitizer.
$(MOUNT)/pgquern-mount.tsan: $(SETUP)/fuse.stamp $(wildcard tools/mount/*.[ch]) $(OBJECTS_TSAN)
	@mkdir -p $(@D)
	@clang $(CFLAGS_TSAN) -D_FILE_OFFSET_BITS=64 $(filter %.c %.o,$^) $$(pkg-config --cflags --libs fuse3) -lpthread -o $@

# For its tests alone, loaded before libc: it ends the program in the middle of a write, and loses what was not synced.
$(MOUNT)/crash.so: tests/mount/crash.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc $(CFLAGS_KERNEL) -fvisibility=default -shared $< -ldl -o $@

# What it does for a server (bench/tornpage/headline.toml, bench/tiercache/headline.toml). CASE=NAME: only this one; ROUNDS=; PERCENT= of all sizes and times, 10 or more.
.PHONY: bench-mount
bench-mount: $(MOUNT)/pgquern-mount
	@$(MAKE) bench-headlines STEM="tornpage tiercache"

# Real servers on the mount, killed and without power again and again (tests/mount/test_servers.py): CRASHES=200 of each of MAJORS="14 18".
.PHONY: crash-server
crash-server: $(TEST_NEEDS) $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(MOUNT)/pgquern-mount $(MOUNT)/crash.so ##more real servers on the mount under kills and losses of power: CRASHES=200 of each; MAJORS="14 18" (about a minute a crash)
	@PGQUERN_CRASHES=$(or $(CRASHES),200) $(PYTEST) -s tests/mount/test_servers.py -k "crashes and ($(if $(MAJORS),$(subst $(eval ) , or ,$(MAJORS:%=pg%)),pg))"
