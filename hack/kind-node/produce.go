package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// produce makes the archive of an image. It is there whole or not at all; what it was made of is kept where making it
// again takes long (Debian's packages), and removed where it does not.
func produce(ctx context.Context, o *options, archive string, w io.Writer) error {
	work := o.path("work")
	if err := remove(work); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	b := &build{options: o, work: work}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Debian's packages (half a minute; kept)", b.debian},
		{"Kubernetes and etcd (6 minutes; seconds when Go's cache has them)", b.kube},
		{"containerd (2 minutes, or seconds)", b.containerd},
		{"CoreDNS (2 minutes, or seconds)", b.coredns},
		{"CNI plugins and pause", b.small},
		{"the node's files", b.root},
		{"the images of the cluster's own pods", b.images},
		{"those images into the node's containerd", b.contents},
		{"the archive", func(ctx context.Context) error { return b.archive(ctx, archive) }},
	} {
		if err := step(w, s.name, func() error { return s.do(ctx) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "made %s\n", o.image)
	return remove(work)
}

// build is an image in the making.
type build struct {
	*options
	// work is for what nobody needs afterwards.
	work string
}

// in is a path in the working folder: programs/NAME, root (the node's files), images/NAME (those of an image).
func (b *build) in(name string) string { return b.work + "/" + name }
