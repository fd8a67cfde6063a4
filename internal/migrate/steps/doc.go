// Package steps writes the plan of a migration: what is done in which order to lead a cluster from the vSphere provider that
// was part of Kubernetes to the cloud controller manager and the CSI driver, with the command lines, how to see that a step has
// worked, and the way back.
//
//	plan := steps.New(steps.Input{Report: found, Old: "vsphere.conf", Folder: "migration", …})
//	fmt.Print(plan.Markdown())
//
// It is for that cluster: nodes, disks, classes and findings of package check are in it, and what is done already is not. It
// asks nobody, changes nothing, and knows no password.
//
// Floor 2: of this module it imports migrate, migrate/check, csi/names and provider/config.
package steps
