package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNeeded(t *testing.T) {
	const program = "usr/bin/ls"
	if _, err := os.Stat("/" + filepath.Join(libraries, loader)); err != nil {
		t.Skip("this machine is not Debian's amd64")
	}
	got, err := needed("/", []string{program})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{filepath.Join(libraries, loader), filepath.Join(libraries, "libc.so.6")} {
		if !slices.Contains(got, want) {
			t.Errorf("%s needs %v, without %s", program, got, want)
		}
	}
}

// A root without a library that a program needs is found out when the image is made.
func TestNeededIsMissing(t *testing.T) {
	if _, err := os.Stat("/" + filepath.Join(libraries, loader)); err != nil {
		t.Skip("this machine is not Debian's amd64")
	}
	root := t.TempDir()
	if err := install("/usr/bin/ls", filepath.Join(root, "usr/bin/ls")); err != nil {
		t.Fatal(err)
	}
	if _, err := needed(root, []string{"usr/bin/ls"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want one of a file that does not exist", err)
	}
}

// Every image that kubeadm asks for is made, under its name, and the one that containerd's configuration names.
func TestPodImages(t *testing.T) {
	listed := []string{
		"registry.k8s.io/kube-apiserver:v1.35.4", "registry.k8s.io/kube-proxy:v1.35.4", "registry.k8s.io/coredns/coredns:v1.13.1",
		"registry.k8s.io/pause:3.10.1", "registry.k8s.io/etcd:3.6.6-0",
	}
	want := map[string][]string{
		"kube":    {listed[0], listed[1], listed[4]},
		"coredns": {listed[2]},
		"pause":   {"registry.k8s.io/pause:3.10", listed[3]},
	}
	for _, i := range podImages(listed) {
		if !slices.Equal(i.names, want[i.files]) {
			t.Errorf("%s has the names %v, want %v", i.files, i.names, want[i.files])
		}
	}
	config, err := os.ReadFile("rootfs/etc/containerd/config.toml")
	if err != nil || !strings.Contains(string(config), "'"+want["pause"][0]+"'") {
		t.Errorf("containerd's configuration does not name %s: %v", want["pause"][0], err)
	}
}
