// Package roles plans the vCenter roles of the cloud provider and the CSI driver: those of pkg/provider/privilege, on the objects
// of one vCenter.
//
//	plan, err := roles.Make(roles.Request{VCenter: "west", Sites: sites, Users: users})   // makes no call
//	err = plan.Compare(ctx, connection)                                                    // what of it is there
//	commands := plan.Govc()                                                                // what creates the rest
//
// It writes nothing to a vCenter. A role of the same name with other privileges, or another permission of the same account on an
// object, counts as differing: the commands leave it alone.
//
// It does not make users, and does not look into groups: an account may be allowed more by a group than by its own
// permissions, where it has none on an object.
//
// Floor 2, inside internal/migrate: it knows vCenters by their API, and who logs in is none of its business.
package roles
