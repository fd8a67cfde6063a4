// Package access is the access control of one simulated vCenter: accounts, roles and permissions, and sessions of SOAP and
// REST.
//
// vcsim permits every call of every user, confirms every privilege, never ends sessions, and opens sessions for tokens
// that it does not check. Here
//
//   - a login needs the password of an account, which may change while the vCenter runs;
//   - a user may do what the roles permit that the user, or a group of the user, has on an object: by the permission on
//     the object or else the nearest inherited one, a user's own before those of groups. A call that is not permitted
//     fails with NoPermission, naming the object and the privilege;
//   - searches and answers of the property collector, which calls [Manager.Visible], omit objects that a user may not see;
//   - AuthorizationManager returns the actual privileges, and its changes take effect at once;
//   - a session without calls expires, a session can be terminated, and the number of sessions is limited.
//
// It is not a directory: users and groups are those of the topology. It does not parse REST requests; pkg/sim/rest calls
// it. Visibility is per object: a property that needs more than System.View is still readable.
//
// [Manager.Hook] sees every SOAP call before vcsim does: it refuses the call, redirects calls on vcsim's SessionManager,
// AuthorizationManager, UserDirectory and SearchIndex to its own receiver, or lets them pass. [Manager.Handler] wraps the
// HTTP handler, because only the handler knows when a call ends.
//
//	a, err := access.New(service.Context, access.Options{Administrator: "administrator@vsphere.local"})
//	if err != nil { … }
//	defer a.Close()
//	service.Context.Map.Handler = a.Hook
//	handler := a.Handler(service.ServeMux)
//
// Floor 2, inside pkg/sim.
package access
