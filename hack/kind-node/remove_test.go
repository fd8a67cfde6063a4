package main

import (
	"slices"
	"testing"
)

func TestMountedIn(t *testing.T) {
	const mounts = "proc /proc proc rw 0 0\nproc /c/new/proc proc rw 0 0\nsysfs /c/new/sys sysfs rw 0 0\nproc /c/newer/proc proc rw 0 0\n"
	if got, want := mountedIn(mounts, "/c/new"), []string{"/c/new/proc", "/c/new/sys"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
