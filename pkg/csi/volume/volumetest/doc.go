// Package volumetest is vCenters in memory, for tests of what stands on package volume: a [Cluster] is a volume.Store and
// a volume.Nodes that keep their contracts.
//
//	c := volumetest.New(volumetest.Hooks{})
//	c.AddDatastore(volume.Datastore{VCenter: "us", Ref: "datastore-1", URL: "ds:///vmfs/volumes/1/", Free: 1 << 40})
//	c.AddNode(volume.Node{ID: id, Name: "node-1", VCenter: "us", VM: "vm-1"}, segment, "datastore-1")
//	c.Fail("Attach", volume.ErrNoSlot)
//
// It is not the simulator: it has no API, no disks and no states. What the driver makes of real answers is tried against
// pkg/sim.
//
// Floor 1.
package volumetest
