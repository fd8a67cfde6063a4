// Package rest is the REST API of one simulated vCenter: sessions, tags, and the list and power of VMs.
//
// vcsim's vAPI simulator does not validate tags: it allows any number of tags of a category with single cardinality, tags on
// missing objects, and keeps detached and destroyed objects in lists. It only has the older paths (/rest/com/vmware/cis/…).
// [Handler] replaces it for sessions and tagging, with the older and the newer paths (/api/session, /api/cis/tagging/…) and a
// store that
//
//   - allows one tag per object of a category whose cardinality is SINGLE;
//   - allows a tag only on the types of its category, and on existing objects;
//   - removes associations with the tag, its category or the object;
//   - answers in a time that depends only on the requested tags and objects.
//
// Everything else (the content library …) goes to vcsim's simulator, whose sessions clients do not see.
//
// The two forms of the API share one implementation. They differ in the envelope ({"value": …} and named parameters, or bare
// values), in status codes (200, or 201 and 204), in the action parameter (~action or action) and in errors ([fault]).
//
// Operations on VMs are SOAP calls in the name of the session's user ([Options].Client). The JSON-RPC form of the API has sessions
// only.
//
// The package does not know users, passwords and permissions: it calls [Options]. Sessions belong to pkg/sim/access.
//
// Floor 2, inside pkg/sim.
package rest
