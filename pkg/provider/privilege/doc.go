// Package privilege lists the minimal privileges of the vCenter accounts of the cloud provider and of the CSI driver: on which
// objects they are needed, and what fails without them.
//
//	for _, g := range privilege.Grants() {
//		fmt.Println(g.Component, g.Role.Name, g.On, g.Propagate, g.Why)
//	}
//
// It is the only such list in this module: doctor checks an account against it, migrate roles creates the roles, and
// docs/privileges.md is generated from it. test/privileges removes each privilege and each grant and checks that the listed
// operations fail. The names of roles are those of "vSphere Roles and Privileges" of the vSphere Container Storage Plug-in,
// which many vCenters have already.
//
// The package is data; it makes no calls.
//
// Floor 1: it imports nothing of this module.
package privilege
