package inventory

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
)

// URL is the datastore's URL as a vCenter writes it, the same in each run: "ds:///vmfs/volumes/<volume>/". The properties
// themselves (summary.url, info.url) hold the directory that the files are in: vcsim opens every file below the one, and
// makes content libraries and checks the datastore below the other. A datastore that was not made here has no other URL
// than that directory.
func URL(ds *mo.Datastore) string {
	if ds.Info != nil {
		if id := ds.Info.GetDatastoreInfo().ContainerId; id != "" {
			return "ds:///vmfs/volumes/" + id + "/"
		}
	}
	return ds.Summary.Url
}

// Shown is the object as clients are to see it: a datastore with its [URL], in a copy; any other object itself. The object
// must be locked, and the answer, which shares most of it, only read.
func Shown(obj mo.Reference) mo.Reference {
	ds, ok := obj.(*simulator.Datastore)
	if !ok || ds.Info == nil {
		return obj
	}
	shown := &simulator.Datastore{Datastore: ds.Datastore}
	shown.Summary.Url = URL(&ds.Datastore)
	shown.Info = duplicate(ds.Info)
	shown.Info.GetDatastoreInfo().Url = shown.Summary.Url
	return shown
}
