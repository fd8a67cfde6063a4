// Package store saves the inventory of a vCenter in a folder, and makes a simulated vCenter of a folder.
//
// The folder is one that `govc object.save -d` writes: an XML file for each managed object, 0000-ServiceInstance.xml
// first, and folders with what is no property. So a folder that stock govc saved from any vCenter can be loaded, and stock
// `vcsim -load` takes ours. What stock leaves out is beside it, where stock does not look:
//
//	sandbox.json          format, name of the vCenter, checksum of every file
//	sandbox/tags.json     categories, tags, and what they are attached to
//	sandbox/access.json   roles, permissions, names of users; never a password
//	sandbox/policies.xml  storage policies
//
// [Save] uses the public API, so that it works on any vCenter. [Load] reads and checks the whole folder, and reports all its
// problems, by file and line, before it creates anything; [Loaded.Install] then fills an empty vCenter.
//
//	saved, err := store.Load("my-vcenter")
//	if err != nil { … }
//	base, instance := simulator.NewServiceInstance(simulator.NewContext(), saved.Content(), saved.RootFolder())
//	service := simulator.New(base, instance)
//	built, err := saved.Install(ctx, store.Target{Context: base, Dir: dir})
//
// # What it is not
//
// Contents of datastores, volumes of CNS, content libraries, events and tasks are not saved. Files of VMs are made again,
// empty.
//
// Floor 2, inside pkg/sim.
package store
