// Package volumetest has vCenters in memory, for tests of code that uses package volume: a [Cluster] implements volume.Store and
// volume.Nodes.
//
//	c := volumetest.New(volumetest.Hooks{})
//	c.AddDatastore(volume.Datastore{VCenter: "us", Ref: "datastore-1", URL: "ds:///vmfs/volumes/1/", Free: 1 << 40})
//	c.AddNode(volume.Node{ID: id, Name: "node-1", VCenter: "us", VM: "vm-1"}, segment, "datastore-1")
//	c.Fail("Attach", volume.ErrNoSlot)
//
// It has no API, disks or states. Tests of the driver with real responses use pkg/sim.
//
// Floor 1.
package volumetest
