package csidriver

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// Options say where and how. The zero value is ready to use.
type Options struct {
	// Cache is the folder in which programs are kept. Default: vsphere-sandbox in the user's cache folder.
	Cache string
	// Say is told what is begun. It must not block. Optional.
	Say func(format string, args ...any)
	// Go is the Go toolchain's command. Default: "go", looked for in $PATH.
	Go string
	// Arch is what programs are built for. They are for Linux, where pods run. Default: this machine's.
	Arch string
}

func (o Options) toolchain() upstream.Toolchain {
	return upstream.Toolchain{Go: o.Go, OS: "linux", Arch: o.arch(), Say: o.Say}
}

func (o Options) arch() string { return cmp.Or(o.Arch, runtime.GOARCH) }

// folder is where the programs of a release are.
func (o Options) folder(version string) (string, error) {
	cache := o.Cache
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "vsphere-sandbox")
	}
	return filepath.Join(cache, "upstream", "csi", version, "linux-"+o.arch()), nil
}
