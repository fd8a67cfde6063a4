package ccm

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
)

// Program is a program that can be run on this machine.
type Program struct {
	// Path is where it is; "" is the built-in one.
	Path string `json:"path,omitempty"`
	// Source is where it comes from, as [Parse] reads it.
	Source string `json:"source"`
	// Version is what the source says of it: a module's version, an image's label or tag, the version that a Go program
	// was built as; "" when nothing does.
	Version string `json:"version,omitempty"`
	// Digest identifies it: that of an image's manifest (of an archive's configuration, which Docker calls the image's
	// ID), else that of the file; "sha256:…". "" for the built-in one.
	Digest string `json:"digest,omitempty"`
	// Own: it is this project's, which knows flags that others do not, and needs fewer rights.
	Own bool `json:"own,omitempty"`
}

// Options say how to find a program. The zero value is useful.
type Options struct {
	// Cache is the folder in which things are kept. Default: vsphere-sandbox in the user's cache folder.
	Cache string
	// Progress is called with what is being done, at least every five seconds. It must not block. Optional.
	Progress func(string)
	// Go is the Go toolchain's command. Default: "go", looked for in $PATH.
	Go string
	// Most bounds an image: the bytes of all its layers, unpacked. Default: 2 GiB.
	Most int64
	// OS and Arch are what the program has to be for. Default: this machine's.
	OS, Arch string
}

func (o Options) withDefaults() (Options, error) {
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, err
		}
		o.Cache = filepath.Join(dir, "vsphere-sandbox")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Go == "" {
		o.Go = "go"
	}
	if o.Most <= 0 {
		o.Most = 2 << 30
	}
	if o.OS == "" {
		o.OS = runtime.GOOS
	}
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
	return o, nil
}

// Resolve makes sure that there is a program, and returns it: it downloads or builds what is not there yet, which may
// take minutes. Errors that are about the source are of type [coded.Error]. Two processes may resolve one source at once.
func (s Source) Resolve(ctx context.Context, o Options) (Program, error) {
	if s.Kind() == Builtin { // for which there need not be a cache folder, nor a home to have one in
		return Program{Source: s.String(), Own: true}, nil
	}
	o, err := o.withDefaults()
	if err != nil {
		return Program{}, err
	}
	var p Program
	switch s.Kind() {
	case Builtin: // is above
	case File:
		p, err = o.file(s.ref)
	case Image:
		p, err = o.image(ctx, s.ref)
	case Archive:
		p, err = o.archive(ctx, s.ref)
	case Module:
		p, err = o.module(ctx, s.ref)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Program{}, err
	}
	p.Source = s.String()
	return p, nil
}
