package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
)

// ForeignCSI is a CSI driver that is not ours.
type ForeignCSI struct {
	// Source says what it is, as --csi does: "module:v3.7.0".
	Source string
	// Manifest is what it is deployed with, applied as it is. With Released it is that of the driver's release: then lines that it
	// has in a comment, for a cluster with regions and zones, apply in such a cluster.
	Manifest []byte
	Released bool
	// Programs are programs of this machine that are packed as images of the manifest, in the place of any others.
	Programs []CSIProgram
	// Image is the driver's image, if it is another than the one that the manifest names; "" for that.
	Image string
}

// CSIProgram is a program of a CSI driver.
type CSIProgram struct {
	// File is where it is, At where its image has it: "/bin/vsphere-csi".
	File, At string
	// Repository is the last part of the name of its images in the manifest, without the tag: "driver".
	Repository string
	// Formats: it makes and mounts file systems, by programs that its image has.
	Formats bool
}

// called is its name in messages, in parentheses; "" for the built-in driver.
func (f *ForeignCSI) called() string {
	if f == nil {
		return ""
	}
	return " (" + f.Source + ")"
}

// driverImages is the images of a CSI driver that is not ours, as nodes get them: from a registry of this process, because upstream's
// manifest has its own pulled whenever they are started (imagePullPolicy: Always), and a node that has them is not enough. What is not
// there nodes pull from where they would anyway.
type driverImages struct {
	registry *images.Registry
	server   *http.Server
	served   chan struct{} // closed when the server has stopped
	addr     string
	file     string
}

// packForeignCSI makes an archive of the manifest's images that this machine has: of programs, and of those that the container
// runtime has under the manifest's names. nil where the driver is ours.
func (g *Ground) packForeignCSI(ctx context.Context) (*driverImages, error) {
	f := g.Foreign
	if f == nil {
		return nil, nil
	}
	names, err := deploy.ManifestImages(f.Manifest)
	if err != nil {
		return nil, err
	}
	c := &driverImages{file: filepath.Join(g.Dir, "images-csi.tar")}
	to, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	err = g.writeForeignCSI(ctx, images.NewWriter(to, build.Version()), names)
	if err = errors.Join(err, to.Close()); err != nil {
		return nil, fmt.Errorf("images of the CSI driver: %w", err)
	}
	if err := c.serve(ctx); err != nil {
		return nil, fmt.Errorf("images of the CSI driver: %w", err)
	}
	return c, nil
}

func (g *Ground) writeForeignCSI(ctx context.Context, w *images.Writer, names []string) error {
	f, store := g.Foreign, images.Store{Runtime: g.rt}
	packed, err := g.packPrograms(ctx, names)
	if err != nil {
		return err
	}
	if packed != nil {
		var all []images.Item
		for _, name := range packed.Names() {
			all = append(all, images.Item{Name: name})
		}
		var archive bytes.Buffer // of a hundred megabytes or so, and only for now
		if err := packed.Write(ctx, &archive); err != nil {
			return err
		}
		if err := w.Add(ctx, &archive, all...); err != nil {
			return err
		}
	}
	for _, name := range names {
		from := name
		if f.Image != "" && repositoryOf(name) == driverRepository {
			from = f.Image
		}
		if packed != nil && slices.Contains(packed.Names(), name) {
			continue
		}
		switch _, err := store.Image(ctx, from); {
		case coded.Is(err, images.Missing) && from == name:
			g.Logger.Info("nodes have to pull an image", "image", name)
			continue
		case coded.Is(err, images.Missing):
			return &coded.Error{
				Code: images.Missing, Message: fmt.Sprintf("--csi %s: %s has no such image, and the manifest names %s, so no node would pull it", f.Source, g.rt.Name(), name),
				Try: g.rt.Name() + " pull " + from,
			}
		case err != nil:
			return err
		}
		if err := w.AddFrom(ctx, store, images.Item{Name: from}); err != nil {
			return err
		}
		if from != name {
			w.Rename(from, name)
		}
	}
	return w.Close()
}

// driverRepository is the last part of the name of upstream's image of the driver.
const driverRepository = "driver"

// repositoryOf is the last part of an image's name, without the tag.
func repositoryOf(name string) string {
	last, _, _ := strings.Cut(path.Base(name), ":")
	return last
}

// packPrograms are the images of programs, under the names that the manifest has for them; nil without any.
func (g *Ground) packPrograms(ctx context.Context, names []string) (*image.Set, error) {
	var all []image.Foreign
	for _, p := range g.Foreign.Programs {
		one := image.Foreign{File: p.File, At: p.At}
		for _, name := range names {
			if repositoryOf(name) == p.Repository {
				one.Names = append(one.Names, name)
			}
		}
		if len(one.Names) == 0 {
			return nil, fmt.Errorf("the manifest has no image of %s, which %s would be: its images are %s", p.Repository, p.File, strings.Join(names, ", "))
		}
		if p.Formats {
			tools, err := g.tools(ctx)
			if err != nil {
				return nil, err
			}
			one.Tools = tools
		}
		all = append(all, one)
	}
	if all == nil {
		return nil, nil
	}
	return image.FromPrograms(ctx, all...)
}

// tools are those that upstream's image of the driver has of its system, taken from the image of nodes.
func (g *Ground) tools(ctx context.Context) ([]byte, error) {
	script := image.ToolsScript("mount", "umount", "mountpoint", "findmnt", "lsblk", "blkid", "blockdev", "fsck", "e2fsck", "fsck.ext3", "fsck.ext4", "mke2fs", "mkfs.ext3",
		"mkfs.ext4", "resize2fs", "dumpe2fs", "tune2fs", "mkfs.xfs", "xfs_growfs", "xfs_io", "xfs_repair", "mount.nfs", "mount.nfs4", "sh", "uname")
	tools, err := g.cluster.RunScript(ctx, script)
	if err != nil {
		return nil, fmt.Errorf("tools for file systems: %w", err)
	}
	return tools, nil
}

// serve begins to serve the archive, on this machine alone.
func (c *driverImages) serve(ctx context.Context) error {
	archive, err := images.Open(ctx, c.file, nil)
	if err != nil {
		return err
	}
	if c.registry, err = archive.Registry(); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, c.registry.Close())
	}
	c.addr, c.served = l.Addr().String(), make(chan struct{})
	c.server = &http.Server{Handler: c.registry, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(l) // it ends when it is closed
	}()
	return nil
}

// offer has nodes ask for it first.
func (c *driverImages) offer(ctx context.Context, cluster *kind.Cluster) error {
	if c == nil {
		return nil
	}
	at, err := cluster.Expose(ctx, c.addr)
	if err != nil {
		return fmt.Errorf("images of the CSI driver: %w", err)
	}
	return cluster.Mirror(ctx, at, c.registry.Hosts()...)
}

// close ends it, and removes the archive.
func (c *driverImages) close() error {
	if c == nil {
		return nil
	}
	err := c.server.Close()
	<-c.served
	return errors.Join(err, c.registry.Close(), os.Remove(c.file))
}
