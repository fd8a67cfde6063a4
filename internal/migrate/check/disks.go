package check

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// disk is what is known of a file.
type disk struct {
	// at are the places where it is, "vcenter datacenter", and urls the datastores of these, "vcenter URL".
	at, urls []string
	// vcenters are those that have a datastore of its name.
	vcenters []string
	// unknown says why a place could not be searched.
	unknown []string
}

// split takes a path of a disk apart: "[DATASTORE] FOLDER/FILE". In a cluster of datastores the part in brackets may be
// "CLUSTER/DATASTORE".
func split(text string) (datastore, file string, err error) {
	var p object.DatastorePath
	if !p.FromString(strings.TrimSpace(text)) || p.Datastore == "" || strings.Trim(p.Path, "/") == "" {
		return "", "", fmt.Errorf("path %q is not [DATASTORE] FOLDER/FILE.vmdk", text)
	}
	return p.Datastore[strings.LastIndex(p.Datastore, "/")+1:], strings.TrimPrefix(p.Path, "/"), nil
}

// findDisks looks for the disks of all volumes in the datastores of a vCenter: one search for each folder.
func (c *run) findDisks(ctx context.Context, conn *vcenter.Connection, s *seen) {
	folders := map[string]map[string][]string{} // files by datastore and folder
	for _, v := range c.report.Volumes {
		name, file, err := split(v.Path)
		if err != nil {
			continue
		}
		if folders[name] == nil {
			folders[name] = map[string][]string{}
		}
		dir, base := path.Split(file)
		folders[name][dir] = append(folders[name][dir], base)
	}
	for _, d := range s.datastores {
		for _, dir := range slices.Sorted(maps.Keys(folders[d.name])) {
			files := slices.Compact(slices.Sorted(slices.Values(folders[d.name][dir])))
			there, err := search(ctx, conn, d, dir, files)
			for _, file := range files {
				known := c.disk(d.name, dir+file)
				known.vcenters = append(known.vcenters, s.name)
				switch {
				case err != nil:
					known.unknown = append(known.unknown, err.Error())
				case there[file]:
					known.found(s.name, d)
				}
			}
		}
	}
}

// unsearched notes why nothing is known of the disks in some datastores of a vCenter.
func (c *run) unsearched(s *seen, in []types.ManagedObjectReference, why error) {
	for _, ref := range in {
		for _, v := range c.report.Volumes {
			name, file, err := split(v.Path)
			if err != nil || name != s.tree[ref].Name {
				continue
			}
			known := c.disk(name, file)
			known.vcenters = append(known.vcenters, s.name)
			known.unknown = append(known.unknown, fmt.Sprintf("%s: %v", name, why))
		}
	}
}

// found notes a place. A datastore that several datacenters of a vCenter mount has one URL, and is one place.
func (d *disk) found(vcenter string, in datastore) {
	url := vcenter + " " + in.url
	if in.url != "" && slices.Contains(d.urls, url) {
		return
	}
	d.urls, d.at = append(d.urls, url), append(d.at, vcenter+" "+in.datacenter)
}

// disk is what is known of a file, to be added to.
func (c *run) disk(datastore, file string) *disk {
	key := datastore + "\n" + file
	if c.disks == nil {
		c.disks = map[string]*disk{}
	}
	if c.disks[key] == nil {
		c.disks[key] = &disk{}
	}
	return c.disks[key]
}

// search asks which of the files are in a folder; one that is not there has none.
func search(ctx context.Context, conn *vcenter.Connection, d datastore, dir string, files []string) (map[string]bool, error) {
	there := map[string]bool{}
	var result types.HostDatastoreBrowserSearchResults
	err := conn.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		b := object.NewHostDatastoreBrowser(vim, d.browser)
		at := object.DatastorePath{Datastore: d.name, Path: strings.TrimSuffix(dir, "/")}
		task, err := b.SearchDatastore(ctx, at.String(), &types.HostDatastoreBrowserSearchSpec{MatchPattern: files})
		if err != nil {
			return err
		}
		info, err := task.WaitForResult(ctx, nil)
		if err != nil {
			return err
		}
		result, _ = info.Result.(types.HostDatastoreBrowserSearchResults)
		return nil
	})
	switch {
	case err == nil:
	case fault.Is(err, &types.FileNotFound{}):
		return there, nil
	case fault.Is(err, &types.NoPermission{}):
		return nil, fmt.Errorf("%s: the account lacks Datastore.Browse there", d.name)
	default:
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	for _, f := range result.File {
		there[f.GetFileInfo().Path] = true
	}
	return there, nil
}

// state says where a volume's disk is, in the words of [Volume].
func (d *disk) state() (vcenter, state string) {
	switch {
	case d == nil || len(d.vcenters) == 0:
		return "", "unknown: no vCenter that answers has its datastore"
	case len(d.at) > 0:
		vcenter, _, _ = strings.Cut(d.at[0], " ")
		if len(d.at) > 1 {
			return one(d.vcenters), "found"
		}
		return vcenter, "found"
	case len(d.unknown) > 0:
		return one(d.vcenters), "unknown: " + strings.Join(d.unknown, "; ")
	}
	return one(d.vcenters), "missing"
}

// one is the only element; empty where there are several.
func one(all []string) string {
	if all = slices.Compact(slices.Sorted(slices.Values(all))); len(all) == 1 {
		return all[0]
	}
	return ""
}
