package inventory

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
)

// URL returns the datastore's URL as a vCenter writes it, the same in each run: "ds:///vmfs/volumes/<volume>/". The properties
// (summary.url, info.url) have the directory of the files, which vcsim uses for files, content libraries and checks. For a
// datastore that the package did not create, URL returns that directory.
func URL(ds *mo.Datastore) string {
	if ds.Info != nil {
		if id := ds.Info.GetDatastoreInfo().ContainerId; id != "" {
			return "ds:///vmfs/volumes/" + id + "/"
		}
	}
	return ds.Summary.Url
}

// Shown returns the object as clients see it: a copy of a datastore with its [URL], or the object. The object must be locked, and
// the result, which shares most of it, must not be changed.
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
