// Package steps plans the migration of a cluster from the vSphere provider that was part of Kubernetes to the cloud controller
// manager and the CSI driver. A plan is steps with command lines that do, verify and roll back each of them.
//
//	plan := steps.New(steps.Input{Report: found, Old: "vsphere.conf", Folder: "migration", …})
//	fmt.Print(plan.Markdown())
//
// The text of the steps is plan.tmpl. It is filled with the nodes, disks, classes and findings of package check, and leaves out
// what is done already. The package contacts no cluster and no vCenter, changes nothing, and has no password.
//
// Floor 2: of this module it imports migrate, migrate/check and provider/config.
package steps
