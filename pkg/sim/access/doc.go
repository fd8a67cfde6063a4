// Package access is who may do what in one simulated vCenter: accounts, roles and permissions, and sessions of SOAP and
// REST.
//
// vcsim lets every user do everything, answers every question about privileges with yes, keeps sessions for ever, and
// hands out sessions for tokens that it does not check. Here
//
//   - a login needs the password of an account, which may change while the vCenter runs;
//   - a user may do what the roles permit that the user, or a group of the user, has on an object: by the permission on
//     the object itself or else the nearest one above that propagates, a user's own before those of groups. A call that
//     is not permitted fails with NoPermission, naming the object and the privilege;
//   - objects that a user may not see are not found by searches and are not in answers of the property collector, which
//     asks [Manager.Visible];
//   - AuthorizationManager says the truth, and its changes take effect at once;
//   - a session without calls expires, a session can be terminated, and there are only so many.
//
// # What it is not
//
// It is not a directory: users and groups are what the topology lists. It does not read requests of REST; pkg/sim/rest
// asks it. Whole objects are visible or not: a property that needs more than System.View is readable all the same.
//
// # How it works
//
// [Manager.Hook] sees every SOAP call before vcsim does: it refuses, or redirects calls on vcsim's SessionManager,
// AuthorizationManager, UserDirectory and SearchIndex to an object of ours, or lets them pass. [Manager.Handler] wraps
// the HTTP handler, because only there is known when a call ends.
//
//	a, err := access.New(service.Context, access.Options{Administrator: "administrator@vsphere.local"})
//	if err != nil { … }
//	defer a.Close()
//	service.Context.Map.Handler = a.Hook
//	handler := a.Handler(service.ServeMux)
//
// Floor 2, inside pkg/sim.
package access
