package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// roomy is what an image, what it is made of and what Go keeps take, in bytes.
const roomy = 8 << 30

// missing tells everything that stands in the way of making an image, at once and before anything is made.
func missing(o *options) error {
	var all []error
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		all = append(all, fmt.Errorf("%s/%s: node images are made on linux/amd64", runtime.GOOS, runtime.GOARCH))
	}
	if os.Geteuid() != 0 {
		all = append(all, errors.New("not root: debootstrap and the node's containerd need it; try sudo"))
	}
	for _, program := range []string{"debootstrap", "zstd", "tar", "cp"} {
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, fmt.Errorf("%s is not installed: try apt-get install --no-install-recommends debootstrap zstd", program))
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		all = append(all, errors.New("go is not installed: https://go.dev/dl has it"))
	}
	if o.load {
		if _, err := exec.LookPath("docker"); err != nil {
			all = append(all, errors.New("docker is not installed, which -load needs: try apt-get install --no-install-recommends docker.io"))
		}
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return errors.Join(append(all, err)...)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(o.cache, &disk); err != nil {
		all = append(all, err)
	} else if free := disk.Bavail * uint64(disk.Bsize); free < roomy {
		all = append(all, fmt.Errorf("%s has %d MiB left, %d are needed: give -cache a folder on another disk", o.cache, free>>20, uint64(roomy)>>20))
	}
	return errors.Join(all...)
}
