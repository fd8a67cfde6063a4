package nodeimage

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
)

// List returns the node images of the wanted minor release that are on this machine, in the order in which [Finder.Find]
// prefers them: loaded before archived, official before ours, the very release before others, younger before older. It
// changes nothing.
func (f Finder) List(ctx context.Context) ([]Image, error) {
	var all []Image
	for _, repository := range []string{Official, Own} {
		list, err := f.Store.Images(ctx, repository)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b images.Image) int { return b.Tagged.Compare(a.Tagged) })
		var of []Image
		for _, is := range list {
			i, err := f.of(ctx, is)
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			if err != nil || minor(i.Kubernetes) != minor(f.Kubernetes) {
				continue
			}
			of = append(of, i)
		}
		slices.SortStableFunc(of, func(a, b Image) int {
			return -cmp.Compare(btoi(a.Kubernetes == f.Kubernetes), btoi(b.Kubernetes == f.Kubernetes))
		})
		all = append(all, of...)
	}
	archived, err := f.Archived(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range archived {
		at := slices.IndexFunc(all, func(i Image) bool { return i.Name == a.Name || i.Name == "localhost/"+a.Name })
		if at < 0 {
			all = append(all, a)
		} else {
			all[at].Archive = a.Archive
		}
	}
	return all, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Archived returns the images that hack/kind-node keeps in the cache, of the wanted minor release and for machines like this
// one, the youngest first. It needs no runtime. What is no such archive is passed over.
func (f Finder) Archived(ctx context.Context) ([]Image, error) {
	dir := f.where()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type aged struct {
		Image
		age fs.FileInfo
	}
	var found []aged
	for _, e := range entries {
		if !glob.Match("node-*.tar", e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		d, err := images.Describe(ctx, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		version := released(d.Name, d.Labels)
		if err != nil || minor(version) != minor(f.Kubernetes) || d.Platform != "linux/"+goruntime.GOARCH {
			continue
		}
		found = append(found, aged{Image{Name: d.Name, Kubernetes: version, Own: true, Archive: path, Size: d.Size, Platform: d.Platform}, info})
	}
	slices.SortStableFunc(found, func(a, b aged) int { return b.age.ModTime().Compare(a.age.ModTime()) })
	var all []Image
	for _, a := range found {
		all = append(all, a.Image)
	}
	return all, nil
}

// where is the folder of the archives.
func (f Finder) where() string {
	if f.Cache != "" {
		return f.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = "~/.cache" // where nothing is found; it is only named
	}
	return filepath.Join(dir, "vsphere-sandbox", "kind-node")
}
