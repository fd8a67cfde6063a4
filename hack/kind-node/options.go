package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// options are what the command line asks for.
type options struct {
	// source is this folder, cache where everything that is made is kept.
	source, cache string
	// repository is the image's name without the tag; image has the tag, which is the hash of the inputs.
	repository, image           string
	load, nameOnly, debianAgain bool
	// mirror is Debian's, as debootstrap takes it.
	mirror string
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("kind-node", flag.ContinueOnError)
	fs.StringVar(&o.source, "source", ".", "the `folder` with programs and rootfs")
	fs.StringVar(&o.cache, "cache", "", "the `folder` for what is made, some 2 GB (vsphere-sandbox/kind-node in the user's cache)")
	fs.StringVar(&o.repository, "repository", "vsphere-sandbox/kind-node", "the image's `name`; its tag is a hash of the inputs")
	fs.StringVar(&o.mirror, "mirror", "http://deb.debian.org/debian", "Debian's `address`")
	fs.BoolVar(&o.load, "load", false, "give the image to docker, unless it has it")
	fs.BoolVar(&o.nameOnly, "name", false, "print the image's name and the archive's path, make nothing")
	fs.BoolVar(&o.debianAgain, "debian-again", false, "download Debian's packages again")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w: give -cache", err)
		}
		o.cache = filepath.Join(dir, "vsphere-sandbox", "kind-node")
	}
	var err error
	if o.source, err = filepath.Abs(o.source); err != nil {
		return nil, err
	}
	o.cache, err = filepath.Abs(o.cache)
	return o, err
}

// path is that of a file in the cache.
func (o *options) path(name string) string { return filepath.Join(o.cache, name) }
