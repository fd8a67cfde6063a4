// Package property is the PropertyCollector of our simulated vCenters: it is
// installed into a vcsim service in place of the one that comes with
// govmomi/simulator, and answers RetrieveProperties, WaitForUpdates and their
// relatives.
//
// vcsim's own collector cannot carry a cluster of watchers: it deadlocks when
// a view changes under a waiting filter, serves the default collector's
// updates to the last session only, and collects every object of every filter
// again for every change. Here
//
//   - nothing is locked while a selection is traversed, except the one object
//     being read, one at a time;
//   - a change costs the filters that hold the changed object and ask for the
//     changed path, and nothing else; values are read when they are delivered,
//     so a burst folds into its result;
//   - a path is delivered when its value differs from the one delivered last;
//   - every session has its own state, also on the default collector;
//   - views are ours as well: what comes into a view or leaves it costs its depth
//     in the inventory and the filters on the view, however large they are;
//   - what a session may not see is not there for it (see [Options.Visible]);
//   - a version the client has not seen is delivered again, and one that is
//     neither current nor previous is refused: no change is lost silently.
//
// # What it is not
//
// It does not keep the inventory or send events: those are still vcsim's, and
// objects whose fields vcsim changes without notice are seen late (see
// [Service]). It does not know permissions: it asks. Inventory views
// (CreateInventoryView) are not supported, as in vcsim. vcsim's
// Registry.ViewManager cannot be called any more: the object is of another type.
//
// Floor 2, inside pkg/sim. It imports govmomi and nothing of ours.
//
//	model := simulator.VPX()
//	if err := model.Create(); err != nil { … }
//	collectors, err := property.Install(model.Service.Context, property.Options{})
//	if err != nil { … }
//	defer collectors.Close()
package property
