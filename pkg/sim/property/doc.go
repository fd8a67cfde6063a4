// Package property is the PropertyCollector of the simulated vCenters. It replaces the one of govmomi/simulator, and
// answers RetrieveProperties, WaitForUpdates and related calls.
//
// vcsim's collector cannot serve a cluster of watchers: it deadlocks when a view changes under a waiting filter, serves
// the default collector's updates to the last session only, and collects every object of every filter again for every
// change. Here
//
//   - nothing is locked while a selection is traversed, except the one object
//     being read, one at a time;
//   - a change costs the filters that hold the changed object and ask for the
//     changed path, and nothing else; values are read when they are delivered,
//     so a burst folds into its result;
//   - a path is delivered when its value differs from the one delivered last;
//   - every session has its own state, also on the default collector;
//   - the package also replaces views: an object that enters or leaves a view costs
//     its depth in the inventory and the filters on the view, however large they are;
//   - a session gets only the objects that it may see (see [Options.Visible]);
//   - a version the client has not seen is delivered again, and one that is
//     neither current nor previous is refused: no change is lost silently.
//
// vcsim still keeps the inventory and sends events. Changes that vcsim makes without
// notice are seen late (see [Service]). Options decide about permissions. Inventory
// views (CreateInventoryView) are not supported, as in vcsim. Callers must not use
// vcsim's Registry.ViewManager any more: the object has another type.
//
// Floor 2, inside pkg/sim. It imports only govmomi.
//
//	model := simulator.VPX()
//	if err := model.Create(); err != nil { … }
//	collectors, err := property.Install(model.Service.Context, property.Options{})
//	if err != nil { … }
//	defer collectors.Close()
package property
