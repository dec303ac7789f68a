# SPDX-License-Identifier: PostgreSQL
# What the texts of headline.toml call. Here: an empty folder. PATH leads to one server's programs, PGHOST to a folder for its socket.
set -eu
export PGUSER=postgres
trap '[ ! -e data/postmaster.pid ] || pg_ctl -s -D data stop -m immediate' EXIT

# cluster SETTING ...: a new one, in data.
cluster() {
    initdb -k -A trust -U postgres --no-sync -D data > initdb.log
    {
        printf '%s\n' "listen_addresses = ''" "fsync = off" "autovacuum = off" "shared_buffers = 256MB"
        for setting in "$@"; do printf '%s\n' "$setting"; done
    } >> data/postgresql.conf
}

# The prepared one, anew.
copy() {
    cp -a ../base/data data
}

start() {
    pg_ctl -s -w -t 600 -D data -l log -o "-k $PGHOST" start
}

stop() {
    pg_ctl -s -w -t 600 -D data stop -m fast
}
