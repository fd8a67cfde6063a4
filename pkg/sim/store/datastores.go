package store

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
)

// datastore gives the datastore a directory. The URL that was saved is what clients go on to see: see inventory.URL.
func (in *installer) datastore(ds *simulator.Datastore) error {
	dir := filepath.Join(in.dir, fmt.Sprintf("%s-%s", fileName(ds.Self.Value), fileName(ds.Name)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	in.stores[ds.Self] = dir
	info := ds.Info.GetDatastoreInfo()
	if id := volume(ds.Summary.Url); id != "" {
		info.ContainerId = id
	}
	info.Url, ds.Summary.Url = dir, dir
	ds.Summary.Datastore = &ds.Self
	in.browser(&ds.Browser, nil)
	if b, ok := in.base.Map.Get(ds.Browser).(*simulator.HostDatastoreBrowser); ok && !slices.Contains(b.Datastore, ds.Self) {
		b.Datastore = append(b.Datastore, ds.Self)
	}
	return nil
}

// volume is the volume in a URL like "ds:///vmfs/volumes/<volume>/", empty in any other.
func volume(text string) string {
	const below = "/vmfs/volumes/"
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ds" || !strings.HasPrefix(u.Path, below) {
		return ""
	}
	return path.Base(strings.TrimPrefix(u.Path, below))
}

// fileName makes a part of a path of a name.
func fileName(name string) string {
	name = url.PathEscape(name)
	if strings.Trim(name, ".") == "" {
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return name[:min(len(name), 100)]
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
