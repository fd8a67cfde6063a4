package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// contentLabel is on an image record in a node's containerd: what archive it is from, so that it is not loaded again.
const contentLabel = "vsphere-sandbox.content"

// Loaded is what [Cluster.LoadImages] has done: the images of the archive, and the nodes that took them, or had them.
type Loaded struct {
	Images         []string
	Nodes, Present []string
}

// LoadImages loads an image archive, as `docker save` or an OCI layout in a tar makes it, into containerd of these nodes, of all
// when none is named, side by side. Nodes that have the very same images are left out. A node that does not run is an
// error; the others are loaded all the same.
func (c *Cluster) LoadImages(ctx context.Context, archive string, nodes ...string) (Loaded, error) {
	f, err := os.Open(archive)
	if err != nil {
		return Loaded{}, fmt.Errorf("image archive: %w", err)
	}
	a, err := readArchive(f)
	_ = f.Close()
	if err != nil {
		return Loaded{}, fmt.Errorf("image archive %s: %w", archive, err)
	}
	if len(nodes) == 0 {
		nodes = c.names()
	}
	done := Loaded{Images: a.images}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var errs []error
	for _, node := range nodes {
		wait.Go(func() {
			present, err := c.load(ctx, node, archive, a)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("load %s: %w", archive, err))
			case present:
				done.Present = append(done.Present, node)
			default:
				done.Nodes = append(done.Nodes, node)
			}
		})
	}
	wait.Wait()
	return done, errors.Join(errs...)
}

func (c *Cluster) load(ctx context.Context, node, file string, a archive) (present bool, err error) {
	out, err := c.Exec(ctx, node, nil, "ctr", "--namespace=k8s.io", "images", "list", "--quiet", fmt.Sprintf("labels.%q==%s", contentLabel, a.content))
	if err != nil {
		return false, err
	}
	have := map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		have[name] = true
	}
	missing := len(a.images) == 0 // without names it cannot be told
	for _, name := range a.images {
		missing = missing || !have[name]
	}
	if !missing {
		return true, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err = c.Exec(ctx, node, f, "ctr", "--namespace=k8s.io", "images", "import", "--all-platforms", "--digests", "--snapshotter="+c.snapshotter(ctx, node), "-"); err != nil {
		return false, err
	}
	for _, name := range a.images {
		if _, err := c.Exec(ctx, node, nil, "ctr", "--namespace=k8s.io", "images", "label", name, contentLabel+"="+a.content); err != nil {
			return false, err
		}
	}
	return false, nil
}

// snapshotter is what the node's containerd unpacks images with: overlayfs, but where that cannot be.
func (c *Cluster) snapshotter(ctx context.Context, node string) string {
	out, err := c.Exec(ctx, node, nil, "containerd", "config", "dump")
	if err != nil {
		return "overlayfs"
	}
	for line := range strings.Lines(string(out)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name := strings.Trim(strings.TrimSpace(value), `'"`); ok && strings.TrimSpace(key) == "snapshotter" && name != "" {
			return name // the first is that of the CRI's images
		}
	}
	return "overlayfs"
}
