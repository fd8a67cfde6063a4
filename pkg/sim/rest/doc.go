// Package rest is the REST side of one simulated vCenter: sessions and tags.
//
// vcsim's vAPI simulator keeps tags without asking whether they make sense: any number of tags of a category that allows
// one, tags on objects that are not there, objects that stay in lists after they were detached or destroyed. It knows the
// older paths (/rest/com/vmware/cis/…) only. Here is a [Handler] in front of it that answers for sessions and tagging
// itself, under the older and the newer paths (/api/session, /api/cis/tagging/…), from a store that
//
//   - lets an object have one tag of a category whose cardinality is SINGLE;
//   - lets a tag be attached to the types of object that its category is for, and to objects that exist;
//   - forgets what is attached when the tag, its category or the object goes;
//   - answers in time that does not depend on how many tags and objects there are beyond those asked for.
//
// Everything else (the content library …) goes to vcsim's simulator, whose sessions clients do not see.
//
// The two forms of the API share one implementation. They differ in the envelope ({"value": …} around answers and named
// parameters in bodies, against bare ones), in statuses (200 against 201 and 204), in how an action is asked for (~action
// against action) and in errors ([fault]).
//
// # What it is not
//
// It does not know users, passwords and permissions: [Options] says whom to ask. Sessions belong to pkg/sim/access.
//
// Floor 2, inside pkg/sim.
package rest
