package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
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
	// work is a folder for intermediate files.
	work string
}

// in is a path in the working folder: programs/NAME, root (the node's files), images/NAME (those of an image).
func (b *build) in(name string) string { return b.work + "/" + name }

// archive writes the node's files as an image that `docker load` takes. It is made here, not by `docker import`, which
// refuses to set a stop signal, and so needs no Docker.
func (b *build) archive(ctx context.Context, file string) error {
	layer := b.in("layer.tar")
	if err := pack(ctx, b.in("root"), layer); err != nil {
		return err
	}
	diffID, _, err := digest(layer)
	if err != nil {
		return err
	}
	c := newConfig(diffID)
	// systemd detects the container by this variable, and then exits on its stop signal.
	c.Config.Env = append(c.Config.Env, "container=docker")
	c.Config.StopSignal = "SIGRTMIN+3"
	c.Config.Entrypoint = []string{"/usr/local/bin/entrypoint", "/sbin/init"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title":       "node of a kind cluster, of Debian packages and Go modules",
		"org.opencontainers.image.version":     kubernetesVersion,
		"com.github.vsphere-sandbox.kind-node": b.image,
	}
	out, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	defer out.Close()
	if err := writeArchive(out, b.image, c, layer); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// writeArchive writes an image of one layer in Docker's format.
func writeArchive(w io.Writer, image string, c config, layer string) error {
	described, err := json.Marshal(c)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(described))
	manifest, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	f, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	all := tar.NewWriter(w)
	for _, part := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{name, int64(len(described)), bytes.NewReader(described)},
		{"layer.tar", info.Size(), f},
		{"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)},
	} {
		if err := all.WriteHeader(&tar.Header{Name: part.name, Mode: 0o644, Size: part.size, Format: tar.FormatGNU}); err != nil {
			return err
		}
		if _, err := io.Copy(all, part.from); err != nil {
			return err
		}
	}
	return all.Close()
}
