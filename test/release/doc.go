// Package release has no code: its tests take the archive that `make release-snapshot` has made, as somebody who has
// downloaded it. They look at what is in it, and boot the default scenario of it as nobody, on a root file system of nothing
// but the archive, /proc, a few devices, /etc/passwd and /tmp, in a network namespace with nothing but loopback: no Go, no Docker, no
// shell, no libc, no network. That needs root, to make such a place, and Linux; without, those tests are skipped.
//
// Floor 5.
package release
