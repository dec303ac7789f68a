#!/bin/bash
# SPDX-License-Identifier: PostgreSQL
# In the place of postgres and pg_ctl in an installation; the programs themselves are in the folder `real` beside.
#
# A server that starts on a data directory runs on a mount there, of the same files moved aside. Once pg_ctl has stopped it the
# directory is an ordinary one again. Where it ends by another way (kill -9) the mount stays, and the next server runs on it.
# The servers of the TAP tests in PGQUERN_AS_USUAL write full page images, and their log through the mount.
set -u
here=$(dirname "$0") name=$(basename "$0")

data=${PGDATA:-} serves=$name stops=
for ((i = 1; i <= $#; i++)); do
  case ${!i} in
    -D | --pgdata) i=$((i + 1)) && data=${!i} ;;
    -D?*) data=${!i#-D} ;;
    --pgdata=*) data=${!i#*=} ;;
    --single | --boot | --check | --describe-config | --fork* | --version | -V | --help | -C) serves= ;;
    stop) stops=1 ;;
  esac
done
data=${data%/}

images=off wal=direct
for test in ${PGQUERN_AS_USUAL:-}; do
  [[ $data != */t_"${test}"_* ]] || images=on wal=through
done

is_mounted() { [[ -e $data/.pgquern-status ]]; }

begin() {
  mv "$data" "$data.below" && mkdir -m 700 "$data" &&
    "$here/real/pgquern-mount" "$data.below" "$data" double-write 64 $wal background '' && return
  rmdir "$data" && mv "$data.below" "$data"
  exit 1
}

# A server's last process, or who reads a file there, may take a moment to leave.
end() {
  for _ in {1..100}; do
    if fusermount3 -uq "$data"; then
      flock -s "$data.below" test -e "$data.below/PG_VERSION" && rmdir "$data" && mv "$data.below" "$data"
      return
    fi
    sleep 0.1
  done
  echo "$data stays mounted" >&2
}

run() { exec -a "$here/$name" "$here/real/$name" "$@"; }

if [[ $name = postgres && $serves && -e $data/PG_VERSION ]]; then
  is_mounted || begin
  echo "$data" >> "$PGQUERN_COUNTS/starts"
  run "$@" -c full_page_writes=$images
elif [[ $name = pg_ctl && $stops ]]; then
  (run "$@") || exit
  ! is_mounted || end
else
  run "$@"
fi
