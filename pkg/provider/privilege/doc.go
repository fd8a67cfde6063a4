// Package privilege says what the vCenter accounts of the cloud provider and of the CSI driver have to be allowed, on which
// objects, and what fails without: the least that both work with.
//
//	for _, g := range privilege.Grants() {
//		fmt.Println(g.Component, g.Role.Name, g.On, g.Propagate, g.Why)
//	}
//
// It is the one list of that in this module: doctor checks an account against it, migrate roles creates the roles, the page
// docs/privileges.md is printed from it, and test/privileges takes each privilege and each grant out and sees fail what is
// said here. Names of roles are those of "vSphere Roles and Privileges" of the vSphere Container Storage Plug-in, which
// people have in their vCenters already.
//
// It is data: it asks no vCenter, and who an account is, is none of its business.
//
// Floor 1: it imports nothing of this module.
package privilege
