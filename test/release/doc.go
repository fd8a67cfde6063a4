// Package release has only tests of the archive that `make release-snapshot` builds, as a user downloads it. They check
// its contents, and boot its default scenario as an unprivileged user, on a root file system of only the archive, /proc,
// a few devices, /etc/passwd and /tmp, in a network namespace with only loopback: no Go, no Docker, no shell, no libc, no
// network. That needs root and Linux; otherwise those tests are skipped.
//
// Floor 5.
package release
